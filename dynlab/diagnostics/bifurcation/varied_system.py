"""A frozen system with its input and step held and some parameters free."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from dynlab.diagnostics.bifurcation.parameters import Varied, named
from dynlab.errors import UserError
from dynlab.systems import Euler, Flow, Map, System, frozen
from dynlab.systems.held import Held, held_input, step_number
from dynlab.trajectories import simulation

LARGEST = 1e100  # of a parameter: squares are still numbers
NARROWEST = 1e-7  # times the ends of a range, where it is at least so wide


def check_range(name: str, lowest: float, highest: float) -> None:
    """Raise where a parameter's range is empty, reversed, beyond `LARGEST`, or relatively narrower than `NARROWEST`."""
    if not (np.isfinite([lowest, highest]).all() and lowest < highest):
        raise UserError(
            f"The range of {name} must go from a number to a larger one, got {lowest:g} to {highest:g}: exchange them, "
            f"or give another end."
        )
    size = max(abs(lowest), abs(highest))
    if size > LARGEST or highest - lowest < NARROWEST * size:
        raise UserError(
            f"The range of {name} must lie within ±{LARGEST:g} and be wider than {NARROWEST:g} of its ends, got "
            f"{lowest!r} to {highest!r}: give other ends."
        )


def varied_system(
    system: System,
    inputs: Any,
    parameters: tuple[str, ...],
    at: str | ArrayLike,
    at_step: int,
    values: tuple[float, ...],
) -> Varied:
    """Return a frozen copy with these parameters free; the other arguments are those of `dynlab.bifurcation`.

    Raises
    ------
    UserError
        For a parameter that the system lacks, that changes nothing, or that it does not compute with as a tensor at
        these `values`.
    """
    if not isinstance(system, Flow | Map):
        raise UserError(f"Branches are those of a Map or a Flow, got {type(system).__name__}.")
    analysed = frozen(system)
    step = Euler(analysed, 1.0) if isinstance(analysed, Flow) else analysed
    given = np.zeros((1, step.network_input_size)) if inputs is None else inputs
    prepared, driving, _ = simulation.prepare(step, given)
    held = held_input(system, at, prepared.drive(driving), inputs is not None)
    found = tuple(named(analysed, name) for name in parameters)
    varied = Varied(Held(analysed, held, step_number(system, at_step)), found)
    _check_tensors(varied, values)
    for number, parameter in enumerate(found):
        if not _acts(varied, number, values):
            hint = "; the held input is zero: give another with --at (at=)." if parameter.name == "input*" else "."
            raise UserError(f"{parameter.name} changes nothing in {system.name}{hint}")
    return varied


def _check_tensors(varied: Varied, values: tuple[float, ...]) -> None:
    """Raise where a system computes with a parameter as a number of Python's, and not as a tensor of several values."""
    each = torch.tensor([values, values], dtype=torch.float64)
    states = torch.zeros(2, varied.system.state_size, dtype=torch.float64)
    try:
        torch.func.vmap(lambda one, state: varied.at(one, varied.method, state))(each, states)
    except UserError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:
        names = " and ".join(parameter.name for parameter in varied.parameters_varied)
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise UserError(
            f"{varied.system.name} does not compute with {names} as a tensor ({reason}): take torch.cos in place of "
            f"math.cos or numpy.cos, torch.where in place of if, and self.w itself in place of torch.tensor(self.w)."
        ) from error


def _acts(varied: Varied, number: int, given: tuple[float, ...]) -> bool:
    """Return whether a step depends on a parameter, and not only the system's making; a factor on 0 does nothing."""
    if varied.is_factor_on_zero(number):
        return False
    values = torch.tensor(given, dtype=torch.float64, requires_grad=True)
    states = torch.zeros(1, varied.system.state_size, dtype=torch.float64)

    with torch.enable_grad():
        each = [one if index == number else one.detach() for index, one in enumerate(values.unbind())]
        return bool(varied.at(torch.stack(each), varied.method, states).requires_grad)
