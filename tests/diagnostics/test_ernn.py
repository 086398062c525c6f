"""ERNN against closed forms of scalar nets, automatic differentiation, and equilibria found in another way."""

import numpy as np
import pytest
import torch

from dynlab import schema, zoo
from dynlab.diagnostics.ernn.convergence import ernn_convergence
from dynlab.diagnostics.ernn.manifold import ernn_manifold, random_planar_networks
from dynlab.diagnostics.ernn.spectrum import ernn_spectrum
from dynlab.systems import create
from dynlab.systems.ernn import matrix_of
from dynlab.tasks.har import sample
from dynlab.trajectories.simulation import simulate
from problems import eigenvalue_distance, made


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


def inner_jacobian(system, g, state, input):
    return torch.func.jacrev(lambda g: system.inner_velocity(g, state, input))(g).detach().numpy()


def test_distances_conditions_and_prediction_against_automatic_differentiation():
    eta, settings = 0.4, {"state_size": 16, "length": 20, "rank": None, "activation": "tanh"}
    system = made("ernn", 1, input_size=3, **settings)
    ds = ernn_convergence(system, INPUTS, eta=eta, iterations=12, times=2)
    assert ds[schema.TIME].values.tolist() == [10, 20]
    states = simulate(system, INPUTS)["trajectory"].values
    for number, k in ((0, 10), (2, 20)):
        state, input = torch.as_tensor(states[number, k - 1]), torch.as_tensor(INPUTS[number, k - 1])
        found = ds.sel(time=k).isel(sample=number)
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


def test_every_state_is_the_equilibrium_less_the_state_before_and_the_curve_the_manifold():
    """Equilibria by the contraction z ← tanh(U z + W x + b), 2,000 times in NumPy."""
    system, walk, options = random_planar_networks(steps=120)
    ds = ernn_manifold(system, walk, **options)
    U, W, b = (p.detach().numpy() for p in (system.U.weight, system.W, system.b))
    assert np.linalg.norm(U, 2) < 1
    inputs = np.concatenate([walk, ds["x"].values[:, None]])
    z = np.zeros((len(inputs), 2))
    for _ in range(2000):
        z = np.tanh(z @ U.T + inputs @ W.T + b)
    h = ds["trajectory"].sel(network="ernn").values[0]
    assert np.abs(h[1:] - (z[:120] - h[:-1])).max() < 1e-14
    assert ds["distance"].sel(network="ernn").values[0, 1:].max() < 1e-14
    assert np.abs(ds["curve"].values - z[120:]).max() < 1e-12
    assert ds["x"].values[[0, -1]].tolist() == [walk.min(), walk.max()]


def test_equilibria_far_from_the_state_of_a_trained_low_rank_relu_network_are_found():
    """Their condition z = ReLU(P (U z + W x + b)) by NumPy; at most steps the search from the state itself fails."""
    system = zoo.load("ernn-har2-k1")
    inputs = sample("har2", "channel").inputs[[20], 39::40]  # the sequences that ship, wherever the whole set lies
    ds = ernn_manifold(system, inputs)
    z = ds["equilibrium"].values[0, 0, 1:]
    V, H, W, b = (p.detach().double().numpy() for p in (system.U.V, system.U.H, system.W, system.b))
    U = np.eye(len(V)) + V @ H
    assert np.isfinite(z).all()
    assert np.abs(z - np.maximum((z @ U.T + inputs[0] @ W.T + b) @ U.T, 0)).max() < 1e-11


@pytest.mark.parametrize("rank, activation", [(None, "tanh"), (5, "relu")])
def test_eigenvalues_are_those_of_the_jacobian_of_F_whose_rank_the_count_of_active_units_bounds(rank, activation):
    system = made("ernn", input_size=3, state_size=24, length=12, inner_steps=2, rank=rank, activation=activation)
    inputs = np.random.default_rng(1).normal(size=(2, 12, 3))
    ds = ernn_spectrum(system, inputs, times=12)
    h, U = torch.zeros(24, dtype=torch.float64), matrix_of(system.U)
    for t, x in enumerate(torch.from_numpy(inputs[0])):
        new = system.step(h, x, t)
        exact = np.linalg.eigvals(inner_jacobian(system, new, h, x))
        assert eigenvalue_distance(ds["inner_eigenvalue"].values[0, t], exact) < (1e-12 if rank is None else 1e-6)
        inactive = int((U @ (U @ (new + h) + system.W @ x + system.b) <= 0).sum())
        assert rank is None or int(ds["inner_rank"][0, t]) <= inactive + rank
        h = new
    assert (int(ds["inner_rank"].min()) < 24) == (rank is not None)
