"""The energy against its closed forms: conserved, dissipated at −γ |f|², and drifts with the integrators' orders."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from dynlab import energy
from dynlab.matrices import planar_matrix
from dynlab.systems.antisymmetric import AntisymmetricFlow
from dynlab.systems.planar import planar_system


@pytest.mark.parametrize("gamma", [0.0, 0.15])
def test_diffusion_dissipates_it_at_gamma_f_squared(gamma):
    """Ḣ = −γ |f|² and the divergence −γ Σ (1 − tanh²), at the states of the solution found another way."""
    torch.manual_seed(0)
    flow = AntisymmetricFlow(1, 4, gamma=gamma).double()
    held = [0.3]
    ds = energy(flow, at=held, initial_state=np.ones(4), step_size=0.1, steps=100, integrators=["rk4"])
    x = torch.tensor(held, dtype=torch.float64)
    settings = {"t_eval": ds.time.values, "method": "DOP853", "rtol": 1e-12, "atol": 1e-13}

    def velocity(_, h):
        return flow.velocity(torch.from_numpy(h), x).detach().numpy()

    solved = solve_ivp(velocity, (0.0, float(ds.time[-1])), np.ones(4), **settings)
    f = flow.velocity(torch.from_numpy(solved.y.T), x).detach().numpy()
    assert np.allclose(ds.dissipation, -gamma * (f**2).sum(axis=-1), rtol=1e-9, atol=1e-12)
    assert np.allclose(ds.divergence, -gamma * (1 - f**2).sum(axis=-1), rtol=1e-9)
    assert abs(ds.balance).max() < 1e-10


ORDERS = {"euler": 1, "midpoint": 2, "rk4": 4, "implicit-midpoint": 2, "exponential-euler": 1}


@pytest.mark.parametrize("name", ORDERS)
def test_the_drift_has_the_integrators_order(name):
    """On W₊, where the error of no method happens to be perpendicular to the gradient of H."""
    asked, drifts = {"initial_state": [-0.5, -0.5], "integrators": [name]}, []
    for step in (0.025, 0.0125):
        ds = energy(planar_system(planar_matrix("plus")), step_size=step, steps=round(1 / step), **asked)
        drifts.append(float(abs(ds.drift).max()))
    assert np.log2(drifts[0] / drifts[1]) == pytest.approx(ORDERS[name], abs=0.1)
