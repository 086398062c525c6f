import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats
from products import KINDS, driven_by, exact_log_singular_values, exact_product, random_products

from dynlab import schema
from dynlab.diagnostics.end_to_end import end_to_end


@pytest.mark.parametrize("kind", KINDS)
def test_every_resolved_mode_is_right_in_multi_precision(kind):
    matrices = random_products(kind, 10)
    ds = driven_by(end_to_end, matrices, times=1).isel(time=-1)
    found, bound = ds["log_singular_value"].values, ds["error_bound"].values
    truth = np.array([exact_log_singular_values(each) for each in matrices])
    resolved = ~np.isnan(found)
    assert (resolved.sum(axis=-1) == ds["resolved"].values).all()
    assert resolved[:, :2].all()
    assert resolved.mean() > 0.6
    zero = np.isneginf(truth)
    assert (np.isneginf(found) <= zero).all()
    error = np.abs(np.where(zero, 0, found) - np.where(zero, 0, truth))[resolved & ~zero]
    assert (error <= np.maximum(1e-9, bound[resolved & ~zero])).all()
    assert np.isneginf(found[resolved & zero]).all()


@pytest.mark.parametrize("kind", ["random", "recurrent", "euler", "gated"])
def test_moduli_in_multi_precision(kind):
    matrices = random_products(kind, 2)
    ds = driven_by(end_to_end, matrices, times=1).isel(time=-1)
    for sample, each in enumerate(matrices):
        with mpmath.workdps(400):
            eigenvalues = mpmath.eig(exact_product(each, 400), left=False, right=False)
            moduli = [abs(value) for value in eigenvalues]
            mean = sum(moduli) / len(moduli)
            deviation = mpmath.sqrt(sum((value - mean) ** 2 for value in moduli) / len(moduli))
            truth = [float(mpmath.log(value)) for value in (mean, deviation)]
            mean_log = float(sum(mpmath.log(value) for value in moduli) / len(moduli))
        got = [float(ds[name][sample]) for name in ("log_mean_modulus", "log_std_modulus")]
        assert got == pytest.approx(truth, abs=1e-8)
        assert float(ds["mean_log_modulus"][sample]) == pytest.approx(mean_log, abs=1e-8)


def test_orthogonal_products_keep_every_length():
    matrices = scipy.stats.ortho_group(6, seed=0).rvs(40)[None]
    ds = driven_by(end_to_end, matrices, times=5)
    assert np.abs(ds["log_singular_value"].values).max() < 1e-13
    assert ds["effective_rank"].values == pytest.approx(np.full((1, 5), 6.0), abs=1e-12)
    assert (ds["resolved"].values == 6).all()
    assert (ds["surviving"].values == 6).all()
    assert ds["log_mean_modulus"].values == pytest.approx(np.zeros((1, 5)), abs=1e-12)
    # all moduli are 1: their deviation is 0, and its logarithm is nothing
    assert np.isnan(ds["log_std_modulus"].values).all()
    assert "log_std_modulus" in schema.flags(ds)


@pytest.mark.parametrize("where", ["row", "column"])
def test_exactly_singular_jacobians(where):
    matrices = np.random.default_rng(4).standard_normal((1, 12, 5, 5))
    index = (0, 4, 2) if where == "row" else (0, 4, slice(None), 2)
    matrices[index] = 0
    ds = driven_by(end_to_end, matrices, times=12)
    values = ds["log_singular_value"].values[0]
    assert np.isfinite(values[:4]).all()
    assert np.isneginf(values[4:, -1]).all()
    assert np.isfinite(values[4:, :-1]).all()
    assert (ds["resolved"].values == 5).all()
    assert np.isneginf(ds["mean_log_modulus"].values[0, 4:]).all()
    assert "exactly singular" in schema.flags(ds)["log_singular_value"]
    # the first steps in ordinary numbers, where σ spans little
    product = np.linalg.multi_dot(matrices[0, 4::-1])
    assert values[4, :-1] == pytest.approx(np.log(np.linalg.svd(product, compute_uv=False)[:-1]), abs=1e-9)


def test_a_nilpotent_product_is_zero():
    ds = driven_by(end_to_end, np.broadcast_to([[0.0, 1.0], [0.0, 0.0]], (1, 3, 2, 2)))
    assert ds["log_singular_value"].values[0].tolist() == [[0, -np.inf], [-np.inf, -np.inf], [-np.inf, -np.inf]]
    assert (
        "the largest singular value of ∂h_T/∂h_0 is exactly 0. None of the 2 singular values is at "
        "least 0.1. Rounding leaves" in ds.attrs["verdict"]
    )
    assert np.isnan(ds["log_mean_modulus"].values[0]).all()
    assert np.isnan(ds["effective_rank"].values[0, 1:]).all()
    assert "log_mean_modulus" in schema.flags(ds)


def test_a_rank_that_rounding_hides_is_not_claimed():
    ds = driven_by(end_to_end, np.full((1, 3, 3, 3), 1 / 3))  # rank 1, without a zero anywhere
    values = ds["log_singular_value"].values[0]
    assert values[:, 0] == pytest.approx(np.zeros(3), abs=1e-14)
    assert not np.isfinite(values[:, 1:]).any()


@pytest.mark.parametrize("kind", ["euler", "orthogonal"])
def test_plain_and_graded_products_agree(kind, monkeypatch):
    turns = scipy.stats.ortho_group(8, seed=2).rvs(4 * 50).reshape(4, 50, 8, 8)
    matrices = turns if kind == "orthogonal" else random_products(kind, 4)
    ds = driven_by(end_to_end, matrices, times=5)
    monkeypatch.setattr("dynlab.diagnostics.end_to_end.ENOUGH", 0.0)
    graded = driven_by(end_to_end, matrices, times=5)
    for name in ("log_singular_value", "mean_log_modulus"):
        wrong = "error_bound" if name == "log_singular_value" else f"{name}_error"
        assert (np.abs(ds[name] - graded[name]) <= ds[wrong] + graded[wrong]).all()
    for name in ("resolved", "surviving"):
        assert (ds[name] == graded[name]).all()
    for name in ("effective_rank", "log_mean_modulus"):
        assert ds[name].values == pytest.approx(graded[name].values, rel=1e-10, abs=1e-10)
