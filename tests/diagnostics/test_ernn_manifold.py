"""ERNN on its equilibrium manifold: the identity h_k = z*(x_k) − h_{k−1}, against equilibria found in another way."""

import numpy as np

from dynlab import zoo
from dynlab.diagnostics.ernn.manifold import ernn_manifold, random_planar_networks
from dynlab.tasks.har import sample


def iterated(example, inputs):
    """Equilibria by the contraction z ← tanh(U z + W x + b), 2,000 times in NumPy."""
    U, W, b = (p.detach().numpy() for p in (example.system.U.weight, example.system.W, example.system.b))
    assert np.linalg.norm(U, 2) < 1
    z = np.zeros((len(inputs), 2))
    for _ in range(2000):
        z = np.tanh(z @ U.T + inputs @ W.T + b)
    return z


def test_every_state_is_the_equilibrium_less_the_state_before_and_the_curve_the_manifold():
    example = random_planar_networks(steps=120)
    ds = ernn_manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)
    h = ds["trajectory"].sel(network="ernn").values[0]
    z = iterated(example, example.inputs)
    assert np.abs(h[1:] - (z - h[:-1])).max() < 1e-14
    assert ds["distance"].sel(network="ernn").values[0, 1:].max() < 1e-14

    assert np.abs(ds["curve"].values - iterated(example, ds["x"].values[:, None])).max() < 1e-12
    assert ds["x"].values[[0, -1]].tolist() == [example.inputs.min(), example.inputs.max()]


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
