"""Inputs and starts of orbits: zero and near zero where nothing is given."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from dynlab.errors import UserError
from dynlab.systems import Map, System
from dynlab.trajectories import simulation
from dynlab.trajectories.driven import Driven, drive

Found = TypeVar("Found")
STEPS = 10_000  # of an orbit that nothing drives

# A random start has entries between 0 and this: off every set of symmetric states, where an orbit would stay whether
# it attracts or not, and in the basins of the textbooks' attractors.
NEAR = 0.1
DRAWN = " from a random start near 0"
AT_ZERO = " from 0"
RUNS_AWAY = "The orbit from a random start near 0 does not stay within |h_i| ≤ {largest:g}. "


def orbit_inputs(system: Map, inputs: Any, steps: int | None) -> Any:
    """Return what drives a map: what is given or was recorded with it, else zero for so many steps.

    Raises
    ------
    UserError
        Where both inputs and `steps` are given, or `steps` is below 1.
    """
    if inputs is not None and steps is not None:
        raise UserError("Give inputs, which say how many steps there are, or steps= for an orbit without input.")
    if inputs is not None or (steps is None and system.recorded_inputs is not None):
        return inputs
    if steps is not None and steps < 1:
        raise UserError(f"steps= is the length of an orbit, a whole number of at least 1; got {steps}.")
    return np.zeros((STEPS if steps is None else steps, system.network_input_size))


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
    system: Map, inputs: Any, initial_state: Any, largest_state: float, **settings: Any
) -> tuple[Driven, bool, str]:
    """Return a map's orbit, whether its inputs drive it, and words for its start; `settings` are those of `drive`.

    Inputs that do not change with time drive nothing.
    """
    analysed, given, _ = simulation.prepare(system, inputs, initial_state, settings["dtype"], settings["device"])
    applied = analysed.drive(given)
    is_driven = bool((applied != applied[:, :1]).any())

    def follow(start: Any) -> Driven:
        return drive(system, inputs, start, **settings)

    def stays(driven: Driven) -> bool:
        return bool((driven.states[:, -1].abs() <= largest_state).all(dim=-1).any())

    driven, origin = followed(system, initial_state, is_driven, settings["seed"], follow, stays)
    return driven, is_driven, origin
