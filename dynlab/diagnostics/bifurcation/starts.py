"""Where branches begin, at fixed points and equilibria, and where orbits begin, beside the branches."""

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation.exploring import Diagram
from dynlab.diagnostics.bifurcation.held_system import in_own_units
from dynlab.diagnostics.bifurcation.normal_form import SUPERCRITICAL
from dynlab.diagnostics.bifurcation.parameter import Varied
from dynlab.diagnostics.bifurcation.result import Row
from dynlab.diagnostics.fixed_points.by_layers import search
from dynlab.diagnostics.fixed_points.places import FIXED
from dynlab.diagnostics.fixed_points.starts import ORDINARY, driven_states, usual_starts
from dynlab.diagnostics.fixed_points.verdict import incomplete
from dynlab.simulation import prepare
from dynlab.systems import Map

OFF, OFF_STABLE = 1e-2, 1e-4  # times the states' typical size: so far orbits start from a branch, and from a stable one
SLOW = 0.02  # per step, or second: growth so slow that the normal form is nearly right and an orbit long on its way
USUAL_LARGEST, BEYOND_TYPICAL = 100.0, 10.0  # where branches are cut; the second times the typical size of large points
OF_ONE_SIZE = 16.0  # times the unit of one search at most: states of another


class Begun(NamedTuple):
    """What the search at one value of the parameter found.

    Attributes
    ----------
    value : float
    states : list of ndarray, shape (n,)
        Every isolated fixed point or equilibrium.
    incomplete : str
        What says that some are missing.
    unit : ndarray, shape (n,)
        What the search measured states in.
    """

    value: float
    states: list[NDArray[np.float64]]
    incomplete: str
    unit: NDArray[np.float64]


def fixed_points_at(varied: Varied, value: float, inputs: Any, count: int | None, seed: int) -> Begun:
    """What the search of `dynlab.fixed_points` finds at one value of the parameter.

    Parameters
    ----------
    varied : Varied
    value : float
        Of the parameter.
    inputs : array_like or None
        What drives the network, for starts.
    count : int or None
        Random starts of a round; as many as usual where it is None.
    seed : int
    """
    held = in_own_units(varied.fixed(value))
    system = held.system
    visited = None
    if isinstance(system, Map) and system.network_input_size and inputs is not None:
        visited = driven_states(system, system.drive(prepare(system, inputs)[1])) / held.unit
    found = search(held, held, count=count or usual_starts(system), visited=visited, seed=seed)
    unit = np.broadcast_to(np.asarray(held.unit), held.system.state_size)
    states = [unit * place.state for place in found.places if place.status == FIXED]
    return Begun(value, sorted(states, key=lambda state: float(np.linalg.norm(state))), incomplete(found), unit)


def common_unit(begun: list[Begun]) -> NDArray[np.float64]:
    """What the whole diagram measures states in, shape (n,): 1, but of a coordinate that is small, or large, in it.

    Of a small one it is the largest small unit that a search had, of a large one the largest state's. One search alone
    does not say what the rest is like.
    """
    units = np.array([each.unit for each in begun])
    small = np.where(units < 1, units, 0.0).max(axis=0) if len(begun) > 1 else np.zeros(units.shape[1])
    largest = np.abs([state for each in begun for state in each.states] or units[:1] * 0).max(axis=0)
    unit = np.where((small > 0) & (largest <= OF_ONE_SIZE * small), small, 1.0)
    if len(begun) > 1:
        unit = np.where(largest > ORDINARY, 2.0 ** np.floor(np.log2(np.maximum(largest, 1.0))), unit)
    rest = float((largest / unit).max())
    return unit * 2.0 ** np.floor(np.log2(rest)) if 1 / ORDINARY <= rest <= 1 / OF_ONE_SIZE and len(begun) > 1 else unit


def typical_size(states: list[NDArray[np.float64]]) -> float:
    """The scale of states in the length of a branch: the median norm, at least 1."""
    return max(1.0, float(np.median([np.linalg.norm(state) for state in states]))) if states else 1.0


def usual_largest_state(begun: list[Begun]) -> float:
    """Where branches and orbits are cut unless told otherwise: 100 in the largest unit, and of large states 10 times.

    Large they are where half of the points beside 0 that searches found are larger than 100.
    """
    unit = common_unit(begun)
    states = [state / unit for each in begun for state in each.states if state.any()]
    size = typical_size(states)
    return max(1.0, float(unit.max())) * (USUAL_LARGEST if size <= USUAL_LARGEST else BEYOND_TYPICAL * size)


def beside_branches(
    diagram: Diagram, points: list[Row], grid: NDArray[np.float64], count: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Where `count` orbits begin at each value, (value, count, n): beside the nearest point of each branch, or of 0.

    Beyond a supercritical Neimark–Sacker or Hopf point they begin near the closed curve that the normal form predicts:
    close to that point an orbit from nearby takes longest to reach it.
    """
    n = diagram.curve.equation.varied.system.state_size
    begin = diagram.curve.state_scale * generator.standard_normal((len(grid), count, n))
    angles = generator.uniform(0, 2 * np.pi, (len(grid), count))
    reach = max(np.ptp(grid) / max(len(grid) - 1, 1), 1e-2 * np.ptp(grid))
    branches = [[row for row in points if row.branch == number] for number in sorted({row.branch for row in points})]
    for number, p in enumerate(grid):
        near = [(state, row, rows) for rows in branches for state, row in _at(rows, float(p), reach)]
        for orbit in range(count if near else 0):
            state, row, rows = near[orbit % len(near)]
            curve = _predicted_curve(diagram, rows, float(p), float(angles[number, orbit]))
            off = (OFF_STABLE if row.kind.stable == 1 else OFF) * begin[number, orbit]
            begin[number, orbit] = state + (off if curve is None else curve)
        if not near:
            begin[number] *= OFF
    return begin


def _at(rows: list[Row], p: float, reach: float) -> list[tuple[NDArray[np.float64], Row]]:
    """The states of one branch at a value of the parameter, between its points or at one within reach; with that one.

    A branch that turns has several.
    """
    found = []
    for one, other in itertools.pairwise(rows):
        share = (p - one.parameter) / (other.parameter - one.parameter) if one.parameter != other.parameter else np.nan
        if 0 <= share <= 1 and one.orbit.shape == other.orbit.shape:
            state = (1 - share) * one.orbit[0] + share * other.orbit[0]
            found.append((state, one if share < 1 / 2 else other))
    nearest = min(rows, key=lambda row: abs(row.parameter - p))
    return found or ([(nearest.orbit[0], nearest)] if abs(nearest.parameter - p) <= reach else [])


def _predicted_curve(diagram: Diagram, rows: list[Row], p: float, angle: float) -> NDArray[np.float64] | None:
    """From a branch to a point of the closed curve around it, 2 Re(z q) with |z|² = growth / −coefficient.

    The growth is 0 at the bifurcation and linear from there to the next row of the branch.
    """
    for one in diagram.bifurcations:
        cubic, refined = one.coefficient, one.refined
        if one.branch != rows[0].branch or cubic is None or refined is None or refined.eigenvalue.imag == 0:
            continue
        begins = diagram.curve.parameter(one.z)
        beyond = [row for row in rows if row.bifurcation < 0 and (row.parameter - begins) * (p - begins) > 0]
        if not beyond or cubic.criticality != SUPERCRITICAL:
            continue
        row = min(beyond, key=lambda row: abs(row.parameter - p))
        nearest = row.eigenvalues[np.abs(row.eigenvalues - refined.eigenvalue).argmin()]
        growth = abs(nearest) - 1 if diagram.curve.equation.is_map else nearest.real
        growth *= (p - begins) / (row.parameter - begins)
        if 0 < growth < SLOW:
            z = np.sqrt(growth / -cubic.value) * np.exp(1j * angle)
            return np.asarray(2 * (z * refined.null / np.linalg.norm(refined.null)).real)
    return None
