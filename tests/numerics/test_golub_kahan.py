"""The largest singular value of large matrices, from products with vectors, against singular values that are known."""

import numpy as np
import pytest
import torch

from dynlab.numerics.golub_kahan import norm_bounds
from dynlab.numerics.singular_values import ALL_UP_TO, norm

N = 60
SPECTRA = {
    "equal": np.ones(N),
    "one of them larger": np.array([1.5] + [1.0] * (N - 1)),
    "two nearly equal": np.array([1.0, 1 - 1e-9] + [0.5] * (N - 2)),
    "graded": 10.0 ** -np.arange(0, 3 * N, 3.0),
    "crowded at the top": 1 - np.linspace(0, 1, N) ** 4,
}


def products(matrix):
    """Of many matrices with vectors, with a scale that their logarithms carry."""
    return (
        lambda u: (matrix @ u, torch.full_like(u[:, 0], -2000.0)),
        lambda v: (matrix.mT @ v, torch.full_like(v[:, 0], -2000.0)),
    )


def bounds_of(values, samples, vectors=4, failing=1e-9, width=0.05, seed=0):
    generator = torch.Generator().manual_seed(seed)
    bases = torch.randn(2, samples, N, N, generator=generator, dtype=torch.float64)
    left, right = torch.linalg.qr(bases).Q
    matrix = (left * torch.from_numpy(values)) @ right.mT
    start = torch.randn(samples, N, vectors, generator=generator, dtype=torch.float64)
    return matrix, norm_bounds(*products(matrix), start, failing, width)


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_the_norm_lies_between_its_bounds_and_they_are_close(spectrum):
    values = SPECTRA[spectrum]
    matrix, (lower, vector) = bounds_of(values, 40)
    truth = np.log(values[0]) - 2000
    assert (lower <= truth + 1e-11).all()
    assert (lower + 0.05 >= truth - 1e-11).all()
    image = torch.linalg.vector_norm(matrix @ vector.unsqueeze(-1), dim=(1, 2)).log().numpy() - 2000
    assert image == pytest.approx(lower, abs=1e-9)


def test_an_upper_bound_fails_as_rarely_as_stated():
    """At a probability that can be counted, of single vectors and few products."""
    failing, count = 0.05, 400
    for spectrum in ("one of them larger", "crowded at the top"):
        _, (lower, _) = bounds_of(SPECTRA[spectrum], count, vectors=1, failing=failing, width=0.4)
        failed = (lower + 0.4 < np.log(SPECTRA[spectrum][0]) - 2000 - 1e-11).sum()
        assert failed <= failing * count + 4 * np.sqrt(failing * count)


LARGE = ALL_UP_TO + 44
KINDS = {
    "orthogonal": lambda rng: np.linalg.qr(rng.standard_normal((LARGE, LARGE)))[0],
    "nilpotent": lambda rng: np.eye(LARGE, k=1),
    "nearly equal": lambda rng: np.diag([1, 1 - 1e-13, 1 - 1e-9, *rng.uniform(0, 1, LARGE - 3)]),
    "graded": lambda rng: np.geomspace(1, 1e-200, LARGE)[:, None] * rng.standard_normal((LARGE, LARGE)),
    "huge": lambda rng: 1e200 * rng.standard_normal((LARGE, LARGE)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_norm_of_a_large_matrix_is_the_largest_of_all_singular_values(kind):
    matrix = KINDS[kind](np.random.default_rng(0))
    assert norm(matrix) == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-9)
