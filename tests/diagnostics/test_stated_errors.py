"""Numbers lie within their stated errors, of saturated networks too: a slice of `benchmarks/stated_errors.py`."""

import math

import mpmath
import numpy as np
import pytest
from saturated_networks import FAMILIES

from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.gradient import gradient
from problems import vanilla

WEIGHT, STEPS = 2.0, 3
BIASES = {10: -61.76167536, 15: -91.76168, 18: -109.76}  # and ln ‖∂h₃/∂h₀‖
# Of the benchmark's networks: bounds are at most so many times as large as the true error, or one rounding.
WIDTH = {"spectra": {0.5: 100, 0.95: 1e7}, "products": {0.5: 1000, 0.95: 2e5}}


@pytest.fixture(scope="module")
def benchmark(benchmark_of):
    return benchmark_of("stated_errors")


def within(benchmark, rows):
    """That no number lies outside its error, and no −inf is one that is not."""
    found = benchmark.summary(rows)
    assert (found["outside"], found["false zeros"]) == (0, 0)
    return found


@pytest.mark.parametrize("kind", WIDTH)
def test_every_family(benchmark, kind):
    networks = [benchmark.judged(number, largest_time=8, largest_size=5) for number in range(len(FAMILIES))]
    found = within(benchmark, [row for each in networks for row in each[kind]])
    assert found["answered"] > 0.9
    for share, width in WIDTH[kind].items():
        assert found[f"width {share}"] <= width


# Of the benchmark: states of 1e46 whose slopes are 0 (ERNN), a mode that is exactly zero and was told from zero,
# errors that a row hands on to the one above it, slopes below 1e-162; and two with lost modes.
@pytest.mark.parametrize("number, answered", [(0, 0), (281, 0), (503, 0), (848, 0), (260, 0.9), (364, 0.6), (773, 0.2)])
def test_single_networks(benchmark, number, answered):
    rows = benchmark.judged(number)
    within(benchmark, rows["spectra"])
    assert answered == 0 or within(benchmark, rows["products"])["answered"] >= answered


def log_products(bias):
    """ln abs(∂h_T/∂h_t) for t = 0 … T, in 60 digits."""
    with mpmath.workdps(60):
        h, slopes = mpmath.mpf(0), []
        for _ in range(STEPS):
            p = WEIGHT * h + bias
            h = mpmath.tanh(p)
            slopes.append(mpmath.log(WEIGHT / mpmath.cosh(p) ** 2))
        return [float(mpmath.fsum(slopes[t:])) for t in range(STEPS + 1)]


@pytest.mark.parametrize("bias", BIASES)
def test_one_saturated_unit(bias):
    truth = log_products(bias)
    assert truth[0] == pytest.approx(BIASES[bias], rel=2e-5)
    system = vanilla([[WEIGHT]], [bias])
    ds = gradient(system, np.zeros((STEPS, 1)))
    for name in ("log_norm", "log_norm_frobenius"):
        assert (np.abs(ds[name].values[0] - truth) <= ds[f"{name}_error"].values[0]).all()
        assert (ds[f"{name}_error"].values < 1e-11).all()
    for limit, outcome in ((truth[1] - 1e-9, "holds"), (truth[1], "at the bound"), (truth[1] + 1e-9, "violated")):
        judged = eigenvalue_bounds(system, np.zeros((STEPS, 1)), min_log_gradient=limit)
        assert judged["outcome"].values.tolist() == [outcome]
    last = end_to_end(system, np.zeros((STEPS, 1))).isel(sample=0, time=-1)
    assert abs(float(last["log_singular_value"][0]) - truth[0]) <= float(last["error_bound"][0]) < 1e-11
    assert abs(float(last["mean_log_modulus"]) - truth[0]) <= float(last["mean_log_modulus_error"]) < 1e-11


def test_a_slope_that_underflows_is_not_known():
    ds = gradient(vanilla([[WEIGHT]], [400.0]), np.zeros((STEPS, 1)), loss=lambda states, _: states[:, -1, 0])
    for name in ("log_norm", "log_loss_gradient"):
        assert np.isnan(ds[name].values[0, :-1]).all()
    assert math.isinf(ds["log_norm_error"].values[0, 0])
    ds = eigenvalue_bounds(vanilla([[WEIGHT]], [400.0]), np.zeros((STEPS, 1)), min_log_gradient=-1000)
    assert ds["outcome"].values.tolist() == ["undecided"]
