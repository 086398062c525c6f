"""Numbers lie within their stated errors, of saturated networks too: a slice of `benchmarks/stated_errors.py`."""

import importlib.util
import math
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
from saturated_networks import FAMILIES
from torch import nn

from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.gradient import gradient
from dynlab.systems.torch_layers import torch_layer

PATH = Path(__file__).parents[2] / "benchmarks" / "stated_errors.py"
LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
WEIGHT, STEPS = 2.0, 3
BIASES = {10: -61.76167536, 15: -91.76168, 18: -109.76}  # and ln ‖∂h₃/∂h₀‖
# Of the benchmark's networks: bounds are at most so many times as large as the true error, or one rounding.
WIDTH = {"spectra": {0.5: 100, 0.95: 1e7}, "products": {0.5: 1000, 0.95: 2e5}}
ANSWERED = 0.9


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("stated_errors", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def within(benchmark, rows):
    """That no number lies outside its error, and no −inf is one that is not."""
    found = benchmark.summary(rows)
    assert found["outside"] == 0
    assert found["false zeros"] == 0
    return found


@pytest.mark.parametrize("kind", WIDTH)
def test_every_family(benchmark, kind, networks):
    found = within(benchmark, [row for each in networks for row in each[kind]])
    assert found["answered"] > ANSWERED
    for share, width in WIDTH[kind].items():
        assert found[f"width {share}"] <= width


# Of the benchmark: states of 1e46 whose slopes are 0 (ERNN), a mode that drowns in rounding and was given too
# small a size, one that is exactly zero and was told from zero, errors that a row hands on to the one above it,
# slopes below 1e-162.
@pytest.mark.parametrize("number", [0, 120, 281, 503, 788, 848])
def test_the_matrix_is_the_one_whose_errors_are_known(benchmark, number):
    """Made twice, the same entries were rounded in two ways, and only one of them was within the stated errors."""
    within(benchmark, benchmark.judged(number)["spectra"])


@pytest.mark.parametrize("number, answered", [(226, 1.0), (233, 0.4), (260, 0.9), (364, 0.6), (454, 0.6), (773, 0.2)])
def test_networks_with_lost_modes(benchmark, number, answered):
    rows = benchmark.judged(number)
    within(benchmark, rows["spectra"])
    assert within(benchmark, rows["products"])["answered"] >= answered


@pytest.fixture(scope="module")
def networks(benchmark):
    return [benchmark.judged(number, largest_time=8, largest_size=5) for number in range(len(FAMILIES))]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("kind", LAYERS)
def test_weights_thirty_times_as_large(benchmark, kind, dtype):
    torch.manual_seed(0)
    module = LAYERS[kind](2, 3, batch_first=True).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(30)
    system = torch_layer(module)
    rows = benchmark.compared(system, torch.randn(20, 2), torch.zeros(system.state_size), dtype)
    within(benchmark, rows["spectra"] + rows["products"])


def saturated(bias):
    module = nn.RNN(1, 1).double()
    with torch.no_grad():
        for parameter, value in zip(module.parameters(), (0.0, WEIGHT, bias, 0.0), strict=True):
            parameter.fill_(value)
    return module


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
    system = torch_layer(saturated(bias))
    ds = gradient(system, np.zeros((STEPS, 1)))
    for name in ("log_norm", "log_norm_frobenius"):
        assert (np.abs(ds[name].values[0] - truth) <= ds[f"{name}_error"].values[0]).all()
        assert (ds[f"{name}_error"].values < 1e-11).all()
    last = end_to_end(system, np.zeros((STEPS, 1))).isel(sample=0, time=-1)
    assert abs(float(last["log_singular_value"][0]) - truth[0]) <= float(last["error_bound"][0]) < 1e-11
    assert abs(float(last["mean_log_modulus"]) - truth[0]) <= float(last["mean_log_modulus_error"]) < 1e-11


@pytest.mark.parametrize("bias", BIASES)
def test_the_checked_gradient_of_one_saturated_unit(bias):
    truth = log_products(bias)[1]
    system = torch_layer(saturated(bias))
    for limit, outcome in ((truth - 1e-9, "holds"), (truth, "at the bound"), (truth + 1e-9, "violated")):
        ds = eigenvalue_bounds(system, np.zeros((STEPS, 1)), min_log_gradient=limit)
        assert ds["outcome"].values.tolist() == [outcome]


def test_a_slope_that_underflows_is_not_known():
    ds = gradient(torch_layer(saturated(400)), np.zeros((STEPS, 1)), loss=lambda states, _: states[:, -1, 0])
    for name in ("log_norm", "log_loss_gradient"):
        assert np.isnan(ds[name].values[0, :-1]).all()
    assert math.isinf(ds["log_norm_error"].values[0, 0])
    ds = eigenvalue_bounds(torch_layer(saturated(400)), np.zeros((STEPS, 1)), min_log_gradient=-1000)
    assert ds["outcome"].values.tolist() == ["undecided"]
