"""The least distance between two square matrices over all orthonormal bases of one of them."""

from typing import NamedTuple

import numpy as np

from dynlab.numerics.arrays import Real

SETTLED = 1e-12  # size of the gradient below which an ascent has ended
ASCENT_STEPS = 150
FIRST_STEP, SMALLEST_STEP, LARGEST_STEP = 0.25, 1e-3, 1e2


class Similarity(NamedTuple):
    """min over orthogonal C of ‖A − C B Cᵀ‖_F, and the same as an angle between A and C B Cᵀ.

    Attributes
    ----------
    distance, angle : ndarray, shape (...)
        At the best C that was found: bounds from above.
    distance_bound, angle_bound : ndarray, shape (...)
        Bounds from below, which hold for every C.
    """

    distance: Real
    angle: Real
    distance_bound: Real
    angle_bound: Real


def orthogonal_similarity(first: Real, second: Real, starts: int, seed: int = 0) -> Similarity:
    """Compare matrices up to an orthogonal change of basis.

    Parameters
    ----------
    first, second : ndarray, shape (..., r, r)
        Not 0.
    starts : int
        Ascents from orthogonal matrices that `seed` draws, besides those from matched eigenvectors, which find the same
        distance in every basis.

    Notes
    -----
    The inner product ⟨A, C B Cᵀ⟩ is maximised. What multiples of 1 add to it no C changes, so they are set aside. Each
    ascent follows the gradient by steps of Barzilai and Borwein, back to an orthogonal matrix by its polar factor. No
    distance is smaller than that of the ordered eigenvalues of both symmetric parts (Hoffman and Wielandt) together
    with that of the ordered singular values of both skew parts, nor than that of the whole's singular values (Mirsky).
    """
    a, b = _traceless(first), _traceless(second)
    begin = np.concatenate([_matched(a, b), _drawn(first.shape[-1], starts, seed, a.shape[:-2])], axis=-3)
    found = _ascended(a[..., None, :, :], b[..., None, :, :], begin)
    image = found @ second @ found.mT
    sizes = [np.linalg.norm(each, axis=(-2, -1), keepdims=True) for each in (first, second)]
    sides = first / sizes[0], image / sizes[1]
    distance = np.linalg.norm(first - image, axis=(-2, -1))
    angle = _angle(np.linalg.norm(sides[0] - sides[1], axis=(-2, -1)))
    least = _least(first, second), _angle(_least(first / sizes[0], second / sizes[1]))
    return Similarity(distance, angle, np.minimum(least[0], distance), np.minimum(least[1], angle))


def _angle(chord: Real) -> Real:
    """Return the angle between two of norm 1 at that distance, without the cancellation of an arc cosine near 0."""
    return np.asarray(2 * np.arcsin(np.minimum(chord / 2, 1)))


def _traceless(matrices: Real) -> Real:
    n = matrices.shape[-1]
    return matrices - np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / n * np.eye(n)


def _least(a: Real, b: Real) -> Real:
    """A bound from below on ‖A − C B Cᵀ‖_F over all orthogonal C, shape (...)."""
    symmetric = [np.linalg.eigvalsh((each + each.mT) / 2) for each in (a, b)]
    skew = [np.linalg.svd((each - each.mT) / 2, compute_uv=False) for each in (a, b)]
    whole = [np.linalg.svd(each, compute_uv=False) for each in (a, b)]
    parts = np.sum((symmetric[0] - symmetric[1]) ** 2 + (skew[0] - skew[1]) ** 2, axis=-1)
    return np.asarray(np.sqrt(np.maximum(parts, np.sum((whole[0] - whole[1]) ** 2, axis=-1))))


def _matched(a: Real, b: Real) -> Real:
    """Orthogonal matrices that take eigenvectors of symmetric matrices made of B to those of A, (..., start, r, r)."""
    made = [
        [(each + each.mT) / 2, each @ each.mT, each.mT @ each, (each @ each + (each @ each).mT) / 2] for each in (a, b)
    ]
    found = []
    for of_a, of_b in zip(*made, strict=True):
        p, q = np.linalg.eigh(of_a)[1], np.linalg.eigh(of_b)[1]
        products = (p.mT @ a @ p) * (q.mT @ b @ q)
        # signs d for which Σ_ij d_i d_j m_ij is large: those of the leading eigenvector
        signs = np.where(np.linalg.eigh(products + products.mT)[1][..., -1] < 0, -1.0, 1.0)
        found.append((p * signs[..., None, :]) @ q.mT)
    return np.stack(found, axis=-3)


def _drawn(n: int, starts: int, seed: int, lead: tuple[int, ...]) -> Real:
    """Orthogonal matrices at random, every other one a reflection, shape (*lead, starts, n, n)."""
    turned = np.linalg.qr(np.random.default_rng(seed).standard_normal((starts, n, n)))[0]
    turned[1::2, 0] *= -1
    return np.broadcast_to(turned, (*lead, starts, n, n))


def _ascended(a: Real, b: Real, start: Real) -> Real:
    """The best orthogonal C on the way up from each start, and of those the best, shape (..., r, r)."""
    c, value = start, _product(a, b, start)
    best, highest = c, value
    before, slope_before = c, np.zeros_like(c)
    for _ in range(ASCENT_STEPS):
        slope = a @ c @ b.mT + a.mT @ c @ b
        slope = (slope - c @ slope.mT @ c) / 2
        if np.abs(slope).max(initial=0) < SETTLED:
            break
        moved, changed = c - before, slope - slope_before
        cross = np.abs((moved * changed).sum(axis=(-2, -1)))
        step = np.divide((moved**2).sum(axis=(-2, -1)), cross, out=np.full_like(cross, FIRST_STEP), where=cross > 0)
        step = np.clip(step, SMALLEST_STEP, LARGEST_STEP)
        before, slope_before = c, slope
        left, _, right = np.linalg.svd(c + step[..., None, None] * slope)
        c = left @ right
        value = _product(a, b, c)
        best = np.where((value > highest)[..., None, None], c, best)
        highest = np.maximum(value, highest)
    chosen = highest.argmax(axis=-1)[..., None, None, None]
    return np.take_along_axis(best, chosen, axis=-3)[..., 0, :, :]


def _product(a: Real, b: Real, c: Real) -> Real:
    return np.asarray((a * (c @ b @ c.mT)).sum(axis=(-2, -1)))
