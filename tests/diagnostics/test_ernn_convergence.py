"""ERNN's inner iteration against closed forms of scalar nets, automatic differentiation, known counts of equilibria."""

import mpmath
import numpy as np
import pytest
import torch

from dynlab import schema
from dynlab.diagnostics.ernn.convergence import ernn_convergence
from dynlab.systems import create
from dynlab.trajectories.simulation import simulate
from problems import made


def scalar(u, q, activation):
    """F(g) = φ(u z + q) − z with z = g + h, from h_0 = 0."""
    settings = {"input_size": 1, "state_size": 1, "length": 1, "rank": None, "projection": False}
    system = create("ernn", activation=activation, **settings).double()
    with torch.no_grad():
        system.U.weight.fill_(u)
        system.W.zero_()
        system.b.fill_(q)
    return system


INPUTS = np.random.default_rng(0).standard_normal((3, 20, 3))


@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_the_rate_of_a_scalar_net_is_known(eta):
    """z* = tanh(u z* + q), rate |1 + η (u (1 − z*²) − 1)|."""
    with mpmath.workdps(40):
        z = mpmath.findroot(lambda z: mpmath.tanh(0.8 * z + 0.3) - z, 0.7)
        rate = float(abs(1 + eta * (0.8 * (1 - z**2) - 1)))
    ds = ernn_convergence(scalar(0.8, 0.3, "tanh"), np.zeros((1, 1)), eta=eta, iterations=600)
    assert ds["predicted_rate"].item() == pytest.approx(rate, rel=1e-12)
    assert ds["rate"].item() == pytest.approx(rate, rel=1e-3)
    assert ds["distance"].values[0, 0, 0] == pytest.approx(float(z), rel=1e-14)  # from g = 0 with h = 0
    assert ds["outcome"].item() == "converges"


@pytest.mark.parametrize(
    "u, q, activation, status, count",
    [
        (2.0, 0.1, "tanh", "several equilibria", 3),  # |q| < 0.5328, the fold for u = 2
        (0.5, 1.0, "relu", "one equilibrium", 1),
        (1.0, 1.0, "relu", "none found", 0),  # z = z + 1
        (2.0, -1.0, "relu", "several equilibria", 2),  # z = 0 and z = 1
    ],
)
def test_how_many_equilibria_a_scalar_net_has(u, q, activation, status, count):
    ds = ernn_convergence(scalar(u, q, activation), np.zeros((1, 1)), eta=0.1)
    assert ds["equilibrium_status"].item() == status
    assert ds["equilibria"].item() == count


def test_without_equilibrium_the_iteration_drifts_and_nothing_is_made_up():
    """z ← z + η (relu(z + 1) − z) has the constant speed 1 for z ≥ −1."""
    ds = ernn_convergence(scalar(1.0, 1.0, "relu"), np.zeros((1, 1)), eta=0.1)
    np.testing.assert_allclose(ds["speed"].values, 1.0, rtol=1e-12)
    for name in ("distance", "rate", "predicted_rate", "equilibrium_residual"):
        assert np.isnan(ds[name].values).all()
    np.testing.assert_allclose(ds["theorem2"].values, 1.0, rtol=1e-12)  # ∇F = 0: not below 1
    assert ds["outcome"].item() == "no equilibrium to converge to"


def inner_jacobian(system, g, state, input):
    return torch.func.jacrev(lambda g: system.inner_velocity(g, state, input))(g).detach().numpy()


def test_distances_conditions_and_prediction_against_automatic_differentiation():
    eta, settings = 0.4, {"state_size": 16, "length": 20, "rank": None, "activation": "tanh"}
    system = made("ernn", 1, input_size=3, **settings)
    ds = ernn_convergence(system, INPUTS, eta=eta, iterations=12, times=2)
    assert ds[schema.TIME].values.tolist() == [10, 20]
    states = simulate(system, INPUTS)["trajectory"].values
    for sample, k in ((0, 10), (2, 20)):
        state, input = torch.as_tensor(states[sample, k - 1]), torch.as_tensor(INPUTS[sample, k - 1])
        found = ds.sel(time=k).isel(sample=sample)
        g, root = state, state
        for _ in range(60):  # Newton's method from the same start
            F = system.inner_velocity(root, state, input).detach().numpy()
            root = root - torch.as_tensor(np.linalg.solve(inner_jacobian(system, root, state, input), F))
        for i in range(13):
            F, J = system.inner_velocity(g, state, input).detach().numpy(), inner_jacobian(system, g, state, input)
            assert found["distance"].values[i] == pytest.approx(float((g - root).norm()), rel=1e-9)
            assert found["speed"].values[i] == pytest.approx(np.linalg.norm(F), rel=1e-12)
            theorem = np.linalg.norm(F + eta * J @ F) / np.linalg.norm(F)
            assert found["theorem2"].values[i] == pytest.approx(theorem, rel=1e-10)
            assert found["corollary1"].values[i] == pytest.approx(np.linalg.norm(np.eye(16) + eta * J, 2), rel=1e-10)
            g = g + eta * torch.as_tensor(F)
        values = np.linalg.eigvals(np.eye(16) + eta * inner_jacobian(system, root, state, input))
        assert found["predicted_rate"].item() == pytest.approx(np.abs(values).max(), rel=1e-12)
