"""Points that rounding does not isolate, kinks of ReLUs, LSTMs whose memory is large, and points that are missing."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from torch import nn

from dynlab.checkpoints import from_module
from dynlab.diagnostics.fixed_points import fixed_points, rounds
from dynlab.systems import create, from_function
from dynlab.zoo import load
from problems import vanilla


@pytest.mark.parametrize("center, power", [(0.3, 2), (1.0, 3)])
def test_a_multiple_root_is_one_point_that_is_not_isolated(center, power):
    ds = fixed_points(from_function(lambda h, x: h - (h - center) ** power, state_size=1))
    assert ds["status"].values.tolist() == ["not isolated"]
    assert (ds["dimension"].item(), ds["stable"].item()) == (1, -1)
    assert abs(ds["fixed_point_state"].item() - center) < 1e-2
    assert abs(ds["eigenvalue"].item() - 1) <= ds["eigenvalue_error"].item()


@pytest.mark.parametrize("gain", [0.95, 5.0])
def test_the_origin_of_a_bias_free_relu_network_is_at_a_kink_and_undecided(gain):
    W = np.random.default_rng(0).standard_normal((12, 12))
    W *= gain / np.abs(np.linalg.eigvals(np.abs(W))).max()
    ds = fixed_points(vanilla(W, activation="relu"))
    assert ds["status"].values.tolist() == ["at a kink"]
    assert np.isinf(ds["eigenvalue_error"]).all()
    assert (ds["stable"].item(), ds["undecided_directions"].item()) == (-1, 12)
    proved = fixed_points(vanilla(W, activation="relu"), certify=True)["stable"].values.tolist()
    assert proved == [1 if gain < 1 else -1]


def lstm_roots(weights, biases):
    """h of all fixed points: with c = i g/(1 − f) put in, the roots of one equation."""

    def f(h):
        p_i, p_f, p_g, p_o = (w * h + b for w, b in zip(weights, biases, strict=True))
        with np.errstate(over="ignore"):
            c = np.tanh(p_g) * (1 + np.exp(p_f)) / (1 + np.exp(-p_i))
            return np.tanh(c) / (1 + np.exp(-p_o)) - h

    grid = np.linspace(-1, 1, 400_001) + 1.3e-7
    values = f(grid)
    changes = np.flatnonzero(values[1:] * values[:-1] < 0)
    return [brentq(f, grid[k], grid[k + 1], xtol=1e-15) for k in changes]


@pytest.mark.parametrize("forget, candidate", [(2.0, 4.0), (15.0, -4.0)])
def test_an_lstm_with_its_forget_gate_open_has_the_points_of_one_equation(forget, candidate):
    weights, biases = [2.0, -3.0, candidate, 1.0], [0.1, forget, 0.2, -0.3]
    lstm = nn.LSTM(1, 1).double()
    with torch.no_grad():
        for parameter, value in zip(lstm.parameters(), ([0.0] * 4, weights, biases, [0.0] * 4), strict=True):
            parameter.copy_(torch.tensor(value, dtype=torch.float64).reshape(parameter.shape))
    ds = fixed_points(from_module(lstm))
    truth = lstm_roots(weights, biases)
    assert ds["status"].values.tolist() == ["fixed point"] * len(truth)
    np.testing.assert_allclose(sorted(ds["fixed_point_state"].values[:, 0]), truth, rtol=1e-9, atol=1e-9)


def test_points_that_must_exist_and_were_not_found_are_named(monkeypatch):
    """A search that is stopped after its first round knows from the indices of a bounded map's points what it lacks."""
    monkeypatch.setattr(rounds, "MOST_ROUNDS", 1)
    said = []
    for seed in range(4):
        ds = fixed_points(load("gru-flipflop"), starts=2, seed=seed)
        index_sum = int(np.sign(np.prod(1 - ds["eigenvalue"].values, axis=1).real).sum())
        assert int(ds["index_sum"]) == index_sum
        said.append(index_sum != 1)
        assert ("missing: the indices" in ds.attrs["verdict"]) == said[-1]
    assert any(said)


def test_a_flows_equilibria_have_its_own_eigenvalues():
    ds = fixed_points(create("lorenz"))
    assert ds["eigenvalue"].attrs["units"] == "1/s"
    assert ds["kind"].values.tolist() == ["saddle", "saddle-focus", "saddle-focus"]
    roots = np.roots([1, 41 / 3, 8 / 3 * 38, 2 * 8 / 3 * 10 * 27])  # of C±, by Vieta
    for row in ds["eigenvalue"].values[1:]:
        np.testing.assert_allclose(np.sort_complex(row), np.sort_complex(roots), rtol=1e-12)
