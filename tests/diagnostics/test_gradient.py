"""Norms and singular values of products of Jacobians against many digits, and the loss's gradient by autograd."""

import mpmath
import numpy as np
import pytest
import scipy.stats
import torch
from products import KINDS, driven_by, exact_log_singular_values, exact_product, random_products
from torch import nn

from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.gradient.loss_gradient import read_out_loss
from dynlab.systems import create, from_function
from problems import made


def close(found, truth):
    """Within 1e-9·max(1, |value|), the bound that the log-scale gradient is held to."""
    truth = np.asarray(truth, dtype=float)
    return bool((np.abs(np.asarray(found) - truth) <= 1e-9 * np.maximum(1, np.abs(truth))).all())


@pytest.mark.parametrize("kind", KINDS)
def test_norms_and_every_resolved_mode_in_multi_precision(kind):
    matrices = random_products(kind, 2)
    norms, ends = driven_by(gradient, matrices), driven_by(end_to_end, matrices, times=1).isel(time=-1)
    for sample, each in enumerate(matrices):
        truth = [exact_log_singular_values(each[t:]) for t in (0, 13, 49)]
        found = norms.isel(sample=sample, time=[0, 13, 49])
        largest = np.array([logs[0] for logs in truth])
        assert close(found["log_norm"], largest)
        rounded = 1e-15 * np.abs(largest)  # of the logarithm itself
        assert (np.abs(found["log_norm"] - largest) <= found["log_norm_error"] + rounded).all()
        assert close(found["log_norm_frobenius"], [np.logaddexp.reduce(2 * logs) / 2 for logs in truth])
        values, bound = (ends[name].values[sample] for name in ("log_singular_value", "error_bound"))
        resolved, zero = ~np.isnan(values), np.isneginf(truth[0])
        assert resolved.sum() == ends["resolved"][sample]
        assert resolved[:2].all()
        np.testing.assert_array_equal(np.isneginf(values)[resolved], zero[resolved])
        known = resolved & ~zero
        assert (np.abs(values[known] - truth[0][known]) <= np.maximum(1e-9, bound[known])).all()
        shares = np.exp(truth[0] - np.logaddexp.reduce(truth[0]))
        assert float(ends["effective_rank"][sample]) == pytest.approx(np.exp(scipy.stats.entropy(shares)), rel=1e-5)
        assert ends["surviving"][sample] == (truth[0] >= np.log(0.1)).sum()
    assert float(ends["resolved"].mean()) > 0.6 * 8


def test_moduli_in_multi_precision():
    matrices = random_products("gated", 2)
    ds = driven_by(end_to_end, matrices, times=1).isel(time=-1)
    for sample, each in enumerate(matrices):
        with mpmath.workdps(400):
            moduli = [abs(value) for value in mpmath.eig(exact_product(each, 400), left=False, right=False)]
            mean, mean_log = (mpmath.fsum(values) / len(moduli) for values in (moduli, map(mpmath.log, moduli)))
            deviation = mpmath.sqrt(mpmath.fsum((value - mean) ** 2 for value in moduli) / len(moduli))
            truth = [float(mpmath.log(mean)), float(mpmath.log(deviation)), float(mean_log)]
        names = ("log_mean_modulus", "log_std_modulus", "mean_log_modulus")
        assert [float(ds[name][sample]) for name in names] == pytest.approx(truth, abs=1e-8)


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


TARGETS = {
    "class of the sequence": (np.array([2, 0]), 4),
    "class of every step": (np.arange(18).reshape(2, 9) % 4, 4),
    "values": (np.array([[0.5, -1.0], [2.0, 0.25]], dtype=np.float32), 2),
}


@pytest.mark.parametrize("asked", TARGETS)
def test_loss_gradient_by_autograd(asked):
    targets, outputs = TARGETS[asked]
    system = create("lstm", input_size=3, hidden_size=5, num_layers=2)
    read_out = nn.Linear(system.output(torch.zeros(1, system.state_size)).shape[-1], outputs)
    inputs = np.random.default_rng(0).standard_normal((2, 9, 3))
    ds = gradient(system, inputs, loss=read_out_loss(system, read_out), targets=targets)
    double = system.double()
    states = [torch.zeros(2, system.state_size, dtype=torch.float64, requires_grad=True)]
    for t in range(9):  # the graph of the states themselves, so that autograd gives the total derivatives
        states.append(double.step(states[-1], torch.from_numpy(inputs[:, t]), t))
        states[-1].retain_grad()
    shown = system.output(torch.stack(states[1:], dim=1))
    answers = read_out.double()(shown if asked == "class of every step" else shown[:, -1])
    wanted = torch.from_numpy(targets)
    if asked == "values":
        total = ((answers - wanted) ** 2).mean(dim=1).sum()
    else:
        chosen = answers.log_softmax(dim=-1).gather(-1, wanted.unsqueeze(-1)).squeeze(-1)
        total = -(chosen.mean(dim=1) if asked == "class of every step" else chosen).sum()
    total.backward()
    truth = np.stack([state.grad.norm(dim=-1).log().numpy() for state in states], axis=1)
    assert close(ds["log_loss_gradient"].values, truth)


@pytest.mark.parametrize("gain", [1.0, 10.0], ids=["as made", "saturated"])
def test_norms_of_large_states_lie_within_their_errors(gain, monkeypatch):
    """The same network by all its singular values, and by products with a few vectors."""
    system = made("lstm", 4, gain, input_size=2, hidden_size=6, num_layers=3)
    inputs = np.random.default_rng(2).standard_normal((3, 20, 2))

    def loss(states, _):
        return states[:, -1].square().sum(dim=-1)

    plain = gradient(system, inputs, loss=loss)
    monkeypatch.setattr("dynlab.diagnostics.gradient.gradient_norms.EVERY", 4)
    ds = gradient(system, inputs, loss=loss)
    assert ds["time"].values.tolist() == [0, 4, 12, 16, 18, 19, 20]
    truth = plain.sel(time=ds["time"])
    for name in ("log_norm",):
        assert (np.abs(ds[name] - truth[name]) <= ds[f"{name}_error"] + 1e-12 * (1 + np.abs(truth[name]))).all()
    assert (ds["log_norm_error"] < 0.1).all()
    assert close(ds["log_loss_gradient"], truth["log_loss_gradient"])


def test_after_how_many_steps_the_last_direction_is_lost_and_nothing_is_left():
    """Two units that halve and a third of 0.9: the norm is 0.9^s, below 0.1 from s = 22 on; a unit of 0 cuts it off."""
    system = from_function(lambda h, x: h * h.new_tensor([0.5, 0.5, 0.9]) * x, state_size=3, input_size=1)
    inputs = np.ones((2, 60, 1))
    inputs[1, 60 - 10] = 0.0
    ds = gradient(system, inputs)
    assert ds["lost_after"].values.tolist() == [22, 10]
    np.testing.assert_array_equal(ds["vanished_after"], [np.nan, 10])
    assert np.isnan(gradient(system, inputs[:1, :5])["lost_after"]).all()


def test_a_product_without_a_factor_of_zeros_is_zero_for_certain():
    """ReLU units that do not see each other are each off at a step of its own: the gradient is 0 from the last on."""
    system = from_function(lambda h, x: torch.relu(h + x), state_size=3, input_size=3)
    inputs = np.ones((2, 9, 3))
    inputs[0, [2, 4, 6], [0, 1, 2]] = -100
    for ds in (gradient(system, inputs), gradient(system, inputs, times=2)):
        start = ds["log_norm"].values[:, 0]
        assert start == pytest.approx([-np.inf, 0], abs=1e-14)
        assert ds["log_norm_error"].values[0, 0] == 0
        assert ds["surviving"].values.tolist() == [0, 3]
    last = end_to_end(system, inputs)
    assert np.isneginf(last["log_singular_value"].values[0, -1]).all()
    assert last["resolved"].values[:, -1].tolist() == [3, 3]
