"""Eigenvalues of graded matrices: the small ones keep their digits, in mpmath's 600."""

import numpy as np
import pytest
from spectra import MORE_DIGITS, distances, exact

from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.graded_discs import graded_discs

RELATIVE = 1e-8  # of every eigenvalue, of matrices whose entries are known to 1e-15


@pytest.mark.parametrize("n", [2, 5, 9])
@pytest.mark.parametrize("decades", [10, 25, 40])
@pytest.mark.parametrize("side", ["rows", "columns"])
def test_small_eigenvalues_of_saturated_rows_and_columns(n, decades, side):
    generator = np.random.default_rng([n, decades])
    slopes = 10.0 ** -np.linspace(0, decades, n)
    weights = generator.standard_normal((n, n))
    matrix = slopes[:, None] * weights if side == "rows" else weights * slopes
    matrix = matrix[np.ix_(*[generator.permutation(n)] * 2)]
    found = eigenvalues(matrix, 1e-15 * np.abs(matrix))
    true = exact(matrix, MORE_DIGITS)
    off = distances(found.values, true)
    own = (off / np.array([float(abs(value)) for value in true])).argmin(axis=1)
    assert sorted(own) == list(range(n))
    off = off[np.arange(n), own]
    assert (off <= found.errors).all()
    assert (found.errors <= RELATIVE * np.abs(found.values)).all()


def test_a_dead_unit_is_an_exact_zero_and_its_blocks_keep_their_digits():
    matrix = np.array([[0.5, 1e8, 3.0], [0.0, 0.0, 0.0], [0.0, 1e-9, 1e-40]])
    found = eigenvalues(matrix, np.zeros((3, 3)))
    assert found.values.tolist() == [0.5, 1e-40, 0]
    assert found.errors.tolist() == [0, 0, 0]


@pytest.mark.parametrize("error", [np.inf, np.nan])
def test_what_is_not_known_is_not_enclosed(error):
    assert graded_discs(np.eye(2), np.full((2, 2), error)) is None
