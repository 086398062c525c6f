"""A trained network for the explorer: its step as a list of operations that a browser can run, and its fixed points."""

import base64
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.errors import UserError, require_extra
from dynlab.program import NoProgram, Program
from dynlab.program.derived import derived
from dynlab.program.operations import OPERATIONS
from dynlab.systems import System, frozen
from dynlab.words import at_most

MOST_NUMBERS = 40_000  # of the weights: half a megabyte in the page
MOST_ORBITS = 12  # of the driven trajectories, drawn faintly
MOST_STATES = 600  # of each of them
DIGITS = 5  # of what is only drawn


def embedded(system: System, ds: xr.Dataset, name: str, *, certify: bool = False, command: str = "") -> dict[str, Any]:
    """Return what the page needs to run a network: its step's operations with their numbers, and where its states lie.

    Parameters
    ----------
    system : System
        A map whose step has a program (`dynlab.program`).
    ds : Dataset
        Result of `dynlab.geometry` for that system.
    name : str
        Name on the page.
    certify : bool
        Prove fixed points; needs the extra ``certify``.
    command : str
        The line of a shell that makes this page; the page adds its state. Where it is empty the page gives Python.

    Raises
    ------
    UserError
        For a network whose step has no program that a browser can run, or that has more than `MOST_NUMBERS` numbers.
    """
    settings = schema.settings(ds)
    held, at_step = torch.tensor(settings["input"], dtype=torch.float64), settings["at_step"]
    exact = frozen(system)
    try:
        program = derived(exact).program.held(None, at_step)
    except NoProgram as error:
        raise UserError(f"The explorer cannot run {name}: {error}.") from error
    operations = [program.operations[i] for i in program.needed(program.output)]
    functions = {each.name: OPERATIONS[each.name].scalar for each in operations if each.name in OPERATIONS}
    unknown = [word for word, source in functions.items() if not source]
    if unknown:
        raise UserError(f"The explorer cannot run {name}: a browser has no function {unknown[0]}.")
    held_numbers = {each.constant for each in operations if each.constant is not None}
    count = sum(program.constants[i].numel() for i in held_numbers)
    if count > MOST_NUMBERS:
        raise UserError(f"The explorer runs networks of up to {MOST_NUMBERS:,} weights, and {name} has {count:,}.")
    states = ds["fixed_point_state"].values
    orbits = ds["trajectory"].values[:MOST_ORBITS, :, :2]
    thinned = orbits[:, :: -(-orbits.shape[1] // MOST_STATES)]
    return {
        "name": name,
        "command": command,
        "verdict": ds.attrs["verdict"],
        "size": program.size,
        "held": settings["input"],
        "operations": written(program),
        "functions": functions,
        "origin": _packed(ds["origin"].values),
        "directions": _packed(ds["direction"].values),
        "shares": _short(ds["explained_variance"].values[: ds.sizes["axis"]]),
        "orbits": _short(thinned),
        "points": [
            {
                "state": _packed(state),
                "kind": str(ds["kind"].values[i]),
                "stable": int(ds["stable"].values[i]),
                "proof": _proof(exact.program(held, at_step), state) if certify else "",
                "leaves": _leaving(ds["unstable_direction"].values[i]),
            }
            for i, state in enumerate(states)
        ],
    }


def _proof(program: Program, state: np.ndarray) -> str:
    """Return what is proved of one fixed point, as a sentence."""
    require_extra("flint", "certify")
    from dynlab.proofs.certify import certify

    found = certify(program, state)
    if not found.certified:
        return f"It is not proved: {found.reason}."
    return f"It is proved: exactly one fixed point lies within {at_most(found.radius, 2)} of it."


def _leaving(directions: np.ndarray) -> list[Any]:
    return [_short(each) for each in directions if np.isfinite(each).all()]


def written(program: Program) -> list[dict[str, Any]]:
    """The operations that the step needs, in order; what one reads are places in this list."""
    places: dict[int, int] = {}
    found = []
    for place, number in enumerate(program.needed(program.output)):
        places[number] = place
        operation = program.operations[number]
        one: dict[str, Any] = {"name": operation.name, "reads": [places[i] for i in operation.reads]}
        one["size"] = operation.size
        if operation.constant is not None:
            one["values"] = _packed(program.constants[operation.constant].detach().cpu().double().numpy())
        if operation.index:
            one["index"] = operation.index
        if operation.name in ("number", "power", "sum"):
            one["number"] = operation.number
        found.append(one)
    return found


def _packed(values: ArrayLike) -> str:
    """The numbers in float64, row by row, as base64: exact, and shorter than decimals."""
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode("ascii")


def _short(values: ArrayLike) -> list[Any]:
    """Rounded numbers; None where one is not finite."""
    rounded = np.round(np.asarray(values, dtype=float), DIGITS)
    either = rounded.astype(object)
    either[~np.isfinite(rounded)] = None
    return either.tolist()
