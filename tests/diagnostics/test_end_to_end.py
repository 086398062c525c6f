import mpmath
import numpy as np
import pytest
from products import KINDS, driven_by, exact_log_singular_values, exact_product, random_products

from dynlab.diagnostics.end_to_end import end_to_end


@pytest.mark.parametrize("kind", KINDS)
def test_every_resolved_mode_is_right_in_multi_precision(kind):
    matrices = random_products(kind, 4)
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


def test_moduli_in_multi_precision():
    matrices = random_products("gated", 2)
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


def test_exactly_singular_jacobians():
    matrices = np.random.default_rng(4).standard_normal((1, 12, 5, 5))
    matrices[0, 4, :, 2] = 0
    ds = driven_by(end_to_end, matrices, times=12)
    values = ds["log_singular_value"].values[0]
    np.testing.assert_array_equal(np.isneginf(values), (np.arange(5) == 4) & (np.arange(12)[:, None] >= 4))
    assert (ds["resolved"].values == 5).all()
    assert np.isneginf(ds["mean_log_modulus"].values[0, 4:]).all()
    # the first steps in ordinary numbers, where σ spans little
    product = np.linalg.multi_dot(matrices[0, 4::-1])
    assert values[4, :-1] == pytest.approx(np.log(np.linalg.svd(product, compute_uv=False)[:-1]), abs=1e-9)


def test_plain_and_graded_products_agree(monkeypatch):
    matrices = random_products("euler", 4)
    ds = driven_by(end_to_end, matrices, times=5)
    monkeypatch.setattr("dynlab.diagnostics.end_to_end.ENOUGH", 0.0)
    graded = driven_by(end_to_end, matrices, times=5)
    for name in ("log_singular_value", "mean_log_modulus"):
        wrong = "error_bound" if name == "log_singular_value" else f"{name}_error"
        assert (np.abs(ds[name] - graded[name]) <= ds[wrong] + graded[wrong]).all()
    for name in ("resolved", "surviving", "effective_rank", "log_mean_modulus"):
        assert ds[name].values == pytest.approx(graded[name].values, rel=1e-10, abs=1e-10)
