"""Periodic orbits: how long they are, from an orbit that comes to them, refined by Newton's method on F^p(h) − h."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.basins.ends import SETTLED, carried, tail
from dynlab.jacobians import finite_or_zero, held_matrices
from dynlab.kinks import some_at_kink
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.kinds import kind_of_map
from dynlab.numerics.roots import tolerance
from dynlab.systems.held import Held

LONGEST = 1024  # steps: the longest period that an orbit is searched for
NEARLY = 0.01  # of the orbit's width: an orbit that comes back so nearly may be on its way to a cycle
APPROACHES = 0.5  # what it misses by has become this part of what it was half the orbit before, or less
TRIED = 4  # such periods, the shortest ones, are tried
ITERATIONS = 8  # of Newton's method, from an orbit that all but repeats
SINGULAR = 1e-10  # of the largest singular value of the derivative: what is smaller leads along a continuum of cycles
BLOCK = 2**21  # entries of Jacobians that are found at once
UNSURE = (
    4  # times residual / smallest singular value of J − I: so far off the root may be; of a double root it is twice
)
FARTHEST = 1e-5  # relative to 1 + ‖h‖: rounding leaves a root of order three no farther off (its cube root)
ROUNDINGS = 4  # times n p ε |J_p| … |J_1|: what rounding leaves in the product of p Jacobians


class Cycle(NamedTuple):
    """A periodic orbit.

    Attributes
    ----------
    points : ndarray, shape (p, state)
    residual : float
        ‖F^p(h) − h‖₂, in the system's own unit.
    stable : int
        1, 0, −1 undecided.
    modulus, error : float
        Of the largest multiplier of F^p, and the error of that multiplier.
    neutral : bool
        Whether some multiplier is not told from 1, so that other cycles may lie at any distance.
    """

    points: Real
    residual: float
    stable: int
    modulus: float
    error: float
    neutral: bool


def periods(orbit: Real) -> tuple[int, list[int]]:
    """After how many steps an orbit repeats, 0 where it does not, and periods of cycles that it may be coming to.

    Parameters
    ----------
    orbit : ndarray, shape (m, n)
        Consecutive states.
    """
    last = orbit[-1]
    longest = min(LONGEST, len(orbit) // 4 - 1)
    missed = np.linalg.norm(orbit[-1 - longest : -1][::-1] - last, axis=1)  # by what it misses itself p steps before
    size, width = 1 + float(np.linalg.norm(last)), float(np.ptp(orbit, axis=0).max())
    for p in (np.flatnonzero(missed <= SETTLED * size) + 1).tolist():
        # not only just now: chaos may pass by a point that one step leads it to, and rest there for many steps
        if _misses(orbit[-max(2 * p, len(orbit) // 4) - 1 :], p) <= SETTLED * size:
            return p, []
    coming: list[int] = []
    half = len(orbit) // 2
    for p in (np.flatnonzero(missed <= NEARLY * width) + 1).tolist():
        late, early = _misses(orbit[-2 * p - 1 :], p), _misses(orbit[half - 2 * p - 1 : half], p)
        if late <= APPROACHES * early and late <= NEARLY * width:
            coming.append(p)
    return 0, coming[:TRIED]


def _misses(states: Real, p: int) -> float:
    return float(np.linalg.norm(states[p:] - states[:-p], axis=1).max())


def cycles(held: Held, p: int, starts: Real) -> list[Cycle | None]:
    """The cycle of least period p that Newton's method leads to from each start (k, n), None where there is none."""
    h = torch.as_tensor(starts).to(held.input)
    with torch.no_grad():
        for _ in range(ITERATIONS):
            moved, product, _ = carried_with_jacobian(held, p, h)
            step = torch.linalg.pinv(finite_or_zero(product - torch.eye(h.shape[-1], dtype=h.dtype)), rtol=SINGULAR)
            h = h - (step @ (moved - h).unsqueeze(-1)).squeeze(-1).nan_to_num(0.0, 0.0, 0.0)
        moved, product, sizes = carried_with_jacobian(held, p, h)
    missed = moved - h
    is_root = (missed.norm(dim=-1) <= tolerance(h)) & torch.isfinite(product).all(-1).all(-1)
    found: list[Cycle | None] = [None] * len(h)
    places = is_root.nonzero()[:, 0]
    if len(places):
        known = (h, product, sizes, (held.unit * missed).norm(dim=-1))
        judged = _judged(held, p, *(part[places].numpy() for part in known))
        for place, cycle in zip(places.tolist(), judged, strict=True):
            found[place] = cycle
    return found


def carried_with_jacobian(held: Held, p: int, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """F^p(h) of states (k, n), the product of the Jacobians on the way, and that of their absolute values."""
    k, n = h.shape
    product = torch.eye(n, dtype=h.dtype).expand(k, n, n)
    sizes = product
    at_once = max(1, BLOCK // (k * n * n))  # steps whose Jacobians are found in one call
    for begin in range(0, p, at_once):
        visited = [h]
        for _ in range(begin, min(begin + at_once, p)):
            visited.append(held.moved(visited[-1]))
        h = visited.pop()
        for matrix in held_matrices(held, torch.cat(visited)).unflatten(0, (-1, k)):
            product, sizes = matrix @ product, matrix.abs() @ sizes
    return h, product, sizes


def _judged(held: Held, p: int, roots: Real, products: Real, sizes: Real, residuals: Real) -> list[Cycle | None]:
    """The cycles through `roots` (k, n) of F^p(h) − h; None where one repeats earlier, as a fixed point does."""
    points = np.concatenate([roots[:, None], tail(held, roots, p - 1)], axis=1)
    n, eps, size = points.shape[2], float(np.finfo(np.float64).eps), np.linalg.norm(roots, axis=1)
    again = np.linalg.norm(points[:, 1:] - points[:, :1], axis=2).min(axis=1, initial=np.inf) <= SETTLED * (1 + size)
    _, singular, directions = np.linalg.svd(products - np.eye(n))
    missed = np.linalg.norm(carried(held, points.reshape(-1, n), p).reshape(points.shape) - points, axis=2).max(axis=1)
    uncertain = UNSURE * (missed + eps * size) / np.maximum(singular[:, -1], eps)
    off = np.minimum(uncertain, FARTHEST * (1 + size))[:, None] * directions[:, -1]
    with torch.no_grad():
        beside = carried_with_jacobian(held, p, torch.from_numpy(roots + off))[1].numpy()
    errors = ROUNDINGS * n * p * eps * sizes + np.abs(beside - products)
    parts = zip(again, points, residuals, products, errors, strict=True)
    return [None if repeats else _cycle(held, *known) for repeats, *known in parts]


def _cycle(held: Held, points: Real, residual: float, matrix: Real, error: Real) -> Cycle:
    values, errors, _ = eigenvalues(matrix, error)
    if some_at_kink(held, points):  # the product is that of one side
        return Cycle(points, float(residual), -1, float(abs(values[0])), np.inf, True)
    return Cycle(
        points,
        float(residual),
        kind_of_map(values, errors).stable,
        float(abs(values[0])),
        float(errors[0]),
        bool((np.abs(values - 1) <= errors).any()),
    )
