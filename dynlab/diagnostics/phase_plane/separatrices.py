"""What leads to the saddles of a plane, and orbits backward in time.

A flow is followed against its velocity; a map by solving F(h) = h_t for the state h_{t−1} before, with Newton's method.
"""

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.phase_plane.equilibria import Equilibrium, eigenvectors
from dynlab.diagnostics.phase_plane.field import field
from dynlab.diagnostics.phase_plane.orbit_ends import POINTS
from dynlab.numerics.arrays import Real
from dynlab.numerics.roots import solve
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

OFF = 0.01  # of half the window: where a flow's separatrix starts on the eigenvector, which it leaves by the square
NEAR = 1e-3  # likewise of a map's
BEYOND = 1.2  # times half the window: where curves end
ARC, MOST_ARCS = 0.02, 750  # of half the window, and how many of them: a flow's paths are polygons of such sides
WIDEST = 0.02  # of half the window: neighbours on a map's separatrix that are farther apart are not joined
LONGEST = 15.0  # half windows of a separatrix
STARTS, NEAREST = 2000, 1e-9  # on a part of a map's eigenvector, from its end to the preimage of that, or as near
SHORTER = 0.5  # or more, so many steps bring what is on it nearer
MOST_STEPS = 400  # backward, of a map
SIDES = np.array([1.0, -1.0])
REASONS = {
    "eigenvector": "NaN where the kind is not decided or not of real eigenvalues, and for an improper node's second",
    "separatrix": "NaN where the equilibrium is no saddle, or no curve could be followed",
    "backward_orbit": "NaN where the orbit has come from outside the window, or from no state that is found",
}


def come_from(held: Held, found: list[Equilibrium], orbits: xr.Dataset, half_width: float) -> dict[str, xr.Variable]:
    """Return ``separatrix`` and ``backward_orbit`` of a phase portrait.

    Parameters
    ----------
    held : Held
        The map where there is one, else the flow.
    found : list of Equilibrium
    orbits : Dataset
        ``trajectory(sample, time, state)``, whose starts are followed backward through as much time.
    half_width : float
        Of the window.
    """
    curves = np.full((len(found), len(SIDES), POINTS, 2), np.nan)
    for place, one in enumerate(found):
        kind, rates = (one.flow.name, one.flow_values.real) if held.is_flow else (one.map.name, np.abs(one.map_values))
        vector = eigenvectors(one)[rates.argmin()]
        if "saddle" not in kind or not np.isfinite(vector).all():
            continue
        ways = half_width * SIDES[:, None] * vector
        if held.is_flow:
            sides = list(_upstream(held, one.state + OFF * ways, half_width)[0])
        else:
            sides = [_preimages(held, one.state, NEAR * way, rates.min(), half_width) for way in ways]
        for side, path in enumerate(sides):
            curves[place, side] = _evenly(np.concatenate([one.state[None], path[np.isfinite(path).all(axis=1)]]))
    starts, times = orbits["trajectory"].values[:, 0], orbits[schema.TIME].values
    before = (_against_flow if held.is_flow else _against_map)(held, starts, times, half_width)
    dims = (schema.FIXED_POINT, schema.SIDE, schema.POINT, schema.STATE)
    said, past = "separatrix: states whose orbits end at the saddle", "state h as long before the start"
    return {
        "separatrix": schema.variable(dims, curves, said),
        "backward_orbit": schema.variable((schema.SAMPLE, schema.TIME, schema.STATE), before, past),
    }


def _upstream(held: Held, starts: Real, half_width: float, duration: float = np.inf) -> tuple[Real, Real]:
    """Paths against a flow, (start, k, 2), and how long before the start each state is, (start, k).

    Runge and Kutta's method of order 4 in the arc's length. A path is NaN from where it leaves the window, from where
    it turns back on itself, since it has come to a point at rest, and beyond the `duration`.
    """
    arc, h = ARC * half_width, starts
    paths, elapsed, ahead = [h], [np.zeros(len(h))], _against(held, h)
    for _ in range(MOST_ARCS):
        second = _against(held, h + arc / 2 * ahead)
        third = _against(held, h + arc / 2 * second)
        moved = h + arc / 6 * (ahead + 2 * second + 2 * third + _against(held, h + arc * third))
        then = _against(held, moved)
        outside = ~(np.abs(moved).max(axis=1) <= BEYOND * half_width)
        ended = outside | ((then * ahead).sum(axis=1) <= 0) | ~(elapsed[-1] <= duration)
        speeds = np.linalg.norm(field(held, (h + moved) / 2), axis=1)
        h, ahead = np.where(ended[:, None], np.nan, moved), then
        paths.append(h)
        elapsed.append(elapsed[-1] + np.where(ended | (speeds == 0), np.nan, arc / np.where(speeds == 0, 1.0, speeds)))
        if ended.all():
            break
    return np.stack(paths, axis=1), np.stack(elapsed, axis=1)


def _against(held: Held, states: Real) -> Real:
    """The unit vector against the velocity, 0 where that vanishes."""
    velocity = -field(held, states)
    speed = np.linalg.norm(velocity, axis=1, keepdims=True)
    return np.divide(velocity, speed, out=np.zeros_like(velocity), where=speed > 0)


def _against_flow(held: Held, starts: Real, times: Real, half_width: float) -> Real:
    """The states of a flow (start, time, 2) as long before each start."""
    orbits = np.full((len(starts), len(times), 2), np.nan)
    for orbit, path, age in zip(orbits, *_upstream(held, starts, half_width, times[-1]), strict=True):
        known = np.isfinite(age)
        for coordinate in range(2):
            orbit[:, coordinate] = np.interp(times, age[known], path[known, coordinate], right=np.nan)
    return orbits


def _against_map(held: Held, starts: Real, times: Real, half_width: float) -> Real:
    """The states of a map (start, time, 2) as many steps before each start."""
    orbits = np.full((len(starts), len(times), 2), np.nan)
    h = torch.as_tensor(starts).to(held.input)
    for step in range(min(len(times), MOST_STEPS + 1)):
        orbits[:, step] = h.double().cpu().numpy()
        h = _before(held, h, half_width)
    return orbits


def _preimages(held: Held, centre: Real, farthest: Real, ratio: float, half_width: float) -> Real:
    """One side of a map's separatrix: a part of the eigenvector and all its preimages, (k, 2).

    An even number of steps takes the far end of that part to its near one, as one step changes sides where μ < 0.
    """
    steps = 2 * int(np.clip(np.log(SHORTER) / (2 * np.log(max(ratio, NEAREST))), 1, MOST_STEPS // 8))
    places = np.linspace(np.log(max(ratio**steps, NEAREST)), 0.0, STARTS)
    h = torch.as_tensor(centre + farthest * np.exp(places)[:, None]).to(held.input)
    pieces = [h.double().cpu().numpy()]
    for _ in range(MOST_STEPS // steps):
        for _ in range(steps):
            h = _before(held, h, half_width)
        pieces.append(h.double().cpu().numpy())
        if not np.ptp(pieces[-1], axis=0).max() > NEAREST * half_width:  # outside the window, or at another point
            break
    curve = np.concatenate(pieces)
    gaps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    ended = ~(gaps <= WIDEST * half_width) | (np.cumsum(gaps) > LONGEST * half_width)
    return curve[: max(1, np.flatnonzero(ended)[0] - 1)] if ended.any() else curve


def _before(held: Held, states: Tensor, half_width: float) -> Tensor:
    """A state that one step takes to each of `states` (k, 2); NaN where Newton's method finds none in the window."""
    before = torch.full_like(states, torch.nan)
    known = torch.isfinite(states).all(dim=1)
    wanted = begin = states[known]

    def value(h: Tensor, some: Tensor) -> Tensor:
        return held.moved(h) - wanted[rows[some]]

    for _ in range(2):
        rows = torch.isnan(before[known]).any(dim=1).nonzero()[:, 0]
        if len(rows):
            found = solve(value, lambda h, _: held_matrices(held, h), begin[rows], most=0)
            inside = found.converged & (found.states.abs() <= BEYOND * half_width).all(dim=1)
            before[known.nonzero()[rows, 0]] = torch.where(inside[:, None], found.states, torch.nan)
        # as far off as a strong contraction leads, a whole step raises |F − h| before it falls
        step = torch.linalg.solve_ex(held_matrices(held, wanted), (wanted - held.moved(wanted)).unsqueeze(-1))[0]
        begin = (wanted + step.squeeze(-1)).nan_to_num(0.0, 0.0, 0.0)
    return before


def _evenly(curve: Real) -> Real:
    """`POINTS` points at even distances along a polygon (k, 2)."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], POINTS)
    return np.stack([np.interp(wanted, along, coordinate) for coordinate in curve.T], axis=1)
