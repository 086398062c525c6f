"""Degenerate fixed points, kinks of ReLUs, LSTMs with a large memory, missing points, and stacks."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from torch import nn

from dynlab.checkpoints import from_module
from dynlab.diagnostics.fixed_points import fixed_points, rounds
from dynlab.diagnostics.fixed_points.starting_states import orbits
from dynlab.numerics.merging import merged
from dynlab.systems import from_function, frozen
from dynlab.systems.autonomous import Held
from dynlab.zoo import load
from problems import made, vanilla


@pytest.mark.parametrize("center, power", [(0.3, 2), (1.0, 3)])
def test_a_multiple_root_is_one_degenerate_point(center, power):
    ds = fixed_points(from_function(lambda h, x: h - (h - center) ** power, state_size=1))
    assert ds["status"].values.tolist() == ["degenerate"]
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


@pytest.mark.parametrize("name, gain, seed", [("rnn", 2.5, 2), ("gru", 4.0, 0), ("lstm", 4.0, 0)])
def test_layer_by_layer_finds_what_one_search_of_all_coordinates_does(name, gain, seed):
    """In stacks with weights so large that most have several fixed points."""
    system = made(name, seed, input_size=2, hidden_size=4, num_layers=2)
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.normal_(std=gain / 2 if parameter.ndim > 1 else 0.3)
    ds = fixed_points(system, starts=64)
    states = ds["fixed_point_state"].values
    assert (ds["status"].values == "fixed point").all()
    assert int(ds["index_sum"]) == 1
    zero, generator = torch.zeros(2, dtype=torch.float64), np.random.default_rng(3)
    held = Held(frozen(system), zero)
    found = rounds.search(held, held, 64, None, orbits(held, generator), generator)  # all coordinates at once
    other = np.array([root.state for root in found.points]).reshape(-1, system.state_size)
    labels = merged(np.concatenate([states, other]))
    assert len(set(labels[: len(states)])) == len(states)  # none twice
    assert set(labels[len(states) :]) <= set(labels[: len(states)])  # none missed
    for state, values in zip(torch.as_tensor(states), ds["eigenvalue"].values, strict=True):
        moved = system.step(state, zero).detach()
        torch.testing.assert_close(moved, state, rtol=0, atol=1e-11 * max(1, np.abs(states).max()))
        exact = np.linalg.eigvals(torch.func.jacrev(lambda h: system.step(h, zero))(state).detach().numpy())
        assert max(np.abs(exact - value).min() for value in values) < 1e-6
