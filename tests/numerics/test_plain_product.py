import mpmath
import numpy as np
import pytest
import torch
from products import KINDS, MatrixDriven, exact_product, random_products

from dynlab.diagnostics.gradient import small
from dynlab.driven import drive
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
    if kind == "nilpotent":
        return np.broadcast_to(np.triu(np.ones((N, N)), 1), (STEPS, N, N))
    if kind == "growth of a non-normal matrix":
        return np.broadcast_to(0.9 * np.eye(N) + np.triu(10 * np.ones((N, N)), 1), (STEPS, N, N))
    if kind == "turned against itself":  # the second half undoes the first: nothing is left but what was wrong
        first = Q[:20] * np.logspace(0, -1, N)
        return np.concatenate([first, np.linalg.inv(first)[::-1]])
    scales = {"tiny": 1e-80, "huge": 1e80}
    return scales[kind] * generator.standard_normal((STEPS, N, N))


HARD = ("orthogonal", "clustered", "rank one", "nilpotent", "growth of a non-normal matrix", "turned against itself")


def products_of(matrices, at_once=7, seed=0):
    rounding = ROUNDING * np.sqrt(np.abs(matrices).sum(1).max(1) * np.abs(matrices).sum(2).max(1))
    parts = [slice(start, start + at_once) for start in range(0, STEPS, at_once)]
    given = ((torch.from_numpy(matrices[part].copy())[None], torch.from_numpy(rounding[part])[None]) for part in parts)
    return plain_products(given, 1, N, 1e-12, seed)


@pytest.mark.parametrize("kind", [*HARD, "tiny", "huge"])
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
        values, bounds = (part[-1, 0] for part in plain_singular_values(products))
        known = np.isfinite(bounds) & np.isfinite(values)
        assert (np.abs(values[known] - each[known]) <= bounds[known]).all()


@pytest.mark.parametrize("kind", ["orthogonal", "clustered", "rank one", "tiny", "huge"])
def test_bounds_say_something_where_the_product_keeps_its_direction(kind):
    *_, last = products_of(adversarial(kind))
    assert log_norms(last)[1, -1, 0] < 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_plain_and_graded_products_agree(kind):
    matrices = random_products(kind, 5, n=9, steps=60)
    driven = drive(
        MatrixDriven(9), matrices.reshape(5, 60, 81), None, dtype="float64", device="cpu", seed=0, inputs_description=""
    )
    *plain, surviving, known, _ = small._by_plain_products(driven, np.arange(61), 1e-12, 0)
    graded = small._by_graded_products(driven)
    assert known.any()
    for value, wrong, name in zip(plain[::2], plain[1::2], small.NAMES[::2], strict=True):
        reach = wrong + graded[f"{name}_error"] + 1e-15 * np.abs(value)
        assert (np.abs(value - graded[name]) <= reach)[known].all()
    assert (surviving == graded["surviving"])[known].all()


def test_from_a_factor_of_zeros_on_a_product_is_zero_for_certain():
    matrices = adversarial("orthogonal").copy()
    matrices[11] = 0
    *_, last = parts = list(products_of(matrices))
    value, error, frobenius, its_error = np.concatenate([log_norms(part)[..., 0] for part in parts], axis=1)
    assert np.isneginf([value[11:], frobenius[11:]]).all()
    assert (np.array([error[11:], its_error[11:]]) == 0).all()
    np.testing.assert_allclose(value[:11], 0, atol=1e-13)
    values, bounds = plain_singular_values(last)
    assert np.isneginf(values).all()
    assert (bounds == 0).all()


def test_a_product_that_underflows_is_not_zero_for_certain():
    """diag(1, e) with e below all that is left of rounding, and then diag(0, 1e-310): the product is not zero."""
    matrices = np.broadcast_to(np.eye(N), (STEPS, N, N)).copy()
    matrices[5, 1:] = 1e-200 * matrices[5, 1:]
    matrices[6] = np.diag([0, *[1e-310] * (N - 1)])
    *_, last = products_of(matrices)
    assert np.isnan(log_norms(last)[0, -1, 0])


@pytest.mark.parametrize("dear", [0, np.inf])
def test_what_is_known_of_many_long_products_needs_no_graded_ones(dear, monkeypatch):
    """An error between 1e-7 and 1e-3 is enough where graded products would take minutes; it holds all the same."""
    monkeypatch.setattr(small, "DEAR", dear)
    generator = np.random.default_rng(3)
    matrices = np.eye(9) + 0.1 * generator.standard_normal((2, 60, 9, 9)) / 3
    matrices[:, 20:41] = np.eye(9)
    matrices[:, 20, 0, 0], matrices[:, 40, 0, 0] = 2.0**-30, 2.0**30  # what grows is undone, its rounding stays
    driven = drive(
        MatrixDriven(9), matrices.reshape(2, 60, 81), None, dtype="float64", device="cpu", seed=0, inputs_description=""
    )
    *_, known, stated = small._by_plain_products(driven, np.arange(61), 1e-12, 0)
    assert not known.any()
    assert stated.all()
    found = small.small_norms(driven, np.arange(61), 0)
    assert (found["log_norm_error"].max() > 1e-7) == (dear == 0)
    for one, sample in zip(matrices, range(2), strict=True):
        with mpmath.workdps(60):
            truth = mpmath.log(mpmath.svd_r(exact_product(one, 60), compute_uv=False)[0])
            assert abs(found["log_norm"][sample, 0] - truth) <= found["log_norm_error"][sample, 0]
