"""A system with its input and step held and some parameters free, as the diagnostics ask for it."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab import simulation
from dynlab.diagnostics.bifurcation.parameter import Varied, named
from dynlab.diagnostics.fixed_points.starts import unit_of
from dynlab.errors import UserError
from dynlab.jacobians import displacement_matrices
from dynlab.systems import Euler, Flow, Map, System, frozen
from dynlab.systems.held import Held, held_input, step_number
from dynlab.wording import joined

TRIALS = 8  # states of each size, and values of its range, at which a parameter must change something
SIZES = (1e-6, 1e-3, 1.0, 1e3)
EULER_STEP = 0.01  # of a flow, whose equilibria Euler's map has; its orbits show where to look

LARGEST = 1e100  # of a parameter: squares are still numbers
NARROWEST = 1e-7  # relative: a bifurcation is located to 1e-8


def check_range(name: str, lowest: float, highest: float) -> None:
    """Raise where a parameter's range is empty, reversed, beyond `LARGEST`, or narrower than what is located in it."""
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
    lowest: tuple[float, ...],
    highest: tuple[float, ...],
    seed: int,
) -> Varied:
    """A frozen copy with these parameters free; the other arguments are those of `dynlab.bifurcation`.

    Raises
    ------
    UserError
        For a parameter that the system lacks, or that changes nothing over its range.
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
    for index, name in enumerate(parameters):
        _check_effect(varied, name, index, lowest, highest, seed)
    _check_torch(varied, lowest)
    return varied


def in_own_units(held: Held) -> Held:
    """What is held, a flow as Euler's map, with states measured in the size that orbits lead them to."""
    system = Euler(held.system, EULER_STEP) if isinstance(held.system, Flow) else held.system
    held = replace(held, system=system)
    return replace(held, unit=unit_of(held))


def _check_torch(varied: Varied, values: tuple[float, ...]) -> None:
    """Raise where a system computes with a parameter as a number of Python's, and not as a tensor of several values."""
    method = "velocity" if isinstance(varied.system, Flow) else "step"
    each = torch.tensor([values, values], dtype=torch.float64)
    states = torch.zeros(2, varied.system.state_size, dtype=torch.float64)

    def moved(one: Tensor, state: Tensor) -> Tensor:
        return varied.at(one, method, state)

    try:
        torch.func.vmap(moved)(each, states)
    except UserError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:
        names = joined([parameter.name for parameter in varied.parameters_varied])
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise UserError(
            f"{varied.system.name} does not compute with {names} as a tensor ({reason}): take torch.cos in place of "
            f"math.cos or numpy.cos, torch.where in place of if, and self.w itself in place of torch.tensor(self.w)."
        ) from error


def _stepped(held: Held, states: torch.Tensor) -> torch.Tensor:
    """Where a step of Newton's for a fixed point leads from states (k, n), where it leads somewhere."""
    off = held.displacement(states).unsqueeze(-1)
    moved = states - torch.linalg.solve_ex(displacement_matrices(held, states), off)[0].squeeze(-1)
    return moved[torch.isfinite(moved).all(-1)]


def _check_effect(
    varied: Varied, name: str, index: int, lowest: tuple[float, ...], highest: tuple[float, ...], seed: int
) -> None:
    """Raise where the parameter changes nothing, as a number does that was used when the system was made."""
    generator = np.random.default_rng(seed)
    tried = np.concatenate([size * generator.uniform(-1, 1, (TRIALS, varied.system.state_size)) for size in SIZES])
    method = "velocity" if isinstance(varied.system, Flow) else "step"
    middle = [(low + high) / 2 for low, high in zip(lowest, highest, strict=True)]
    held = [varied.fixed(value) for value in (lowest[0], middle[0], highest[0])]
    units = [np.asarray(in_own_units(one).unit) for one in held]
    states = torch.from_numpy(np.concatenate([tried, *(tried * unit for unit in units)]))
    states = torch.cat([states, *(_stepped(one, states) for one in held)])
    found = []
    for value in (lowest[index], highest[index], *generator.uniform(lowest[index], highest[index], TRIALS)):
        at = torch.tensor([*middle[:index], value, *middle[index + 1 :]], dtype=torch.float64)
        found.append(varied.at(at, method, states).nan_to_num())
    if all(torch.equal(found[0], other) for other in found[1:]):
        hint = "; the held input is zero: give another with --at (at=)." if name == "input*" else "."
        between = f"between {lowest[index]:g} and {highest[index]:g}, at the states and values that were looked at"
        raise UserError(f"{name} changes nothing {between}{hint}")
