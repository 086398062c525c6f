"""The norm of a large matrix by products with vectors is the largest of all singular values."""

import numpy as np
import pytest

from dynlab.numerics import singular_values
from dynlab.numerics.singular_values import norm

N = singular_values.ALL_UP_TO + 44


KINDS = {
    "random": lambda rng: rng.standard_normal((N, N)),
    "orthogonal": lambda rng: np.linalg.qr(rng.standard_normal((N, N)))[0],
    "of rank one": lambda rng: np.outer(rng.standard_normal(N), rng.standard_normal(N)),
    "nilpotent": lambda rng: np.eye(N, k=1),
    "nearly equal": lambda rng: np.diag([1, 1 - 1e-13, 1 - 1e-9, *rng.uniform(0, 1, N - 3)]),
    "graded": lambda rng: np.geomspace(1, 1e-200, N)[:, None] * rng.standard_normal((N, N)),
    "huge": lambda rng: 1e200 * rng.standard_normal((N, N)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_norm_of_a_large_matrix_is_the_largest_of_all_singular_values(kind):
    matrix = KINDS[kind](np.random.default_rng(0))
    assert norm(matrix) == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-9)
