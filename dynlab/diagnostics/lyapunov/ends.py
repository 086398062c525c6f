"""Where orbits that nothing drives end, and whether they stayed on a set that their neighbours leave."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from dynlab import schema, simulation
from dynlab.driven import Driven
from dynlab.jacobians import cancelled, finite_or_zero, held_blocks, held_matrices, jacobian
from dynlab.kinks import at_kink, some_at_kink
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.flat_orbits import AWAY, flat_spaces, neighbours_distance, spread
from dynlab.simulation import LONGEST_PERIOD
from dynlab.systems import Flow, frozen
from dynlab.systems.held import Held

ALL_BUT_ZERO = 1e-12  # of the state's size: an orbit that returns this near to where it was has closed
ROUNDED = 64 * np.finfo(float).eps  # likewise, over half of its time: what moves farther, and does not slow, drifts
NEAR = 1e-6  # likewise: Newton's step from where a flow rests leads no farther
SAME_SLOPES = 1e-3  # of a flow's derivatives: what is small beside the orbit is 0 where they are those at 0
MOST_OF_CYCLE = 128  # dimensions of a cycle whose own exponent is computed; of a fixed point in any number
DRAWN, MOST_VISITED = 3, 8_000  # dimensions and states of the attractor that are kept for its picture
SAME_SIZE = 2.0  # between two quarters of its time: an orbit that changes less has a size of its own
ONE_WAY = 0.5  # of the length of its path: an orbit that ends farther from where the path began drifts
TOLD = 1e2  # times what cancellation leaves of a step: a size below that may be where rounding stopped the orbit


@dataclass(frozen=True)
class OrbitEnds:
    """How orbits end.

    Attributes
    ----------
    periods : ndarray of int, shape (sample,)
        1 at a fixed point, p on a cycle of p states, 0 where the orbit has not closed.
    points : ndarray, shape (sample, state)
        The last states.
    dimensions : ndarray of int, shape (sample,)
        Of the smallest affine space that holds an orbit which its neighbours leave, −1 where there is none such.
    unit : ndarray, shape (sample, 1)
        What the states of each orbit are measured in, beside their own size.
    leading : ndarray, shape (sample,)
        The largest exponent of the fixed point or cycle itself, which the orbit's need not be yet: it may have come to
        a saddle. NaN where the orbit has not closed, or this is not computed.
    kinked : ndarray of int, shape (sample,)
        1 where that, in at most `MOST_OF_CYCLE` dimensions, is at a kink or a jump: its exponents are of one side.
    drifting : ndarray of int, shape (sample,)
        1 where the orbit has not closed and most of its second half leads one way.
    """

    periods: Index
    points: Real
    dimensions: Index
    unit: Real
    leading: Real
    kinked: Index
    drifting: Index


def ends_of_map(driven: Driven, is_given: bool, seed: int) -> OrbitEnds:
    """How orbits of a map end; `is_given` says that their starts were not random."""
    states = driven.states.double().cpu().numpy()
    half = driven.steps // 2

    def follow(beside: Real) -> Real:
        begin = torch.as_tensor(beside).to(driven.states)
        return simulation.end_of_orbit(driven.system, driven.inputs[:, half:], begin).double().cpu().numpy()[:, None]

    later = states[:, half + spread(states.shape[1] - half)]
    held = Held(driven.system, driven.inputs[0, -1], driven.steps)
    noise = cancelled(held, driven.states[:, -1].nan_to_num(0.0, 0.0, 0.0)).double().amax(dim=1).cpu().numpy()
    unit = unit_of_orbits(states, noise)
    periods = periods_of_map(states, unit)
    leading, kinked = np.full(len(states), np.nan), np.zeros(len(states), dtype=np.int64)
    for sample in np.flatnonzero(periods > 0):
        held = Held(driven.system, driven.inputs[sample, -1], driven.steps)
        leading[sample] = _leading(held, driven.states[sample, -periods[sample] :])
        kinked[sample] = _kinked(held, states[sample, -periods[sample] :], unit[sample, 0])
    return _ends(periods, leading, kinked, states[:, -1], later, follow, is_given, seed, unit)


def ends_of_flow(system: Flow, visited: Real, seconds: float, is_given: bool, seed: int) -> OrbitEnds:
    """The same of a flow from the states (sample, time, state) that it visits in so many seconds."""

    def follow(beside: Real) -> Real:
        found = simulation.simulate(system, initial_state=beside, times=[0.0, seconds / 2])
        return np.asarray(found["trajectory"].values[:, -1:])

    later = visited[:, visited.shape[1] // 2 :]
    unit = unit_of_orbits(visited, np.full(len(visited), np.inf))
    periods, leading = periods_of_flow(system, visited[:, -1], unit), np.full(len(visited), np.nan)
    held = Held(frozen(system), torch.zeros(system.input_size, dtype=torch.float64))
    for sample in np.flatnonzero(periods > 0):
        leading[sample] = _leading(held, torch.from_numpy(visited[sample, -1:]))
    kinked = np.zeros(len(visited), dtype=np.int64)
    return _ends(periods, leading, kinked, visited[:, -1], later, follow, is_given, seed, unit)


def _leading(held: Held, cycle: Tensor) -> float:
    """The largest exponent of a cycle of a map (p, n), or of a flow's equilibrium (1, n)."""
    if len(cycle) == 1:
        values = np.concatenate(
            [approximate_eigenvalues(block[0].double().cpu().numpy()) for block in held_blocks(held, cycle)]
        )
        return float(values.real.max()) if held.is_flow else _logarithm(float(np.abs(values).max()))
    if cycle.shape[1] > MOST_OF_CYCLE:
        return float("nan")
    product, scale = np.eye(cycle.shape[1]), 0.0
    for matrix in held_matrices(held, cycle).double().cpu().numpy():
        product = matrix @ product
        size = float(np.abs(product).max())
        if not 0 < size < np.inf:
            return _logarithm(size)
        product, scale = product / size, scale + math.log(size)
    return (scale + _logarithm(float(np.abs(approximate_eigenvalues(product)).max()))) / len(cycle)


def _kinked(held: Held, cycle: Real, unit: float) -> bool:
    """Whether a cycle (p, n) of a map passes a kink; next to a state is beside that unit."""
    if cycle.shape[1] > MOST_OF_CYCLE:
        return False
    power = 2.0 ** math.floor(math.log2(unit))
    in_unit = replace(held, unit=power)
    return at_kink(in_unit, cycle[0] / power) if len(cycle) == 1 else some_at_kink(in_unit, cycle / power)


def _logarithm(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf if value == 0 else math.nan


def unit_of_orbits(states: Real, noise: Real) -> Real:
    """Return the unit of orbits (sample, time, state) beside their own size, (sample, 1): 1."""
    return np.ones((len(states), 1))


def visited_states(states: Real) -> dict[str, xr.Variable]:
    """The last states (time, state) of an orbit, of as many dimensions as a picture shows; else nothing."""
    if states.shape[1] > DRAWN:
        return {}
    along = schema.ITERATION, schema.STATE
    return {"visited": schema.variable(along, states[-MOST_VISITED:], "states that the first sample's orbit ends in")}


def visited_in(system: Flow, state: Real, seconds: float) -> dict[str, xr.Variable]:
    """The same of a flow, from the `state` (state,) on for so many seconds, in steps that a curve needs."""
    if len(state) > DRAWN or not np.isfinite(state).all():
        return {}
    times = np.linspace(0.0, seconds, MOST_VISITED // 2)
    found = simulation.simulate(system, initial_state=state, times=times)
    return visited_states(np.asarray(found["trajectory"].values[0]))


def _ends(
    periods: Index,
    leading: Real,
    kinked: Index,
    points: Real,
    later: Real,
    follow: Callable[[Real], Real],
    is_given: bool,
    seed: int,
    unit: Real,
) -> OrbitEnds:
    """Only a given start may lie on a set that its neighbours leave; of closed orbits the exponents tell it."""
    nowhere = np.full(len(periods), -1)
    found = nowhere if not is_given or periods.all() else dimensions_left(later, follow, seed, unit)
    return OrbitEnds(
        periods, points, np.where(periods > 0, -1, found), unit, leading, kinked, _drifting(periods, later)
    )


def _drifting(periods: Index, later: Real) -> Index:
    """Of orbits that have not closed, whether the states (sample, some, state) of the second half lead one way."""
    with np.errstate(invalid="ignore", over="ignore"):  # of orbits that have run away
        way = np.linalg.norm(np.diff(later, axis=1), axis=2).sum(axis=1)
        led = np.linalg.norm(later[:, -1] - later[:, 0], axis=1) > ONE_WAY * way
    return np.asarray((periods == 0) & led & np.isfinite(way)).astype(int)


def periods_of_map(states: Real, unit: Real) -> Index:
    """After how many steps the orbits (sample, time, state) are back at their last states; 0 where they are not.

    States are measured in `unit` (sample, 1), beside their own size.
    """
    last = states[:, -1:]
    before = states[:, -1 - LONGEST_PERIOD : -1][:, ::-1]
    with np.errstate(invalid="ignore"):
        back = np.all(np.abs(before - last) <= ALL_BUT_ZERO * (unit[:, None] + np.abs(last)), axis=-1)
    periods = np.where(back.any(axis=1), back.argmax(axis=1) + 1, 0)
    return np.array(
        [0 if p and _drifts(orbit[::-p], one) else p for orbit, p, one in zip(states, periods, unit, strict=True)]
    )


def _drifts(states: Real, unit: Real) -> bool:
    """Whether an orbit (time, state), latest first, still moves on from where it seems to rest, as fast as before."""
    half = len(states) // 2
    if half < 2:
        return False
    moved = np.abs(states[0] - states[half])
    slows = np.linalg.norm(states[0] - states[1]) <= np.linalg.norm(states[half - 1] - states[half]) / 2
    return bool((moved > ROUNDED * (unit + np.abs(states[0]))).any() and not slows)


def periods_of_flow(system: Flow, states: Real, unit: Real) -> Index:
    """1 where a flow is at an equilibrium, 0 at other states (sample, state).

    There f is small beside the change that its own derivative makes of it over a state's size, Newton's step is short,
    and what it leaves is rounding: a slow field is small everywhere, and 0 nowhere. Where a coordinate counts as 0, the
    derivatives there are the same: a flow in very small units may be far from the equilibrium at 0.
    """
    found = np.asarray(np.isfinite(states).all(axis=1))
    h, one, analysed = torch.from_numpy(states[found]), torch.from_numpy(unit[found]), frozen(system)
    if not len(h):
        return found.astype(np.int64)
    no_input = h.new_zeros(system.input_size)
    f, J = analysed.velocity(h, no_input), finite_or_zero(jacobian(analysed, h, no_input).dense())
    step = -(torch.linalg.pinv(J) @ f.unsqueeze(-1))
    size = (J.abs() @ (one + h.abs()).unsqueeze(-1)).squeeze(-1)
    near = (step.squeeze(-1).abs() <= NEAR * (one + h.abs())) & (f.abs() <= ALL_BUT_ZERO * size)
    exact = (f + (J @ step).squeeze(-1)).abs() <= ROUNDED * size
    rest = torch.where(h.abs() <= ALL_BUT_ZERO * (one + h.abs().amax(dim=-1, keepdim=True)), 0.0, h)
    other = (finite_or_zero(jacobian(analysed, rest, no_input).dense()) - J).abs().amax(dim=(-1, -2))
    alike = other <= SAME_SLOPES * J.abs().amax(dim=(-1, -2))
    found[found] = ((near & exact).all(dim=-1) & alike).numpy()
    return found.astype(np.int64)


def dimensions_left(visited: Real, follow: Callable[[Real], Real], seed: int, unit: Real) -> Index:
    """The dimensions of spaces that hold the orbits and that their neighbours leave; −1 where there is no such space.

    Parameters
    ----------
    visited : ndarray, shape (sample, time, state)
        The later half of each orbit, or some states of it.
    follow : callable
        The last states (sample, time, state) of the way from states (sample, state) beside the first of `visited`.
    seed : int
        Of the direction in which the neighbour lies.
    unit : ndarray, shape (sample, 1)
        As `unit_of_orbits`.
    """
    spaces = flat_spaces(visited, unit[:, 0])
    return np.where(neighbours_distance(spaces, visited[:, 0], follow, seed) > AWAY, spaces.dimensions, -1)
