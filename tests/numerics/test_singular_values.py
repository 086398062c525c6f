"""The norm of a large matrix by products with vectors is the largest of all singular values."""

import numpy as np
import pytest

from dynlab.numerics import singular_values
from dynlab.numerics.singular_values import norm

N = singular_values.ALL_UP_TO + 44


def _matrix(kind):
    rng = np.random.default_rng(0)
    return {
        "random": lambda: rng.standard_normal((N, N)),
        "identity": lambda: np.eye(N),
        "orthogonal": lambda: np.linalg.qr(rng.standard_normal((N, N)))[0],
        "of rank one": lambda: np.outer(rng.standard_normal(N), rng.standard_normal(N)),
        "nilpotent": lambda: np.eye(N, k=1),
        "nearly equal": lambda: np.diag([1, 1 - 1e-13, 1 - 1e-9, *rng.uniform(0, 1, N - 3)]),
        "graded": lambda: np.geomspace(1, 1e-200, N)[:, None] * rng.standard_normal((N, N)),
        "triangular": lambda: np.tril(np.ones((N, N))),
    }[kind]()


KINDS = ("random", "identity", "orthogonal", "of rank one", "nilpotent", "nearly equal", "graded", "triangular")


@pytest.mark.parametrize("scale", [1.0, 1e200])
@pytest.mark.parametrize("kind", KINDS)
def test_the_norm_of_a_large_matrix_is_the_largest_of_all_singular_values(kind, scale):
    matrix = _matrix(kind)
    assert norm(scale * matrix) == pytest.approx(scale * np.linalg.norm(matrix, 2), rel=1e-9)
