"""Bounds of norms from a basis and random vectors beside it, against singular values that are known."""

import numpy as np
import pytest
import torch

from dynlab.numerics.deflated_norms import deflated_norms

N, BASIS, PROBES = 60, 8, 32
DECAYING = 0.7 ** np.arange(N)
SPECTRA = {
    "equal": np.ones(N),
    "decaying": DECAYING,
    "graded": 10.0 ** -np.arange(0, 3 * N, 3.0),
    "rank one": np.array([1.0] + [0.0] * (N - 1)),
}


def norms_of(values, samples, turned, failing=1e-9, basis=BASIS, wrong=0.0, probes=PROBES):
    """Of matrices with such singular values, along first left singular vectors that are turned by so much."""
    generator = torch.Generator().manual_seed(0)

    def drawn(columns):
        return torch.randn(samples, N, columns, generator=generator, dtype=torch.float64)

    left, right = (torch.linalg.qr(drawn(N)).Q for _ in range(2))
    matrix = (left * torch.from_numpy(values)) @ right.mT
    kept = torch.linalg.qr(left[..., :basis] + turned * drawn(basis)).Q
    vectors = drawn(probes)
    vectors = torch.cat([kept, vectors - kept @ (kept.mT @ vectors)], dim=-1)
    images = matrix.mT @ vectors
    noise = drawn(basis + probes)
    images = images + wrong * noise / torch.linalg.vector_norm(noise, dim=(1, 2), keepdim=True)
    return deflated_norms(images, basis, torch.full((samples,), wrong, dtype=torch.float64), failing)


@pytest.mark.parametrize("wrong", [0.0, 0.05])
@pytest.mark.parametrize("turned", [0.0, 0.03, 10.0], ids=["of it", "near it", "any"])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_both_norms_lie_within_their_bounds(spectrum, turned, wrong):
    values = SPECTRA[spectrum]
    found = norms_of(values, 100, turned, wrong=wrong)
    assert (found.log_lower <= np.log(values[0]) + 1e-11).all()
    assert (found.log_upper >= np.log(values[0]) - 1e-11).all()
    assert (np.abs(found.log_frobenius - np.log(np.linalg.norm(values))) <= found.frobenius_error + 1e-11).all()


@pytest.mark.parametrize("turned, width", [(0.0, 1e-6), (0.001, 0.02)])
def test_the_bounds_are_close_where_the_basis_has_the_first_singular_vectors(turned, width):
    found = norms_of(DECAYING, 100, turned)
    assert (found.log_upper - found.log_lower <= width).all()
    assert (found.frobenius_error <= 0.02).all()


def test_a_bound_fails_as_rarely_as_stated():
    """At a probability that can be counted, of a basis that holds nothing of the first singular vector."""
    failing, count = 0.3, 3000
    values = np.array([1.0] + [1e-3] * (N - 1))
    found = norms_of(values, count, 1e6, failing=failing, basis=1, probes=2)
    failed = (found.log_upper < -1e-11).sum()
    assert failed <= failing * count + 4 * np.sqrt(failing * count)


def test_what_is_not_finite_is_not_known():
    images = torch.ones(2, N, BASIS + PROBES, dtype=torch.float64)
    images[0, 3, 1] = torch.nan
    found = deflated_norms(images, BASIS, torch.zeros(2, dtype=torch.float64), 1e-9)
    assert np.isnan(found.log_upper).tolist() == [True, False]
    assert np.isnan(found.frobenius_error).tolist() == [True, False]
