"""ERNN's ∇F against an independent computation, and the bound on its rank that Lemma 1 overlooks."""

import numpy as np
import torch

from dynlab.diagnostics.ernn.spectrum import ernn_spectrum
from dynlab.systems.ernn import matrix_of
from problems import eigenvalue_distance, made


def make(rank, activation):
    return made("ernn", input_size=3, state_size=24, length=12, inner_steps=2, rank=rank, activation=activation)


INPUTS = np.random.default_rng(1).normal(size=(2, 12, 3))


def test_eigenvalues_are_those_of_the_jacobian_of_F_by_automatic_differentiation():
    system = make(None, "tanh")
    ds = ernn_spectrum(system, INPUTS, times=12)
    h = torch.zeros(24, dtype=torch.float64)
    for t, x in enumerate(torch.from_numpy(INPUTS[0])):
        new = system.step(h, x, t)
        found = ds["inner_eigenvalue"].values[0, t]
        exact = np.linalg.eigvals(torch.func.jacrev(system.inner_velocity)(new, h, x).detach().numpy())
        assert eigenvalue_distance(found, exact) < 1e-12
        h = new


def test_a_low_rank_relu_net_is_singular_as_the_count_of_active_units_says():
    rank = 5
    system = make(rank, "relu")
    ds = ernn_spectrum(system, INPUTS, times=12)
    h = torch.zeros(24, dtype=torch.float64)
    for t, x in enumerate(torch.from_numpy(INPUTS[0])):
        new = system.step(h, x, t)
        U = matrix_of(system.U)
        inactive = int((U @ (U @ (new + h) + system.W @ x + system.b) <= 0).sum())
        assert int(ds["inner_rank"][0, t]) <= inactive + rank
        h = new
    assert int(ds["inner_rank"].min()) < 24
