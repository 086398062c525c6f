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
from dynlab.numerics.roots import Roots, solve
from dynlab.systems.held import Held

Real = NDArray[np.float64]

OFF = 0.01  # of half the window: where a separatrix starts on the eigenvector, which it leaves by the square of that
BEYOND = 1.2  # times half the window: where curves end
NEAR = 1e-3  # of half the window: up to there the eigenvector stands for a map's separatrix
SHORTER = 0.5  # or more so many steps bring what is on it nearer, of which preimages are taken at a time
NEAREST = 1e-9  # times as far, where steps take a start nearer than rounding would tell
FEWEST_STARTS, MOST_STARTS, MOST_HALVINGS = 9, 600, 12  # between a start and its second preimage
MOST_STEPS = 400  # backward, of a map
AT_REST = 1e-4  # of half the window, in two steps: a curve that moves no more has come to a source
ARC, MOST_ARCS = 0.02, 750  # of half the window, and how many of them: a flow's paths are polygons of such sides
WIDEST = 0.1  # of half the window: neighbours on a map's separatrix that are farther apart are not joined
LONGEST = 15.0  # half windows of a separatrix
KEPT = 512  # points of a separatrix, evenly spaced along it
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
    """Both sides of a saddle's stable manifold, through an even number of preimages: one changes sides where μ < 0.

    A part of the eigenvector that so many steps take to its own near end, and all its preimages, are the whole curve.
    """
    steps = 2 * int(np.clip(np.log(SHORTER) / (2 * np.log(max(ratio, NEAREST))), 1, MOST_STEPS // FEWEST_STARTS))
    nearest = max(ratio**steps, NEAREST)
    return [_preimage_side(held, centre, NEAR / OFF * offset, nearest, steps, half_width) for offset in offsets]


def _preimage_side(held: Held, centre: Real, farthest: Real, nearest: float, steps: int, half_width: float) -> Real:
    """One side, from `nearest` times as far as the offset `farthest` on, to the window's edge or the `LONGEST` arc.

    Where preimages of neighbours are farther apart than `ARC`, preimages of what is between them come between them.
    """

    def begun(places: Real) -> Tensor:
        return torch.as_tensor(centre + farthest * np.exp(places)[:, None]).to(held.input)

    def earlier(h: Tensor, generations: int) -> Tensor:
        for _ in range(generations * steps):
            h = _before(held, h, half_width)
        return h

    places = np.linspace(np.log(nearest), 0.0, FEWEST_STARTS)
    states, pieces, length = begun(places), [], 0.0
    for generation in range(MOST_STEPS // steps):
        states = earlier(states, int(generation > 0))
        for _ in range(MOST_HALVINGS):
            gaps = states.diff(dim=0).norm(dim=1).cpu().numpy()
            edge = np.isnan(gaps) & torch.isfinite(states[:-1, 0]).cpu().numpy() & (np.diff(places) > ARC)
            wide = np.flatnonzero((gaps > ARC * half_width) | edge)
            if len(wide) == 0 or len(places) + len(wide) > MOST_STARTS:
                break
            between = (places[wide] + places[wide + 1]) / 2
            order = np.argsort(np.concatenate([places, between]), kind="stable")
            states = torch.cat([states, earlier(begun(between), generation)])[order]
            places = np.concatenate([places, between])[order]
        pieces.append(states.double().cpu().numpy())
        gaps = np.linalg.norm(np.diff(pieces[-1], axis=0), axis=1)
        length += float(gaps.sum())
        at_rest = generation > 0 and gaps.sum() <= AT_REST * half_width
        if at_rest or length > LONGEST * half_width or not (gaps <= WIDEST * half_width).all():
            break
    return _connected(np.concatenate(pieces), half_width)


def _connected(curve: Real, half_width: float) -> Real:
    """The curve up to where it is not known, leaves for another branch of preimages, or is long."""
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    ended = ~(steps <= WIDEST * half_width) | (np.cumsum(steps) > LONGEST * half_width)
    return curve[: np.flatnonzero(ended)[0] + 1] if ended.any() else curve


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
    found = _solved(held, wanted, wanted)
    lost = ~found.converged
    if lost.any():  # as far off as a strong contraction leads, more is left of F after a whole step than before it
        off = (wanted - held.moved(wanted))[lost].unsqueeze(-1)
        step = torch.linalg.solve_ex(held_matrices(held, wanted[lost]), off)[0].squeeze(-1)
        again = _solved(held, wanted[lost], (wanted[lost] + step).nan_to_num(0.0, 0.0, 0.0))
        found.states[lost], found.converged[lost] = again.states, again.converged
    inside = found.converged & (found.states.abs() <= BEYOND * half_width).all(dim=1)
    before = torch.full_like(targets, torch.nan)
    before[known] = torch.where(inside[:, None], found.states, torch.nan)
    return before.reshape(states.shape)


def _solved(held: Held, wanted: Tensor, starts: Tensor) -> Roots:
    """States that F leads to the wanted ones (k, 2), by Newton's method."""
    return solve(
        lambda h, rows: held.moved(h) - wanted[rows], lambda h, rows: held_matrices(held, h), starts.clone(), most=0
    )


def _evenly(curve: Real) -> Real:
    """`KEPT` points at even distances along a polygon (k, 2)."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], KEPT)
    return np.stack([np.interp(wanted, along, coordinate) for coordinate in curve.T], axis=1)
