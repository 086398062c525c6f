"""Spectral radii lie between their bounds from powers: known ones, defective, and of perturbed matrices."""

import numpy as np
import pytest

from dynlab.numerics.spectral_radius import SQUARINGS, WIDTH, by_powers, spectral_radii


def similar(diagonal, seed=0):
    """A matrix of integers with that triangular form's eigenvalues, exactly: a unimodular similarity."""
    n = len(diagonal)
    generator = np.random.default_rng(seed)
    lower = np.tril(generator.integers(-1, 2, (n, n)), -1) + np.eye(n, dtype=int)
    inverse = np.rint(np.linalg.inv(lower)).astype(int)
    assert (lower @ inverse == np.eye(n)).all()
    return (lower @ (np.diag(diagonal) + np.triu(generator.integers(-2, 3, (n, n)), 1)) @ inverse).astype(float)


DEFECTIVE = np.eye(8, k=1) * 100
TURNING = np.array([[0.6, -0.8], [0.8, 0.6]])
DEAD = np.diag([0.0, 0.0, 3.0, 0.0]) + np.eye(4, k=2)
KNOWN = {
    "similar": (similar([7, -3, 2, 1, 0]), 7.0),
    "negative": (similar([-9, 5, 5, 1]), 9.0),
    "defective": (DEFECTIVE + 2 * np.eye(8), 2.0),
    "nilpotent": (DEFECTIVE, 0.0),
    "turning": (TURNING, 1.0),
    "of no trace": (np.diag([1.0, -1.0]), 1.0),
    "cyclic": (np.roll(np.eye(5), 1, axis=0), 1.0),
    "dead": (DEAD, 3.0),
    "zero": (np.zeros((3, 3)), 0.0),
    "graded": (np.array([[1.0, 1e12], [0.0, 0.5]]), 1.0),
    "one": (np.array([[-0.25]]), 0.25),
}


@pytest.mark.parametrize("scale", [0, 900, -900, -1060])
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_radius_is_between_its_bounds(name, scale):
    matrix, radius = KNOWN[name]
    lower, upper = by_powers(np.ldexp(matrix, scale), np.zeros_like(matrix))
    assert lower <= np.ldexp(radius, scale) <= upper


@pytest.mark.parametrize("name", ["similar", "negative", "turning", "dead", "one"])
def test_the_bounds_are_near_each_other(name):
    matrix, _ = KNOWN[name]
    lower, upper = by_powers(matrix, np.zeros_like(matrix))
    assert upper <= WIDTH * lower


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_for_what_an_error_may_make_of_a_matrix(seed):
    """Random ones, and ones whose eigenvalues move far: Jordan blocks with a rounding in their corner."""
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((12, 12)) if seed % 2 else DEFECTIVE / 50 + 0.5 * np.eye(8)
    error = 10.0 ** -generator.integers(2, 14) * np.abs(generator.standard_normal(matrix.shape))
    lower, upper = by_powers(matrix, error)
    moved = matrix + error * generator.choice([-1, 1], (200, *matrix.shape))
    radii = np.abs(np.linalg.eigvals(moved)).max(axis=-1)
    assert ((lower <= radii) & (radii <= upper)).all()


def test_rounding_of_the_powers_is_counted():
    """A strictly triangular matrix of 200 rows with entries of 1e3 above: the computed powers are all rounding."""
    generator = np.random.default_rng(0)
    basis = np.linalg.qr(generator.standard_normal((60, 60)))[0]
    matrix = basis @ (np.triu(generator.standard_normal((60, 60)), 1) * 1e3 + 1e-3 * np.eye(60)) @ basis.T
    lower, upper = by_powers(matrix, np.abs(matrix) * 1e-16 * 60)
    assert lower <= 1e-3 <= upper


@pytest.mark.parametrize("factor", [0.5, 0.9, 0.999999, 1.000001, 1.1, 4.0])
def test_the_limit_is_outside_of_the_bounds_unless_errors_reach_it(factor):
    blocks = [np.stack([similar([2, 1, 0]), similar([1, 1, 0])]), np.stack([similar([-4, 1], 1), similar([3, 1], 1)])]
    truth = np.array([4.0, 3.0])
    lower, upper, *by_power = spectral_radii(blocks, [np.zeros_like(block) for block in blocks], 4 * factor)
    other = spectral_radii(blocks, [np.zeros_like(block) for block in blocks], 3.99)
    np.testing.assert_array_equal(by_power, [other.power_lower, other.power_upper])
    assert ((lower <= truth) & (truth <= upper)).all()
    np.testing.assert_array_equal(lower > 4 * factor, truth > 4 * factor)
    np.testing.assert_array_equal(upper < 4 * factor, truth < 4 * factor)


def test_at_the_limit_the_error_decides():
    block = np.array([[[1.0, 0.5], [0.0, 0.25]]])
    (lower,), (upper,), *_ = spectral_radii([block], [np.full_like(block, 1e-12)], 1.0)
    assert 1 - 1e-10 < lower < 1 < upper < 1 + 1e-10


def test_what_is_not_known_is_not_bounded():
    block = np.stack([np.eye(2), np.full((2, 2), np.nan), np.eye(2)])
    error = np.stack([np.zeros((2, 2)), np.zeros((2, 2)), np.full((2, 2), np.inf)])
    lower, upper, *_ = spectral_radii([block], [error], 0.5)
    assert np.isnan([lower[1], upper[1]]).all()
    assert 0.9 < lower[0] <= 1 <= upper[0] < 1.1
    assert [lower[2], upper[2]] == [0, np.inf]


def test_squarings_end():
    """Of a matrix of 512 rows whose powers keep their norm and have no trace the bounds stay apart, and are true."""
    matrix = np.roll(np.eye(513), 1, axis=0)
    lower, upper = by_powers(matrix, np.zeros_like(matrix))
    assert lower <= 1 <= upper < 513 ** (1 / 2**SQUARINGS) * 1.01
