"""The stable manifolds of the saddles of a plane, and orbits backward in time.

A flow is followed by steps of negative time; a map by solving F(h) = h_t for the state h_{t−1} before, with Newton's
method.
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
from dynlab.diagnostics.phase_plane.orbit_ends import POINTS
from dynlab.diagnostics.phase_plane.window import Window
from dynlab.numerics.arrays import Real
from dynlab.numerics.roots import solve
from dynlab.program.compiled import Compiled
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices
from dynlab.trajectories.following import orbit, scalar_code, time_step

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
    grid = torch.from_numpy(window.grid(11).reshape(-1, 2)).to(held.input)
    starts, times = orbits["trajectory"].values[:, 0], orbits[schema.TIME].values
    dt, parts, code = 0.0, 1, None
    if held.is_flow:
        dt = time_step(held, grid) / FINER
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
    past = "state h as long before the start"
    return {
        "separatrix": (dims, curves, "separatrix: states whose orbits end at the saddle"),
        "backward_orbit": ((schema.SAMPLE, schema.TIME, schema.STATE), before, past),
    }


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
        with torch.no_grad():
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
