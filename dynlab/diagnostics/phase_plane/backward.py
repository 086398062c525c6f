"""What leads to and from each equilibrium of a plane: eigenvectors, separatrices, and orbits backward in time.

A flow is followed against its velocity; a map by solving F(h) = h_t for the state h_{t−1} before, with Newton's method.
"""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.phase_plane.equilibria import Equilibria, field
from dynlab.diagnostics.phase_plane.variables import AtRest
from dynlab.jacobians import held_matrices
from dynlab.numerics.roots import solve
from dynlab.systems.held import Held

Real = NDArray[np.float64]

OFF = 0.01  # of half the window: where a separatrix starts on the eigenvector, which it leaves by the square of that
BEYOND = 1.2  # times half the window: where curves end
APART = 1.06  # the largest ratio of the distances at which neighbours on a map's separatrix start
MOST_STARTS = 48  # between a start and its second preimage
MOST_STEPS = 400  # backward, of a map
AT_REST = 1e-4  # of half the window, in two steps: a curve that moves no more has come to a source
ARC, MOST_ARCS = 0.02, 1500  # of half the window, and how many of them: a flow's paths are polygons of such sides
KEPT = 128  # points of a separatrix, evenly spaced along it
SIDES = np.array([1.0, -1.0])
REASONS = {
    "eigenvector": "NaN where the kind is not decided or not of real eigenvalues, and for an improper node's second",
    "separatrix": "NaN where the equilibrium is no saddle, or no curve could be followed",
    "backward_orbit": "NaN where the orbit has come from outside the window, or from no state that is found",
}


def come_from(
    held: Held, found: Equilibria, each: Sequence[AtRest], orbits: xr.Dataset, half_width: float
) -> dict[str, xr.Variable]:
    """``eigenvector``, ``separatrix`` and ``backward_orbit`` of a phase portrait.

    Parameters
    ----------
    held : Held
        The map where there is one, else the flow.
    found : Equilibria
        Of the flow where there is one, else of the map.
    each : sequence of AtRest
        Of those equilibria.
    orbits : Dataset
        ``trajectory(sample, time, state)``, whose starts are followed backward through as much time.
    half_width : float
        Of the window.
    """
    vectors = np.array([_eigenvectors(jacobian, point) for jacobian, point in zip(found.jacobians, each, strict=True)])
    curves = np.full((len(each), len(SIDES), KEPT, 2), np.nan)
    modes = [_decaying(point, held.is_flow) for point in each]
    saddles = [(i, mode) for i, mode in enumerate(modes) if mode is not None and np.isfinite(vectors[i, mode]).all()]
    if saddles:
        offsets = np.array([OFF * half_width * SIDES[:, None] * vectors[saddle] for saddle in saddles])
        centres = found.states[[index for index, _ in saddles]]
        ratios = [float(abs(each[index].map_values[mode])) for index, mode in saddles]
        follow = _upstream_curves if held.is_flow else _preimage_curves
        for (index, _), both in zip(saddles, follow(held, centres, offsets, ratios, half_width), strict=True):
            for side, curve in enumerate(both):
                curves[index, side] = _evenly(np.concatenate([found.states[index][None], curve]))
    starts, times = orbits["trajectory"].values[:, 0], orbits[schema.TIME].values
    before = (_upstream_orbits if held.is_flow else _preimage_orbits)(held, starts, times, half_width)
    along, state = schema.FIXED_POINT, schema.STATE
    vectors = vectors.reshape(len(each), 2, 2)
    return {
        "eigenvector": schema.variable((along, schema.MODE, state), vectors, "unit eigenvector of a real eigenvalue"),
        "separatrix": schema.variable(
            (along, schema.SIDE, schema.POINT, state), curves, "separatrix: states whose orbits end at the saddle"
        ),
        "backward_orbit": schema.variable(
            (schema.SAMPLE, schema.TIME, state), before, "state h as long before the start"
        ),
    }


def _eigenvectors(jacobian: Real, point: AtRest) -> Real:
    """The unit eigenvectors of a decided kind with real eigenvalues, shape (mode, state), else NaN."""
    vectors = np.full((2, 2), np.nan)
    kind = point.map.name or point.flow.name
    decided = not kind.startswith(("undecided", "linear"))
    if not decided or not any(word in kind for word in ("node", "saddle", "line")):
        return vectors
    values = (point.flow_values if point.flow.name else point.map_values).real
    for mode in range(1 if "improper" in kind else 2):
        vector = np.linalg.svd(jacobian - values[mode] * np.eye(2))[2][-1]
        vectors[mode] = vector * np.sign(vector[np.abs(vector).argmax()])
    return vectors


def _decaying(point: AtRest, is_flow: bool) -> int | None:
    """Which eigenvalue of a saddle brings orbits nearer; None for all else."""
    kind = point.flow.name if is_flow else point.map.name
    if kind.startswith(("undecided", "linear")) or "saddle" not in kind:
        return None
    sizes = point.flow_values.real if is_flow else np.abs(point.map_values)
    return int(sizes.argmin())


def _upstream_curves(
    held: Held, centres: Real, offsets: Real, ratios: Sequence[float], half_width: float
) -> list[list[Real]]:
    """Both sides of the stable manifold of each saddle (k, 2), from the offsets (k, side, 2)."""
    paths, _ = _upstream(held, (centres[:, None] + offsets).reshape(-1, 2), half_width)
    curves = [path[np.isfinite(path).all(axis=1)] for path in paths]
    return [curves[len(SIDES) * saddle :][: len(SIDES)] for saddle in range(len(centres))]


def _upstream_orbits(held: Held, starts: Real, times: Real, half_width: float) -> Real:
    paths, elapsed = _upstream(held, starts, half_width, times[-1])
    orbits = np.full((len(starts), len(times), 2), np.nan)
    for orbit, path, age in zip(orbits, paths, elapsed, strict=True):
        known = np.isfinite(age)
        for coordinate in range(2):
            orbit[:, coordinate] = np.interp(times, age[known], path[known, coordinate], right=np.nan)
    return orbits


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


def _preimage_curves(
    held: Held, centres: Real, offsets: Real, ratios: Sequence[float], half_width: float
) -> list[list[Real]]:
    """The same of a map's."""
    given = zip(centres, offsets, ratios, strict=True)
    return [_preimage_sides(held, centre, offset, ratio, half_width) for centre, offset, ratio in given]


def _preimage_sides(held: Held, centre: Real, offsets: Real, ratio: float, half_width: float) -> list[Real]:
    """Both sides of a saddle's stable manifold, through two preimages at a time: one changes sides where μ < 0."""
    count = int(np.clip(np.ceil(-2 * np.log(max(ratio, np.finfo(float).tiny)) / np.log(APART)), 1, MOST_STARTS))
    apart = ratio ** (-2 * np.arange(count) / count) if ratio > 0 else np.ones(1)
    h = torch.as_tensor(centre + offsets[:, None] * apart[:, None]).to(held.input)
    pieces = [h]
    for _ in range(MOST_STEPS // 2):
        h = _before(held, _before(held, h, half_width), half_width)
        moving = (h - pieces[-1]).abs() > AT_REST * half_width  # false where it is NaN
        pieces.append(h)
        if not moving.any():
            break
    curves = torch.cat(pieces, dim=1).double().cpu().numpy()
    ends = [np.flatnonzero(~np.isfinite(curve).all(axis=1)) for curve in curves]
    return [curve[: end[0]] if len(end) else curve for curve, end in zip(curves, ends, strict=True)]


def _preimage_orbits(held: Held, starts: Real, times: Real, half_width: float) -> Real:
    orbits = np.full((len(starts), len(times), 2), np.nan)
    h = torch.as_tensor(starts).to(held.input)
    for step in range(min(len(times), MOST_STEPS + 1)):
        orbits[:, step] = h.double().cpu().numpy()
        h = _before(held, h, half_width)
        if not torch.isfinite(h).any():
            break
    return orbits


def _before(held: Held, states: Tensor, half_width: float) -> Tensor:
    """A state that one step takes to each of `states` (..., 2); NaN where none is found in the window.

    Of several it is the one to which Newton's method leads from the state itself.
    """
    targets = states.reshape(-1, 2)
    known = torch.isfinite(targets).all(dim=1)
    wanted = targets[known]
    found = solve(
        lambda h, rows: held.moved(h) - wanted[rows], lambda h, rows: held_matrices(held, h), wanted.clone(), most=0
    )
    inside = found.converged & (found.states.abs() <= BEYOND * half_width).all(dim=1)
    before = torch.full_like(targets, torch.nan)
    before[known] = torch.where(inside[:, None], found.states, torch.nan)
    return before.reshape(states.shape)


def _evenly(curve: Real) -> Real:
    """`KEPT` points at even distances along a polygon (k, 2)."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], KEPT)
    return np.stack([np.interp(wanted, along, coordinate) for coordinate in curve.T], axis=1)
