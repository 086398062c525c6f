"""Products in one scale: matrix, norms and singular values lie within their errors of mpmath's."""

import mpmath
import numpy as np
import pytest
import torch
from products import exact_product

from dynlab.numerics.plain_product import log_norms, plain_products, plain_singular_values

STEPS, N = 40, 6
ROUNDING = (N + 8) * 2.0**-53


def adversarial(kind):
    """Matrices (step, n, n) whose products are hard: each is stated in float64 exactly."""
    generator = np.random.default_rng(7)
    Q = np.linalg.qr(generator.standard_normal((STEPS, N, N)))[0]
    if kind == "orthogonal":
        return Q
    if kind == "clustered":
        return Q * (1 + 1e-9 * generator.standard_normal((STEPS, N)))[:, None]
    if kind == "rank one":
        return np.einsum("ti,tj->tij", *generator.standard_normal((2, STEPS, N)))
    if kind == "growth of a non-normal matrix":
        return np.broadcast_to(0.9 * np.eye(N) + np.triu(10 * np.ones((N, N)), 1), (STEPS, N, N))
    if kind == "turned against itself":  # the second half undoes the first: nothing is left but what was wrong
        first = Q[:20] * np.logspace(0, -1, N)
        return np.concatenate([first, np.linalg.inv(first)[::-1]])
    return 1e-80 * generator.standard_normal((STEPS, N, N))


HARD = ("orthogonal", "clustered", "rank one", "growth of a non-normal matrix", "turned against itself")


def products_of(matrices, at_once=7, seed=0):
    rounding = ROUNDING * np.sqrt(np.abs(matrices).sum(1).max(1) * np.abs(matrices).sum(2).max(1))
    parts = [slice(start, start + at_once) for start in range(0, STEPS, at_once)]
    given = ((torch.from_numpy(matrices[part].copy())[None], torch.from_numpy(rounding[part])[None]) for part in parts)
    return plain_products(given, 1, N, 1e-12, seed)


@pytest.mark.parametrize("kind", [*HARD, "tiny"])
def test_products_and_norms_lie_within_their_errors(kind):
    matrices, step = adversarial(kind), 0
    for products in products_of(matrices):
        step += len(products.matrix)
        with mpmath.workdps(400):
            truth = exact_product(np.swapaxes(matrices[:step], 1, 2), 400).T
            scaled = truth / mpmath.mpf(2) ** round(float(products.log_scale[-1, 0]) / np.log(2))
            wrong = float(mpmath.mnorm(scaled - mpmath.matrix(products.matrix[-1, 0].tolist()), "f"))
            singular = mpmath.svd_r(truth, compute_uv=False)
            norms = [singular[0], mpmath.mnorm(truth, "f")]
            logs = [float(mpmath.log(norm)) if norm > 0 else -np.inf for norm in norms]
            each = np.array([float(mpmath.log(value)) if value > 0 else -np.inf for value in singular])
        error = float(products.error[-1, 0])
        assert wrong <= error or np.isnan(error)
        found = log_norms(products)[:, -1, 0]
        for value, bound, log in zip(found[::2], found[1::2], logs, strict=True):
            assert np.isnan(value) or np.isinf(bound) or abs(value - log) <= bound
        values, bounds, upper = (part[-1, 0] for part in plain_singular_values(products))
        known = np.isfinite(bounds) & np.isfinite(values)
        assert (np.abs(values[known] - each[known]) <= bounds[known]).all()
        assert not (each > upper).any()


def test_a_product_that_underflows_is_not_zero_for_certain():
    """diag(1, e) with e below all that is left of rounding, and then diag(0, 1e-310): the product is not zero."""
    matrices = np.broadcast_to(np.eye(N), (STEPS, N, N)).copy()
    matrices[5, 1:] = 1e-200 * matrices[5, 1:]
    matrices[6] = np.diag([0, *[1e-310] * (N - 1)])
    *_, last = products_of(matrices)
    assert np.isnan(log_norms(last)[0, -1, 0])
