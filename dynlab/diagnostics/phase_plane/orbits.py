"""The ends of a planar system's orbits, and where orbits come from: separatrices, and orbits backward in time.

Orbits end at rest, on a limit cycle of a flow, on a cycle or a curve of a map. Backward in time a flow is followed by
steps of negative time; a map by solving F(h) = h_t for the state h_{t−1} before, with Newton's method.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.geometry.unstable_manifold import evenly
from dynlab.diagnostics.phase_plane.equilibria import Equilibrium, eigenvectors
from dynlab.diagnostics.phase_plane.window import Window
from dynlab.numerics.arrays import Real
from dynlab.numerics.roots import solve
from dynlab.program.compiled import Compiled
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices
from dynlab.trajectories.attractors import DRIFTS, LEAVES, classify
from dynlab.trajectories.cycles import CHAOS, CURVE, CYCLE, REST, TORUS, Attractor
from dynlab.trajectories.following import orbit, scalar_code, time_step

STEPS, KEPT = 4800, 400  # of a map's orbit that is followed; its last states, which are drawn
POINTS = 512  # of a curve that is drawn
ROUNDED = 1e-11  # of its distance: by less an orbit moves in or out by rounding
PARTS = 8  # of the later three quarters of an orbit: each reaches farther than the one before, or less far
BOUND = 1e15  # states beyond which an orbit has left
FIXED_POINT, EQUILIBRIUM = "fixed point", "equilibrium"
PERIODIC, LIMIT_CYCLE, CLOSED = "periodic orbit", "limit cycle", "closed orbit"
CLOSED_CURVE, CHAOTIC, QUASIPERIODIC = "invariant closed curve", "chaotic attractor", "quasiperiodic attractor"
OUTWARD, INWARD = "still moving outward", "still moving inward"
UNSETTLED, GONE = "undecided", "beyond every bound"
OF_MAPS = {REST: FIXED_POINT, CYCLE: PERIODIC, CURVE: CLOSED_CURVE, CHAOS: CHAOTIC, TORUS: QUASIPERIODIC}

OFF = 0.01  # of half the window: where a flow's separatrix starts on the eigenvector, which it leaves by the square
NEAR = 1e-3  # likewise of a map's
BEYOND = 1.2  # times half the window: where curves end
FLOW_STEPS, FINER, AT_ONCE = 8192, 8, 128  # of a flow's separatrix: parts of the usual step; before each look
MANY = 1000  # steps of a backward orbit, beyond which compiled code is worth its start
MOST_PARTS = 1000  # of the time between two states of a flow's backward orbit
WIDEST = 0.02  # of half the window: neighbours on a map's separatrix that are farther apart are not joined
LONGEST = 15.0  # half windows of a separatrix
STARTS, NEAREST = 2000, 1e-9  # at most, on a part of a map's eigenvector, from its end to the image of that, or as near
PER_FOLD, FEWEST = 2000, 32  # of them, by a factor of e in their distance
MOST_STEPS = 400  # backward, of a map
SIDES = np.array([1.0, -1.0])
REASONS = {
    "eigenvector": "NaN where the kind is not decided or not of real eigenvalues, and for an improper node's second",
    "separatrix": "NaN where the equilibrium is no saddle, or no curve could be followed",
    "backward_orbit": "NaN where the orbit has come from outside the window, or from no state that is found",
}


def orbit_ends(held: Held, initial: Real, equilibria: Real) -> dict[str, Any]:
    """Return what orbits from `initial` (sample, 2) come to, with its period, and last states or a limit cycle.

    Parameters
    ----------
    held : Held
        A map, or a flow that is not linear.
    initial : ndarray, shape (sample, 2)
    equilibria : ndarray, shape (fixed_point, 2)
        An undecided orbit of a map moves outward or inward from the nearest one, or from 0.
    """
    ends, along = classify(held, initial, bound=BOUND, sets=not held.is_flow), (schema.SAMPLE,)
    labels = ends.labels.tolist()
    reached = [ends.attractors[label] if label >= 0 else None for label in labels]
    outcomes = [_outcome(one, label, held.is_flow) for one, label in zip(reached, labels, strict=True)]
    told = [None if name == CLOSED else one for one, name in zip(reached, outcomes, strict=True)]
    periods = np.array([one.period if one else 0.0 for one in told])
    if held.is_flow:
        unit, found = schema.SECOND, _limit_cycles(told)
    else:
        unit, found, periods = schema.STEP, {}, periods.astype(np.int64)
        states = orbit(held, torch.as_tensor(initial).to(held.input), STEPS)[0].double().cpu().numpy()
        moving = [_moving(path, equilibria) for path in states.swapaxes(0, 1)]
        outcomes = [how if name == UNSETTLED else name for name, how in zip(outcomes, moving, strict=True)]
        last = np.where(np.isfinite(states).all(axis=2, keepdims=True), states, np.nan)[-KEPT:].swapaxes(0, 1)
        found["long_orbit"] = ((schema.SAMPLE, schema.ITERATION, schema.STATE), last, "state h after many steps")
        found[schema.ITERATION] = ((schema.ITERATION,), np.arange(STEPS - KEPT + 1, STEPS + 1), "step t", schema.STEP)
    return found | {
        "outcome": (along, np.array(outcomes, dtype=object), "where the orbit ends"),
        "orbit_period": (along, periods, "period of that, 0 of no cycle", unit),
    }


def _outcome(one: Attractor | None, label: int, is_flow: bool) -> str:
    if one is None:
        return GONE if label == LEAVES else OUTWARD if label <= DRIFTS else UNSETTLED
    if not is_flow:
        return OF_MAPS[one.form]
    return EQUILIBRIUM if one.form == REST else LIMIT_CYCLE if one.isolated else CLOSED


def _limit_cycles(reached: list[Attractor | None]) -> dict[str, Any]:
    """Return the limit cycles of a flow on which orbits end, and their Floquet multipliers."""
    states, floquet = np.full((len(reached), POINTS, 2), np.nan), np.full((2, len(reached)), np.nan)
    for sample, one in enumerate(reached):
        if one is not None and one.form == CYCLE:
            states[sample] = one.states[np.linspace(0, len(one.states) - 1, POINTS).astype(int)]
            floquet[:, sample] = one.multipliers[0].real, one.multiplier_errors[0]
    along = (schema.SAMPLE,)
    return {
        "limit_cycle": ((schema.SAMPLE, schema.POINT, schema.STATE), states, "limit cycle"),
        "floquet_multiplier": (along, floquet[0], "Floquet multiplier of the limit cycle"),
        "floquet_error": (along, floquet[1], "bound on the error of the Floquet multiplier"),
    }


def _moving(path: Real, equilibria: Real) -> str:
    """Return whether an orbit (step, 2) reaches ever farther from the equilibrium nearest to it, or ever less far."""
    if not (np.abs(path) <= BOUND).all():
        return GONE
    away = np.linalg.norm(equilibria - path[-KEPT:].mean(axis=0), axis=1)
    centre = equilibria[away.argmin()] if len(away) else np.zeros(2)
    distances = np.linalg.norm(path[len(path) // 4 :] - centre, axis=1)
    growth = np.diff([part.max() for part in np.array_split(distances, PARTS)])
    least = ROUNDED * distances.max()
    return OUTWARD if (growth > least).all() else INWARD if (growth < -least).all() else UNSETTLED


def come_from(held: Held, found: list[Equilibrium], orbits: xr.Dataset, window: Window) -> dict[str, tuple[Any, ...]]:
    """Return ``separatrix`` and ``backward_orbit`` of a phase portrait.

    Parameters
    ----------
    held : Held
        The map where there is one, else the flow.
    found : list of Equilibrium
    orbits : Dataset
        ``trajectory(sample, time, state)``, whose starts are followed backward through as much time.
    window : Window
    """
    curves = np.full((len(found), len(SIDES), POINTS, 2), np.nan)
    starts, times = orbits["trajectory"].values[:, 0], orbits[schema.TIME].values
    dt, parts, code = 0.0, 1, None
    if held.is_flow:
        dt = time_step(held, torch.from_numpy(window.grid(11).reshape(-1, 2)).to(held.input)) / FINER
        parts = int(np.clip(np.ceil(times[1] / dt), 1, MOST_PARTS))
        code = scalar_code(held) if parts * len(times) > MANY else None
    for place, one in enumerate(found):
        kind, rates = (one.flow.name, one.flow_values.real) if held.is_flow else (one.map.name, np.abs(one.map_values))
        vector = eigenvectors(one)[rates.argmin()]
        if "saddle" not in kind or not np.isfinite(vector).all():
            continue
        ways = SIDES[:, None] * vector / np.abs(vector / window.half).max()
        if held.is_flow:
            sides = list(_upstream(held, code, one.state + OFF * ways, dt, FLOW_STEPS, window, LONGEST))
        else:
            sides = [_preimages(held, one.state, NEAR * way, rates.min(), window) for way in ways]
        for side, path in enumerate(sides):
            path = np.concatenate([one.state[None], path[np.isfinite(path).all(axis=1)]])
            curves[place, side] = window.half * evenly(path / window.half, POINTS, LONGEST)
    if held.is_flow:
        before = _upstream(held, code, starts, times[1] / parts, parts * (len(times) - 1), window)[:, ::parts]
    else:
        before = _against_map(held, starts, times, window)
    dims = (schema.FIXED_POINT, schema.SIDE, schema.POINT, schema.STATE)
    return {
        "separatrix": (dims, curves, "separatrix: states whose orbits end at the saddle"),
        "backward_orbit": ((schema.SAMPLE, schema.TIME, schema.STATE), before, "state h as long before the start"),
    }


@np.errstate(all="ignore")  # of orbits that leave
def _upstream(
    held: Held, code: Compiled | None, starts: Real, dt: float, count: int, window: Window, longest: float = np.inf
) -> Real:
    """Return the states of a flow at `count` steps before the starts, (start, count + 1, 2), NaN outside the window.

    They end where all have left the window, rest, or are longer than so many half windows.
    """
    paths = np.full((len(starts), count + 1, 2), np.nan)
    paths[:, 0], lengths = starts, np.zeros(len(starts))
    for begin in range(0, count, AT_ONCE):
        h = torch.as_tensor(paths[:, begin]).to(held.input)
        some = orbit(held, h, min(AT_ONCE, count - begin), code, -dt)[0].double().cpu().numpy().swapaxes(0, 1)
        inside = np.logical_and.accumulate(window.scaled(BEYOND).holds(some), axis=1)
        paths[:, begin + 1 : begin + 1 + some.shape[1]] = np.where(inside[..., None], some, np.nan)
        lengths += np.linalg.norm(np.diff(some, axis=1) / window.half, axis=2).sum(axis=1)
        moves = np.linalg.norm((some[:, -1] - some[:, 0]) / window.half, axis=1) > NEAREST
        if not (inside[:, -1] & moves & (lengths <= longest)).any():
            break
    return paths


def _against_map(held: Held, starts: Real, times: Real, window: Window) -> Real:
    """Return the states of a map (start, time, 2) as many steps before each start."""
    orbits = np.full((len(starts), len(times), 2), np.nan)
    h = torch.as_tensor(starts).to(held.input)
    for step in range(min(len(times), MOST_STEPS + 1)):
        orbits[:, step] = h.double().cpu().numpy()
        h = _before(held, h, window)
    return orbits


def _preimages(held: Held, centre: Real, farthest: Real, ratio: float, window: Window) -> Real:
    """Return one side of a map's separatrix: a part of the eigenvector and all its preimages, (k, 2).

    Two steps take the far end of that part to its near one, as one step changes sides where μ < 0.
    """
    nearest = np.log(max(ratio**2, NEAREST))
    places = np.linspace(nearest, 0.0, int(np.clip(-PER_FOLD * nearest, FEWEST, STARTS)))
    h = torch.as_tensor(centre + farthest * np.exp(places)[:, None]).to(held.input)
    pieces = [h.double().cpu().numpy()]
    for _ in range(MOST_STEPS // 2):
        h = _before(held, _before(held, h, window), window)
        pieces.append(h.double().cpu().numpy())
        if not (np.ptp(pieces[-1], axis=0) / window.half).max() > NEAREST:  # outside the window, or at another point
            break
    curve = np.concatenate(pieces)
    ended = ~(np.linalg.norm(np.diff(curve, axis=0) / window.half, axis=1) <= WIDEST)
    return curve[: max(1, np.flatnonzero(ended)[0] - 1)] if ended.any() else curve


def _before(held: Held, states: Tensor, window: Window) -> Tensor:
    """Return a state that one step takes to each of `states` (k, 2); NaN where none is found in the window."""
    before, rows = torch.full_like(states, torch.nan), torch.isfinite(states).all(dim=1).nonzero()[:, 0]
    for far in (False, True):
        if not len(rows):
            break
        begin = wanted = states[rows]
        if far:  # as far off as a strong contraction leads, a whole step raises |F − h| before it falls
            off = torch.linalg.solve_ex(held_matrices(held, wanted), (wanted - held.moved(wanted)).unsqueeze(-1))[0]
            begin = (wanted + off.squeeze(-1)).nan_to_num(0.0, 0.0, 0.0)
        found = solve(partial(_missed, held, wanted), lambda h, _: held_matrices(held, h), begin, most=0)
        near = torch.from_numpy(window.scaled(BEYOND).holds(found.states.double().cpu().numpy()))
        inside = found.converged & near.to(found.converged.device)
        before[rows[inside]], rows = found.states[inside], rows[~inside]
    return before


def _missed(held: Held, wanted: Tensor, h: Tensor, rows: Tensor) -> Tensor:
    return held.moved(h) - wanted[rows]
