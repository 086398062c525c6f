"""Block triangular matrices taken apart, against the whole matrix and against mpmath's eigenvectors."""

import numpy as np
import pytest
from spectra import distances, exact, rotations

from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.eigenvectors import eigenmodes

SIZES = [(3, 2), (2, 1, 3)]
FAMILIES = {
    "random": lambda generator, n: generator.standard_normal((n, n)),
    "pairs": rotations,
    "dead units": lambda generator, n: 10.0 ** generator.uniform(-30, 0, (n, 1)) * generator.standard_normal((n, n)),
}


def triangular(generator, sizes, family):
    """Random below blocks of a family along the diagonal."""
    n = sum(sizes)
    matrix, start = np.tril(generator.standard_normal((n, n))), 0
    for size in sizes:
        part = slice(start, start := start + size)
        matrix[part, part] = FAMILIES[family](generator, size)
    return matrix


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_eigenvalues_are_within_their_errors_and_no_less_sharp_than_those_of_the_whole(family, sizes):
    matrix = triangular(np.random.default_rng(2), sizes, family)
    found, whole = eigenvalues(matrix, blocks=sizes), eigenvalues(matrix)
    assert (distances(found.values, exact(matrix, 300)).min(axis=1) <= found.errors + 1e-40).all()
    assert (found.errors <= 10 * whole.errors.max() + 1e-15 * np.abs(matrix).max()).all()


def test_an_eigenvalue_that_two_blocks_share_is_as_sharp_as_in_each_and_has_no_condition():
    """((½, 0), (1, ½)) is defective: its eigenvalue is known exactly all the same, since its zero is no rounding."""
    found = eigenvalues(np.array([[0.5, 0.0], [1.0, 0.5]]), blocks=(1, 1))
    assert found.values.tolist() == [0.5, 0.5]
    assert (found.errors < 1e-15).all()
    assert np.isinf(found.conditions).all()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_eigenvectors_from_the_blocks_are_those_of_the_whole(sizes):
    matrix = triangular(np.random.default_rng(4), sizes, "random")
    n, size = len(matrix), np.abs(matrix).max()
    known = eigenvalues(matrix, 1e-13 * np.abs(matrix), sizes)
    found = eigenmodes(matrix, known.errors, sizes, n)
    told = found.resolved
    assert told.any()
    left, right, values = found.left[told], found.right[told], found.values[told, None]
    lengths = np.linalg.norm(left, axis=1)
    np.testing.assert_allclose(right @ matrix.T, values * right, atol=1e-12 * size)
    assert (np.abs(left @ matrix - values * left).max(axis=1) <= 1e-12 * size * lengths).all()
    assert (np.abs(left @ right.T - np.eye(len(left))) <= 1e-11 * lengths[:, None]).all()
    whole = eigenmodes(matrix, eigenvalues(matrix, 1e-13).errors)
    np.testing.assert_allclose(found.conditions[told], whole.conditions[told], rtol=1e-6)
    np.testing.assert_allclose(np.abs((right.conj() * whole.right[told]).sum(axis=1)), 1, rtol=1e-10)
