"""The directions in which orbits leave a fixed point, and one-dimensional unstable manifolds.

Those are the curves along which orbits leave a saddle, and where they lead.
"""

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.fixed_points.verification import leading_modes
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.eigenvectors import Eigenmodes, real_axes
from dynlab.numerics.threads import in_threads
from dynlab.systems.autonomous import Held
from dynlab.trajectories.following import Step, step_of, time_step


def growing_modes(held: Held, found: xr.Dataset) -> list[Eigenmodes | None]:
    """Return the modes at each point up to the last one that certainly grows; None where none does."""
    growing = _grow(found)
    some = np.flatnonzero(growing.any(axis=1))
    counts = [int(np.flatnonzero(row)[-1]) + 1 for row in growing[some]]
    modes = dict(zip(some.tolist(), leading_modes(held, found.isel({schema.FIXED_POINT: some}), counts), strict=True))
    return [modes.get(point) for point in range(len(growing))]


def _excess(found: xr.Dataset) -> Real:
    """Return how far each eigenvalue is beyond the border of stability: |μ| − 1 of a map, Re λ of a flow."""
    values = found["eigenvalue"].values
    return np.asarray(values.real if schema.of_flow(found["eigenvalue"]) else np.abs(values) - 1)


def _grow(found: xr.Dataset) -> NDArray[np.bool_]:
    """Return which modes certainly grow, shape (fixed_point, mode); not those of NaN."""
    return np.asarray(_excess(found) > found["eigenvalue_error"].values)


def growing_directions(each: list[Eigenmodes | None], found: xr.Dataset, directions: Real) -> Real:
    """Return every mode that certainly grows, projected: shape (fixed_point, mode, axis); NaN for all others.

    A real eigenvalue has its unit eigenvector; a complex pair has the semi-axes of the ellipse that its plane's linear
    map turns through, the longer one of length 1 and first. NaN too where the eigenvector is not told from another.
    `each` is `growing_modes` of the points, `directions` has the shape (axis, state).
    """
    growing, values = _grow(found), found["eigenvalue"].values
    projected = np.full((*values.shape, len(directions)), np.nan)
    for point, modes in enumerate(each):
        if modes is None:
            continue
        known = growing[point, : len(modes.values)] & modes.resolved & (values[point, : len(modes.values)].imag >= 0)
        for index in np.flatnonzero(known):
            count = 1 + bool(values[point, index].imag)
            projected[point, index : index + count] = (real_axes(modes.right[index]) @ directions.T)[:count]
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


def usual_steps(states: int) -> int:
    """Return how many steps curves of so many states are followed: 10,000, or as many as `WORK` allows."""
    return max(FEWEST_STEPS, min(STEPS, int(WORK / states**2)))


def unstable_manifolds(
    held: Held, found: xr.Dataset, each: list[Eigenmodes | None], largest_state: float, steps: int = STEPS
) -> tuple[Real, Index]:
    """Follow both sides of every unstable manifold of one dimension.

    Curves are cut where abs(h_i) exceeds `largest_state`, and followed for `steps` where they do not come to rest. Of
    those that lead to no stable fixed point, as into a chaotic set, the first √n times `largest_state` are kept.

    Returns
    -------
    curves : ndarray, shape (fixed_point, side, iteration, state)
        From the fixed point on; NaN where one real direction alone does not grow.
    leads_to : ndarray of int, shape (fixed_point, side)
        The number of the stable fixed point where they end, −1 where at none.

    Notes
    -----
    With r the unit eigenvector of μ, the points h* ± ε r μ^{2j/m}, j = 0 … m − 1, lie between a start and its second
    image; their second images in turn trace the curve on. Two steps, since one changes sides where μ < 0. Of a flow,
    e^{λ Δt} is the multiplier of a step Δt of Runge and Kutta's method.

    References
    ----------
    Krauskopf and Osinga, "Growing 1D and quasi-2D unstable manifolds of maps", J. Comput. Phys. 146 (1998).
    """
    states, values, errors = (found[name].values for name in ("fixed_point_state", "eigenvalue", "eigenvalue_error"))
    curves, leads_to = np.full((len(states), 2, KEPT, states.shape[1]), np.nan), np.full((len(states), 2), -1)
    isolated = found["status"].values == "fixed point"
    alone = isolated & (np.abs(_excess(found)) > errors).all(axis=1) & (_grow(found).sum(axis=1) == 1)
    modes = {point: one for point, one in enumerate(each) if one is not None and alone[point] and one.resolved[-1]}
    if not modes:
        return curves, leads_to
    chosen = np.array(list(modes))
    dt = time_step(held, torch.as_tensor(states)) if held.is_flow else 0.0
    leading = [values[point, _grow(found)[point]][0] for point in chosen]
    moduli = np.exp(dt * np.real(leading)) if held.is_flow else np.abs(leading)
    count = int(np.clip(np.ceil(2 * np.log(moduli.max()) / np.log(APART)), 1, MOST_POINTS))
    first = OFF * (1 + np.linalg.norm(states[chosen], axis=1))
    offsets = (first * moduli ** (2 * np.arange(count)[:, None] / count)).T[..., None] * np.array(
        [one.right[-1:].real for one in modes.values()]
    )
    starts = states[chosen, None, None] + np.stack([offsets, -offsets], axis=1)
    noted, ends = _followed(step_of(held, dt), starts.reshape(-1, *starts.shape[2:]), largest_state, steps)
    stable = np.flatnonzero((found["stable"].values == 1) & isolated)
    for number, (curve, end) in enumerate(zip(noted, ends, strict=True)):
        point, side = chosen[number // 2], number % 2
        apart = np.linalg.norm(states[stable] - end, axis=1)
        if len(stable) and apart.min() <= NEAR * (1 + np.linalg.norm(end)):
            leads_to[point, side] = stable[apart.argmin()]
        longest = np.inf if leads_to[point, side] >= 0 else largest_state * states.shape[1] ** 0.5
        curves[point, side] = evenly(np.concatenate([states[point][None], curve]), KEPT, longest)
    return curves, leads_to


def _followed(step: Step, starts: Real, largest_state: float, steps: int) -> tuple[list[Real], Real]:
    """Return the points of each curve in their order, (k, state), and where the orbit of the first ends."""

    def work(some: slice) -> tuple[list[Real], Real]:
        h = torch.tensor(starts[some])
        last, noted = h.clone(), [[curve] for curve in h]
        for taken in range(0, steps, 2):
            moved = step(step(h.flatten(0, 1))).reshape(h.shape)
            inside = (moved.abs() <= largest_state).all(dim=-1).all(dim=-1)[:, None, None]
            before, h = h, torch.where(inside, moved, h)
            size = 1 + h.norm(dim=-1)
            far = ((h - last).norm(dim=-1) > NOTED * size).any(dim=-1)
            for number in far.nonzero()[:, 0].tolist():
                noted[number].append(h[number])
            last = torch.where(far[:, None, None], h, last)
            if taken % LOOK == 0 and ((h - before).norm(dim=-1) <= SETTLED * size).all():
                break
        return [torch.cat([*points, end]).numpy() for points, end in zip(noted, h, strict=True)], h[:, 0].numpy()

    return in_threads(work, len(starts), KEPT * starts[0].nbytes, 1)


def evenly(curve: Real, count: int, longest: float) -> Real:
    """Return `count` points at even distances along a polygon (k, state), up to a length of `longest`."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    wanted = np.linspace(0, min(along[-1], longest), count)
    return np.stack([np.interp(wanted, along, coordinate) for coordinate in curve.T], axis=1)
