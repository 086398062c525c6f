"""Fixed points and equilibria at one value of the parameter, where branches begin."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation.parameter import Varied
from dynlab.diagnostics.fixed_points.search import FIXED, search
from dynlab.systems import Euler, Flow

EULER_STEP = 0.01  # of a flow, whose equilibria Euler's map has; its orbits show where to look


def fixed_points_at(
    varied: Varied, value: float, count: int, generator: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Every isolated fixed point or equilibrium that the search with `count` random starts a round finds.

    Parameters
    ----------
    varied : Varied
    value : float
        Of the parameter.
    count : int
    generator : numpy.random.Generator
    """
    held = varied.fixed(value)
    if isinstance(held.system, Flow):
        held = replace(held, system=Euler(held.system, EULER_STEP))
    found = search(held, held, count=count, seed=generator)
    states = [place.state for place in found.places if place.status == FIXED]
    return sorted(states, key=lambda state: float(np.linalg.norm(state)))


def typical_size(states: list[NDArray[np.float64]]) -> float:
    """The unit of states in the length of a branch: the median norm, at least 1."""
    return max(1.0, float(np.median([np.linalg.norm(state) for state in states]))) if states else 1.0
