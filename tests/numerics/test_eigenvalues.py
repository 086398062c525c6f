"""Eigenvalues and their errors against mpmath's of the matrix as stored, in 60 digits and more."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from spectra import DEFECTIVE, DIGITS, FAMILIES, MORE_DIGITS, distances, exact, skewed

from dynlab.numerics.eigenvalues import approximate_eigenvalues, eigenvalues

SIZES = [1, 2, 3, 5, 7]
ROUNDING = 2.0**-53
OF_TRUTH = 1e-40  # times the norm: what mpmath leaves, where an eigenvalue is known without error


def paired(found, true, size):
    """Whether a pairing is within the errors; each value's distance from the true one nearest to all, and which."""
    apart = distances(found.values, true)
    allowed = found.errors[:, None] + OF_TRUTH * size
    rows, columns = linear_sum_assignment(apart > allowed)
    within = (apart <= allowed)[rows, columns].all()
    rows, columns = linear_sum_assignment(apart)
    return within, apart[rows, columns], columns


def moved(matrix, true):
    """How far a change of every entry by about one rounding of itself moves each of the eigenvalues."""
    change = ROUNDING * np.abs(matrix) * np.random.default_rng(len(matrix)).standard_normal(matrix.shape)
    with mpmath.workdps(DIGITS):
        other = exact(mpmath.matrix(matrix.tolist()) + mpmath.matrix(change.tolist()))
    apart = distances(other, true).T
    return apart[linear_sum_assignment(apart)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_eigenvalue_is_within_its_error_and_the_error_says_something(family):
    """An error is held against the distance from the truth, or of what is defective against what a rounding does.

    How near an eigenvalue that comes m times was computed is luck: it is somewhere within the m-th root of a rounding.
    """
    generator, shares = np.random.default_rng(3), []
    digits = MORE_DIGITS if family in DEFECTIVE else 60
    for n in [*SIZES, 4]:
        matrix = FAMILIES[family](generator, n)
        found = eigenvalues(matrix)
        size = np.linalg.norm(matrix, 2)
        true = exact(matrix, digits)
        within, off, columns = paired(found, true, size)
        assert within
        if family in DEFECTIVE:
            off = np.maximum(off, moved(matrix, true)[columns])
        shares.extend(found.errors / np.maximum(off, ROUNDING * size).clip(1e-320))
    assert np.median(shares) <= 100
    assert np.mean(np.array(shares) <= 1e5) >= (0.6 if family in DEFECTIVE else 0.95)


def changes(generator, matrix, error):
    """Of norm `error`: at random, of rank 1, and along an eigenvalue's own direction, which moves it farthest."""
    n = len(matrix)
    right = np.linalg.eig(matrix)[1]
    left = np.linalg.pinv(right)
    worst = int(generator.integers(n))
    for change in (
        generator.standard_normal((n, n)),
        np.outer(*generator.standard_normal((2, n))),
        np.outer(left[worst].conj(), right[:, worst].conj()).real,
    ):
        yield error * change / max(np.linalg.norm(change, 2), 1e-300)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_error_of_the_matrix_moves_an_eigenvalue_farther_than_is_said(family):
    generator, tightness = np.random.default_rng(5), []
    for n in SIZES:
        matrix = FAMILIES[family](generator, n)
        size = np.linalg.norm(matrix, 2) or 1.0
        error = size * 10.0 ** generator.uniform(-9, -2)
        found, farthest = eigenvalues(matrix, error), np.zeros(n)
        for change in changes(generator, matrix, (1 - 1e-9) * error):
            moved = eigenvalues(matrix + change)
            apart = np.abs(found.values[:, None] - moved.values)
            allowed = found.errors[:, None] + moved.errors
            rows, columns = linear_sum_assignment(apart > allowed)
            assert (apart <= allowed)[rows, columns].all()
            rows, columns = linear_sum_assignment(apart)
            farthest = np.maximum(farthest, apart[rows, columns])
        tightness.extend(found.errors / np.maximum(farthest, 1e-3 * error))
    assert np.median(tightness) < 1000


def test_matrices_that_are_not_finite_are_nan_and_others_beside_them_are_not():
    stack = np.stack([np.eye(3), np.full((3, 3), np.nan), np.diag([1.0, np.inf, 2.0]), 2 * np.eye(3)])
    found = eigenvalues(stack.reshape(2, 2, 3, 3))
    for part in found:
        assert np.isnan(part).all(axis=-1).tolist() == [[False, True], [True, False]]
    assert np.isnan(approximate_eigenvalues(stack)).all(axis=-1).tolist() == [False, True, True, False]


def test_the_order_does_not_hang_on_last_digits():
    """± ties, pairs, and a multiple eigenvalue, in any basis, with the last digits of the entries changed."""
    truth = np.array([2j, -2j, 1.5, -1.5, 1.2 + 0.5j, 1.2 - 0.5j, -1.2 + 0.5j, -1.2 - 0.5j, 0.3, -0.3])
    pairs = [np.array([[z.real, -z.imag], [z.imag, z.real]]) for z in (2j, 1.2 + 0.5j, -1.2 + 0.5j)]
    blocks = np.diag([1.5, -1.5, 0.3, -0.3] + [0.0] * 6)
    for place, pair in zip((4, 6, 8), pairs, strict=True):
        blocks[place : place + 2, place : place + 2] = pair
    for seed in range(4):
        generator = np.random.default_rng(seed)
        matrix = skewed(generator, blocks, 0.5) * (1 + 1e-15 * generator.standard_normal((10, 10)))
        np.testing.assert_allclose(eigenvalues(matrix).values, truth, atol=1e-12)
        np.testing.assert_allclose(approximate_eigenvalues(matrix), truth, atol=1e-12)
