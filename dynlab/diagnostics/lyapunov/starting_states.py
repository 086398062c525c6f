"""Inputs and starts of orbits: zero and near zero where nothing is given."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dynlab.errors import UserError
from dynlab.systems import Flow, Map, System
from dynlab.trajectories import simulation
from dynlab.trajectories.driven import Driven, drive
from dynlab.trajectories.lengths import padded

Found = TypeVar("Found")
STEPS = 10_000  # of an orbit that nothing drives

# A random start has entries between 0 and this: off every set of symmetric states, where an orbit would stay whether
# it attracts or not, and in the basins of the textbooks' attractors.
NEAR = 0.1
DRAWN = " from a random start near 0"
AT_ZERO = " from 0"
RUNS_AWAY = "The orbit from a random start near 0 does not stay within |h_i| ≤ {largest:g}. "


def check_asked(
    system: System,
    k: int | None,
    largest_state: float,
    of_flow: dict[str, Any],
    *,
    inputs: Any,
    steps: int | None,
    dtype: str,
    device: str,
) -> None:
    """Raise where more is asked for than the state has, or what only the other kind of system has."""
    if k is not None and not 1 <= k <= system.state_size:
        raise UserError(f"k is from 1 to the state's {system.state_size:,} dimensions, got {k}.")
    if not largest_state > 0:
        raise UserError(f"largest_state= bounds abs(h_i) and must be positive, got {largest_state}.")
    of_a_map = inputs is not None or steps is not None or (dtype, device) != ("float64", "cpu")
    if isinstance(system, Flow) and of_a_map:
        raise UserError(
            "A flow is solved without input for seconds=, in float64 on cpu; for inputs or steps= take its step, "
            "dl.Euler(flow, step_size)."
        )
    if not isinstance(system, Flow) and (any(each is not None for each in of_flow.values())):
        names = " and ".join(f"{name}=" for name in of_flow)
        raise UserError(f"{names} {'are' if len(of_flow) > 1 else 'is'} for a Flow; for a Map give inputs, or steps=.")


def followed(
    system: System,
    initial_state: Any,
    is_driven: bool,
    seed: int,
    follow: Callable[[Any], Found],
    stays: Callable[[Found], bool],
) -> tuple[Found, str]:
    """Return what `follow` finds from the start of an orbit, and words for that start.

    A start that is given or learned is kept, and that of a driven orbit. Otherwise the orbit starts near 0 at random,
    and at 0 itself where no orbit from there `stays`: a linear system may run away, and has the same exponents at 0.
    """
    learned = system.initial_state()
    if initial_state is not None or is_driven or (learned is not None and bool((learned != 0).any())):
        return follow(initial_state), ""
    found = follow(np.random.default_rng(seed).uniform(0, NEAR, system.state_size))
    return (found, DRAWN) if stays(found) else (follow(None), AT_ZERO)


def why_at_zero(origin: str, largest_state: float) -> str:
    """Return the sentence that explains a start at 0, or nothing."""
    return RUNS_AWAY.format(largest=largest_state) if origin == AT_ZERO else ""


def driven_orbit(
    system: System, inputs: Any, steps: int | None, initial_state: Any, largest_state: float, **settings: Any
) -> tuple[Driven, bool, str]:
    """Return a map's orbit, whether its inputs drive it, and words for its start; `settings` are those of `drive`.

    Without inputs, where none were recorded with the system either, they are zero for so many steps. Inputs that do not
    change with time drive nothing.
    """
    if not isinstance(system, Map):
        raise UserError(f"Exponents are those of a Map or a Flow, got {type(system).__name__}.")
    if steps is not None and (inputs is not None or steps < 1):
        raise UserError(
            f"steps= is the length of an orbit without inputs, at least 1; got {steps}. Give inputs or steps=."
        )
    if inputs is None and (steps is not None or system.recorded_inputs is None):
        inputs = np.zeros((steps or STEPS, system.network_input_size))
    whole, lengths = padded(inputs) if settings.get("uneven") else (inputs, None)
    analysed, given, _ = simulation.prepare(system, whole, initial_state, settings["dtype"], settings["device"])
    applied = analysed.drive(given)
    is_driven = lengths is not None or bool((applied != applied[:, :1]).any())

    def stays(driven: Driven) -> bool:
        return bool((driven.states[:, -1].abs() <= largest_state).all(dim=-1).any())

    follow = partial(drive, system, inputs, **settings)
    driven, origin = followed(system, initial_state, is_driven, settings["seed"], follow, stays)
    return driven, is_driven, origin
