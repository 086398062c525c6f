"""Lyapunov exponents against closed forms, exact identities, published values and a computation in many digits."""

import re

import numpy as np
import pytest
import torch
from automatic import automatic_jacobian
from products import driven_by

import problems
from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.numerics.frame import random_frame
from dynlab.systems import create, from_function, frozen
from dynlab.systems.textbook import LinearMap
from dynlab.trajectories.simulation import simulate

ROUNDING = 1e-10  # of sums of exponents, which an exact identity gives; products of condition 1e6 lose some digits

generator = np.random.default_rng


def test_henon():
    henon = lyapunov(create("henon"), steps=5000, initial_state=generator(0).uniform(0, 0.1, (32, 2)))
    values = henon["exponent"].values
    # the spread of independent samples tells the error of the mean without any blocks
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert error[0] < 2e-3
    assert mean[0] == pytest.approx(problems.HENON_LARGEST_EXPONENT, abs=4 * error[0] + 5e-5)  # four digits published
    np.testing.assert_allclose(henon["running_exponent"].sum("mode"), problems.HENON_EXPONENT_SUM, atol=ROUNDING)
    dimension = 1 + problems.HENON_LARGEST_EXPONENT / (problems.HENON_LARGEST_EXPONENT - problems.HENON_EXPONENT_SUM)
    assert float(henon["kaplan_yorke_dimension"].mean()) == pytest.approx(dimension, abs=3e-3)
    # blocks see what the spread is: neither far less nor far more
    assert 0.7 < float(henon["standard_error"][:, 0].mean() / henon["exponent"][:, 0].std(ddof=1)) < 2


def test_lorenz():
    starts = generator(2).normal([1, 1, 20], size=(4, 3))
    lorenz = lyapunov(create("lorenz"), seconds=40.0, transient=10.0, initial_state=starts)
    assert (np.abs(lorenz["exponent"] - problems.LORENZ_EXPONENTS) <= lorenz["exponent_error"]).all()
    np.testing.assert_allclose(lorenz["running_exponent"].sum("mode"), problems.lorenz_exponent_sum(), atol=1e-8)
    np.testing.assert_allclose(lorenz["mean_log_det"], problems.lorenz_exponent_sum(), atol=1e-8)


def test_a_linear_map_has_the_logarithms_of_the_moduli():
    random = generator(3)
    vectors = random.standard_normal((6, 6))
    moduli = np.array([1.3, 1.05, 0.9, 0.5, 0.2, 0.01])
    matrix = vectors @ np.diag(moduli * [1, -1, 1, 1, -1, 1]) @ np.linalg.inv(vectors)
    ds = lyapunov(LinearMap(matrix.tolist()), steps=1000, transient=600)
    np.testing.assert_allclose(ds["exponent"].values[0], np.log(moduli), atol=1e-8)
    assert (np.abs(ds["exponent"][0] - np.log(moduli)) <= ds["rounding_bound"][0] + 1e-12).all()


def test_a_dimension_that_is_lost_is_minus_infinity_and_flagged():
    matrices = generator(6).standard_normal((2, 300, 4, 4))
    matrices[0, 200, 1] = 0  # a row of zeros: one dimension is gone
    matrices[0, 250, :, 2] = 0  # a column of zeros: generically it hits a dimension that is left
    ds = driven_by(lyapunov, matrices, transient=10)
    assert np.isneginf(ds["finite_time_exponent"]).sum("mode").values.tolist() == [1, 0]
    assert np.isneginf(ds["mean_log_det"]).values.tolist() == [True, False]


def test_what_rounding_drowns_is_not_known_and_not_minus_infinity():
    u, v = generator(8).standard_normal((2, 5, 2))
    ds = driven_by(lyapunov, np.tile(u @ v.T, (1, 100, 1, 1)), transient=40)  # of rank 2, to rounding
    exponent = ds["exponent"].values[0]
    np.testing.assert_allclose(exponent[:2], np.log(np.sort(np.abs(np.linalg.eigvals(v.T @ u)))[::-1]), atol=1e-6)
    assert np.isnan(exponent[2:]).all()


def test_a_diverging_orbit_is_cut_and_flagged_and_the_others_stay():
    ds = lyapunov(create("henon"), steps=500, initial_state=[[0.1, 0.1], [3.0, 3.0]])
    alone = lyapunov(create("henon"), steps=500, initial_state=[0.1, 0.1])
    np.testing.assert_allclose(ds["exponent"][0], alone["exponent"][0], atol=1e-10)
    assert np.isnan(ds["exponent"][1]).all()
    assert "step 4" in schema.flags(ds)["exponent"]


def network(gain, size=20):
    W, b, V = (generator(seed).standard_normal((size, width)) for seed, width in ((9, size), (1, 1), (2, 1)))
    return problems.vanilla(W * gain / np.sqrt(size), 0.2 * b[:, 0], V=0.3 * V)


@pytest.mark.parametrize("gain, outcome", [(0.5, "meet"), (4.0, "stay apart")])
def test_two_orbits_meet_or_stay_apart_as_the_largest_conditional_exponent_says(gain, outcome):
    inputs = 0.1 * generator(10).standard_normal((3, 400, 1))
    ds = lyapunov(network(gain), inputs, transient=200)
    told = set(ds["echo_state"].values.tolist())
    assert outcome in told
    assert told <= {outcome, "undecided"} if gain > 1 else told == {outcome}  # an exponent may be near 0
    assert np.sign(ds["finite_time_exponent"][0, 0]) == (1 if outcome == "stay apart" else -1)


def qr_at_every_step(system, inputs, k, transient):
    """The same finite-time exponents along the same orbit, by dense Jacobians and LAPACK's QR at every step."""
    states = torch.from_numpy(simulate(system, inputs)["trajectory"].values)
    system, inputs = frozen(system), torch.from_numpy(inputs)
    frame = random_frame(1, system.state_size, k, 0)[0]
    found = np.zeros((len(inputs), k))
    steps = torch.arange(inputs.shape[1])
    jacobians = automatic_jacobian(system, states[:, : len(steps)], inputs, steps).dense().numpy()
    for sample in range(len(inputs)):
        Q = frame
        for t in range(inputs.shape[1]):
            Q, R = np.linalg.qr(jacobians[sample, t] @ Q)
            found[sample] += np.log(np.abs(np.diag(R))) * (t >= transient)
    return found / (inputs.shape[1] - transient)


def told(truth, k):
    """The k exponents that are told of those of a larger frame: the first, and the largest means of the others."""
    if truth.shape[1] == k:
        return truth
    mean = np.ma.masked_invalid(truth[:, 1:]).mean(axis=0).filled(-np.inf)
    return truth[:, [0, *1 + np.argsort(-mean, kind="stable")]][:, :k]


@pytest.mark.parametrize(
    "kind, settings, k, gain",
    [
        ("rnn", {"hidden_size": 12}, 12, 8.0),
        ("lstm", {"hidden_size": 6, "num_layers": 2}, 7, 8.0),
        ("antisymmetric", {"state_size": 150, "step_size": 0.1}, 4, 1.0),
    ],
)
def test_exponents_are_those_of_qr_at_every_step(kind, settings, k, gain):
    system = problems.made(kind, 11, gain, input_size=2, **settings)
    inputs = generator(3).standard_normal((2, 40, 2))
    ds = lyapunov(system, inputs, k=k, transient=4)
    truth = told(qr_at_every_step(system, inputs, min(k + 3, system.state_size), 4), k)
    known = np.isfinite(ds["finite_time_exponent"].values)
    off = np.where(known, np.abs(ds["finite_time_exponent"].values - truth), 0)
    assert known[:, 0].all()
    assert (off <= 1e-6).all()
    assert (off <= ds["rounding_bound"].fillna(0) + ROUNDING).all()


@pytest.mark.parametrize("inputs", [None, np.zeros((2, 600, 1))])
def test_an_orbit_without_input_leaves_the_unstable_fixed_point_at_0_unless_it_starts_there(inputs):
    system = problems.vanilla([[1.5, 0.2], [0.0, 0.5]])
    ds = lyapunov(system, inputs, steps=600 if inputs is None else None)
    point = 0.858559  # h = tanh(1.5 h), by bisection; the second unit's orbit decays
    off = np.abs(ds["exponent"][0] - np.log([0.5, 1.5 * (1 - point**2)]))
    assert (off <= ds["exponent_error"][0] + 1e-5).all()
    assert (off < 1e-4).all()
    ds = lyapunov(system, np.zeros((600, 1)), initial_state=[0.0, 0.0])
    np.testing.assert_allclose(ds["exponent"][0], np.log([1.5, 0.5]), atol=1e-12)


# Every multiplier of where these end is 0, so that their exponents are −∞.
@pytest.mark.parametrize("step", [lambda h, x: 2 * h * (1 - h), lambda h, x: 0.7 + (h - 0.7) ** 3])
def test_exponents_at_a_superattracting_end_are_bounded_from_above_only(step):
    system, orbit = from_function(step, state_size=1), {"initial_state": [0.3]}
    ds = lyapunov(system, steps=200, **orbit)
    value = ds["exponent"].values[0, 0]
    assert value == -np.inf or (value < -10 and ds["exponent_error"].values[0, 0] == np.inf)
    if value > -np.inf:
        told = float(re.search(r"is at most −([\d.]+) nat/step", ds.attrs["verdict"])[1])
        assert -value * (1 - 1e-3) < told <= -value
    for limit, outcomes in ((-100.0, ("holds", "undecided")), (-1.0, ("holds",))):
        assert eigenvalue_bounds(system, np.zeros((200, 0)), max_exponent=limit, **orbit)["outcome"].item() in outcomes
