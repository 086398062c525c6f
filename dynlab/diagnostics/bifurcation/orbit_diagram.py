"""The orbit diagram: where orbits that begin beside the branches end, at many values of the parameter."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.arguments import check_at_least
from dynlab.diagnostics.bifurcation.branches import Branch, Diagram
from dynlab.numerics.arrays import Real
from dynlab.numerics.grids import check_memory
from dynlab.progress import through
from dynlab.systems.autonomous import Held
from dynlab.trajectories.attractors import LEAVES, Ends, classify
from dynlab.trajectories.cycles import CYCLE, REST, cycles
from dynlab.trajectories.following import orbit

ORBITS = 4  # at each value of the parameter
OFF, OFF_STABLE = 1e-2, 1e-4  # times the branches' size: so far orbits start from a branch, and from a stable one
STEPS, FEWER_STEPS, SMALL = 8192, 2048, 8  # that an orbit is followed, fewer in more dimensions
KEPT = 128  # points of a map's orbit, or extrema of a solution
COLLECTED = 1024  # steps of a solution that is undecided, over which its extrema are collected
SETTLED, UNSETTLED, LEFT = 1, 0, -1


class Visited(NamedTuple):
    """The ends of the orbits.

    Attributes
    ----------
    states : ndarray, shape (value, ORBITS, KEPT, n)
        Points of the attractor, of a flow the extrema of each coordinate on it, or those of an orbit that has not come
        to one. NaN for an orbit that left the bound, and beyond the extrema.
    settled : ndarray of int, shape (value, ORBITS)
        `SETTLED`, `UNSETTLED` where no attractor was reached, or `LEFT`.
    period, multiplier : ndarray, shape (value, ORBITS)
        Period of a cycle, in steps or seconds, and the largest modulus of its multipliers; NaN of others.
    """

    states: Real
    settled: NDArray[np.int8]
    period: Real
    multiplier: Real


def visited(diagram: Diagram, values: Real, bound: float, seed: int) -> Visited:
    """Return where orbits that start beside the branches end.

    Parameters
    ----------
    diagram : Diagram
    values : ndarray, shape (value,)
        Values of the parameter.
    bound : float
        An orbit has left where some abs(h_i) exceeds it.
    seed : int
        Seed of the starts.
    """
    curve, n, generator = diagram.curve, len(diagram.curve.scale), np.random.default_rng(seed)
    states = np.full((len(values), ORBITS, KEPT, n), np.nan)
    settled, repeating = np.zeros((len(values), ORBITS), dtype=np.int8), np.full((2, len(values), ORBITS), np.nan)
    for number, p in through(list(enumerate(values.tolist()))):
        held, steps = curve.varied.fixed(p), STEPS if n <= SMALL else FEWER_STEPS
        near = [one for branch in diagram.branches for one in _beside(diagram, branch, p)] or [(np.zeros(n), OFF)]
        begin, off = (np.array([near[each % len(near)][part] for each in range(ORBITS)]) for part in (0, 1))
        begin = begin + off[:, None] * curve.scale / np.sqrt(n) * generator.standard_normal((ORBITS, n))
        known = [one for one in cycles(held, curve.critical, begin) if one is not None and one.stable == 1]
        ends = classify(held, begin, steps=steps, known=known, bound=bound, seed=seed, compile=True)
        for each, label in enumerate(ends.labels.tolist()):
            one = ends.attractors[label] if label >= 0 else None
            comes = one is not None and (one.stable == 1 or one.form == REST)
            settled[number, each] = SETTLED if comes else LEFT if label == LEAVES else UNSETTLED
            if label != LEAVES:
                seen = _points(held, ends, each)[-KEPT:]
                states[number, each, : len(seen)] = seen
            if one is not None and one.form == CYCLE:
                repeating[:, number, each] = one.period, np.abs(one.multipliers).max(initial=0.0)
    return Visited(states, settled, *repeating)


def check_values(count: int, n: int, max_memory: float) -> None:
    """Raise for a number of values below 0, and where the orbits at so many take more memory."""
    check_at_least(0, values=count)
    check_memory(1.0, max_memory, 8.0 * count * ORBITS * KEPT * n)


def _beside(diagram: Diagram, branch: Branch, p: float) -> list[tuple[Real, float]]:
    """Return states on a branch at a value of the parameter, and how far off orbits start from each."""
    at, curve = np.array([diagram.curve.parameter(one.z) for one in branch.solutions]), diagram.curve
    found = []
    for left in np.flatnonzero((at[:-1] - p) * (at[1:] - p) <= 0):
        first, second = branch.solutions[left], branch.solutions[left + 1]
        part = (p - at[left]) / (at[left + 1] - at[left]) if at[left + 1] != at[left] else 0.5
        is_stable = first.kind.stable == second.kind.stable == 1
        found.append((curve.state(first.z + part * (second.z - first.z)), OFF_STABLE if is_stable else OFF))
    return found


def _points(held: Held, ends: Ends, which: int) -> Real:
    """Return points of the attractor that an orbit ends on, of a flow extrema; else those of the orbit itself."""
    one = ends.attractors[ends.labels[which]] if ends.labels[which] >= 0 else None
    if one is not None and one.form == REST:
        return one.states[:1] if held.is_flow else np.repeat(one.states[:1], KEPT, axis=0)
    if one is None:
        begin = torch.as_tensor(ends.states[which]).to(held.input)[None]
        states = orbit(held, begin, COLLECTED if held.is_flow else KEPT, ends.code)[0][:, 0].numpy()
    elif held.is_flow:
        states = np.concatenate([one.states, one.states[1:2]]) if one.form == CYCLE else one.states
    else:
        states = np.resize(one.states, (max(KEPT, len(one.states)), held.system.state_size))
    return extrema(states) if held.is_flow else states


def extrema(states: Real) -> Real:
    """Return the last extrema of each coordinate along a solution (m, n), of parabolas, NaN where there are fewer."""
    before, here, after = states[:-2], states[1:-1], states[2:]
    with np.errstate(all="ignore"):  # of a solution that leaves
        turns = (here - before) * (after - here) < 0
        tops = here - (after - before) ** 2 / (8 * (before - 2 * here + after))
    found = np.full((KEPT, states.shape[1]), np.nan)
    for coordinate, (top, turn) in enumerate(zip(tops.T, turns.T, strict=True)):
        last = top[turn][-KEPT:]
        found[: len(last), coordinate] = last
    return found if turns.any() else states[-1:]
