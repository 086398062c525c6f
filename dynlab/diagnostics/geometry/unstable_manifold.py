"""How orbits leave a fixed point: the directions in a projection, and one-dimensional unstable manifolds.

Those are the curves along which orbits leave a saddle, and where they lead.
"""

from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.fixed_points.at_points import leading_modes
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.eigenvectors import Eigenmodes, real_axes
from dynlab.numerics.threads import in_threads
from dynlab.systems.held import Held


def growing_modes(held: Held, found: xr.Dataset) -> list[Eigenmodes | None]:
    """Return the modes at each point up to the last one that certainly grows; None where none does."""
    growing = _grow(found)
    some = np.flatnonzero(growing.any(axis=1))
    counts = [int(np.flatnonzero(row)[-1]) + 1 for row in growing[some]]
    each: list[Eigenmodes | None] = [None] * len(growing)
    for point, modes in zip(some, leading_modes(held, found.isel({schema.FIXED_POINT: some}), counts), strict=True):
        each[point] = modes
    return each


def _grow(found: xr.Dataset) -> NDArray[np.bool_]:
    """Return which modes certainly grow, shape (fixed_point, mode); not those of NaN."""
    growing: NDArray[np.bool_] = np.abs(found["eigenvalue"].values) - 1 > found["eigenvalue_error"].values
    return growing


def growing_directions(each: list[Eigenmodes | None], found: xr.Dataset, directions: Real) -> Real:
    """Return every mode that certainly grows, projected: shape (fixed_point, mode, axis); NaN for all others.

    A real eigenvalue has its unit eigenvector; a complex pair has the semi-axes of the ellipse that its plane's linear
    map turns through, the longer one of length 1 and first. NaN too where the eigenvector is not told from another.

    Parameters
    ----------
    each : list of Eigenmodes
        `growing_modes` of the points.
    found : Dataset
        Of `dynlab.fixed_points`.
    directions : ndarray, shape (axis, state)
    """
    growing, values = _grow(found), found["eigenvalue"].values
    projected = np.full((*values.shape, len(directions)), np.nan)
    for point, modes in enumerate(each):
        if modes is None:
            continue
        known = growing[point, : len(modes.values)] & modes.resolved & (values[point, : len(modes.values)].imag >= 0)
        for index in np.flatnonzero(known):
            axes, count = real_axes(modes.right[index]) @ directions.T, 1 + bool(values[point, index].imag)
            projected[point, index : index + count] = axes[:count]
    return projected


OFF = 1e-4  # times 1 + ‖h‖: where a curve starts; it is off the manifold by its square
APART = 1.1  # the largest ratio of the distances at which neighbours on a curve start
MOST_POINTS = 16  # between a start and its image
STEPS = 10_000  # that a curve is followed, unless told otherwise
WORK = 2.5e9  # steps times the square of the number of states: of large networks curves are followed for fewer steps
FEWEST_STEPS = 500
LOOK = 100  # steps between two looks at which curves are at rest
SETTLED = 1e-9  # times 1 + ‖h‖: an orbit that moves no more in two steps is at rest
NOTED = 0.01  # times 1 + ‖h‖: a curve is noted anew where it has moved that far
NEAR = 1e-3  # times 1 + ‖h‖: an end that near to a stable fixed point leads there
KEPT = 64  # points of a curve, evenly spaced along it
SIDES = (1.0, -1.0)


class Manifolds(NamedTuple):
    """Of every fixed point and side, NaN and −1 where one real direction alone does not grow.

    `curves` (fixed_point, side, iteration, state) begin at the fixed point; `leads_to` (fixed_point, side) is the
    number of the stable fixed point where they end, −1 where at none.
    """

    curves: Real
    leads_to: Index


def usual_steps(states: int) -> int:
    """Return how many steps curves of so many states are followed: 10,000, or as many as `WORK` allows."""
    return max(FEWEST_STEPS, min(STEPS, int(WORK / states**2)))


def unstable_manifolds(
    held: Held, found: xr.Dataset, each: list[Eigenmodes | None], largest_state: float, steps: int = STEPS
) -> Manifolds:
    """Follow both sides of every unstable manifold of one dimension.

    Parameters
    ----------
    held : Held
    found : Dataset
        Of `dynlab.fixed_points`.
    each : list of Eigenmodes
        `growing_modes` of the points.
    largest_state : float
        Where abs(h_i) exceeds it, a curve is cut.
    steps : int
        How far curves are followed that do not come to rest.

    Notes
    -----
    With r the unit eigenvector of λ, the points h* ± ε r λ^{2j/m}, j = 0 … m − 1, lie between a start and its second
    image; their second images in turn trace the curve on. Two steps, since one changes sides where λ < 0.

    References
    ----------
    Krauskopf and Osinga, "Growing 1D and quasi-2D unstable manifolds of maps", J. Comput. Phys. 146 (1998).
    """
    states, values, errors = (found[name].values for name in ("fixed_point_state", "eigenvalue", "eigenvalue_error"))
    count, n = states.shape
    curves, leads_to = np.full((count, 2, KEPT, n), np.nan), np.full((count, 2), -1)
    isolated = found["status"].values == "fixed point"
    sure = (np.abs(np.abs(values) - 1) > errors).all(axis=1)
    alone = isolated & sure & (_grow(found).sum(axis=1) == 1)
    directions = {
        point: modes.right[0].real
        for point, modes in enumerate(each)
        if modes is not None and alone[point] and modes.resolved[0]
    }
    if not directions:
        return Manifolds(curves, leads_to)
    chosen = np.array(list(directions))
    both = np.array(list(directions.values()))[:, None] * np.array(SIDES)[:, None]
    starts = _starts(states[chosen], both, np.abs(values[chosen, 0]))
    noted, ends = _followed(held, starts.reshape(-1, *starts.shape[2:]), largest_state, steps)
    stable = np.flatnonzero((found["stable"].values == 1) & isolated)
    for number, (curve, end) in enumerate(zip(noted, ends, strict=True)):
        point, side = chosen[number // 2], number % 2
        curves[point, side] = _evenly(np.concatenate([states[point][None], curve]))
        apart = np.linalg.norm(states[stable] - end, axis=1)
        if len(stable) and apart.min() <= NEAR * (1 + np.linalg.norm(end)):
            leads_to[point, side] = stable[apart.argmin()]
    return Manifolds(curves, leads_to)


def _starts(points: Real, directions: Real, moduli: Real) -> Real:
    """Return where curves start, shape (point, side, start, state), between ε and ε λ² along each direction."""
    count = int(np.clip(np.ceil(2 * np.log(moduli.max()) / np.log(APART)), 1, MOST_POINTS))
    distances = OFF * (1 + np.linalg.norm(points, axis=1))[:, None] * moduli[:, None] ** (2 * np.arange(count) / count)
    return np.asarray(points[:, None, None] + distances[:, None, :, None] * directions[:, :, None])


def _followed(held: Held, starts: Real, largest_state: float, steps: int) -> tuple[list[Real], Real]:
    """Return the points of each curve in their order, (k, state), and where the orbit of the first ends."""

    def work(some: slice) -> tuple[list[Real], Real]:
        h = torch.tensor(starts[some])
        last, noted = h.clone(), [[curve] for curve in h]
        for step in range(0, steps, 2):
            moved = held.moved(held.moved(h.flatten(0, 1))).reshape(h.shape)
            inside = (moved.abs() <= largest_state).all(dim=-1).all(dim=-1)[:, None, None]
            before, h = h, torch.where(inside, moved, h)
            size = 1 + h.norm(dim=-1)
            far = ((h - last).norm(dim=-1) > NOTED * size).any(dim=-1)
            for number in far.nonzero()[:, 0].tolist():
                noted[number].append(h[number])
            last = torch.where(far[:, None, None], h, last)
            if step % LOOK == 0 and ((h - before).norm(dim=-1) <= SETTLED * size).all():
                break
        return [torch.cat([*points, end]).numpy() for points, end in zip(noted, h, strict=True)], h[:, 0].numpy()

    curves, ends = in_threads(work, len(starts), KEPT * starts[0].nbytes, 1)
    return curves, ends


def _evenly(curve: Real) -> Real:
    """Return `KEPT` points at even distances along a polygon (k, state)."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], KEPT)
    return np.stack([np.interp(wanted, along, coordinate) for coordinate in curve.T], axis=1)
