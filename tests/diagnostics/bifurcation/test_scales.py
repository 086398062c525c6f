"""Tolerances and times follow the problem's own scale."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.diagnostics.bifurcation.parameter_plane import parameter_plane
from dynlab.systems import Flow, Map, create

SEARCH = {"searches": 1, "starts": 16}


class HodgkinHuxley(Flow):
    """Of the squid's axon, in mV and ms, with the gates m, n and h."""

    def __init__(self):
        super().__init__(4, 0)
        self.I = 0.0

    def velocity(self, state, input, t=0):
        V, m, n, h = state.unbind(-1)

        def rate(u):
            return u / torch.expm1(u)

        rates = [
            (rate(-(V + 40) / 10), 4 * torch.exp(-(V + 65) / 18)),
            (0.1 * rate(-(V + 55) / 10), 0.125 * torch.exp(-(V + 65) / 80)),
            (0.07 * torch.exp(-(V + 65) / 20), 1 / (1 + torch.exp(-(V + 35) / 10))),
        ]
        current = self.I - 120 * m**3 * h * (V - 50) - 36 * n**4 * (V + 77) - 0.3 * (V + 54.387)
        gates = [a * (1 - x) - b * x for x, (a, b) in zip((m, n, h), rates, strict=True)]
        return torch.stack([current, *gates], dim=-1)


def test_both_hopf_points_of_hodgkin_and_huxley_are_regular():
    """A pair of eigenvalues of the Jacobian at each point is on the imaginary axis."""
    ds = bifurcation(HodgkinHuxley(), parameter="I", lowest=0.0, highest=200.0, values=0, **SEARCH)
    assert ds["bifurcation_kind"].values.tolist() == ["Hopf", "Hopf"]
    assert ds["bifurcation_converged"].values.all()
    assert ds["bifurcation_parameter_error"].values.max() < 1e-8
    assert ds["bifurcation_criticality"].values.tolist() == ["subcritical", "supercritical"]
    p, top = ds["branch_parameter"].values, ds["eigenvalue"].values.real.max(axis=1)
    for value in ds["bifurcation_parameter"].values:
        assert top[p < value][-1] * top[p > value][0] < 0
    system = HodgkinHuxley()
    for value, state in zip(ds["bifurcation_parameter"].values, ds["bifurcation_state"].values, strict=True):
        system.I = float(value)
        matrix = torch.func.jacrev(lambda h: system.velocity(h, torch.zeros(0)))(torch.tensor(state)).numpy()
        assert np.abs(np.linalg.eigvals(matrix).real).min() < 1e-9


class BevertonHolt(Map):
    """h ↦ r h/(1 + h/K): at r = 1 the population of K (r − 1) exchanges its stability with 0."""

    def __init__(self, most):
        super().__init__(1, 0)
        self.r, self.most = 0.5, most

    def step(self, state, input, t=0):
        return self.r * state / (1 + state / self.most)


@pytest.mark.parametrize("most", [1.0, 1e6])
def test_a_population_in_any_unit_has_its_transcritical(most):
    ds = bifurcation(BevertonHolt(most), parameter="r", lowest=0.5, highest=1.5, values=0)
    assert ds["bifurcation_kind"].values.tolist() == ["transcritical"]
    np.testing.assert_allclose(ds["bifurcation_parameter"], [1], rtol=1e-12)
    other = ds["branch_state"].values[:, 0] / most
    np.testing.assert_allclose(other * (ds["branch_parameter"] - 1 - other), 0, atol=1e-9)


class FitzHughNagumo(Flow):
    """v' = v − v³/3 − w + I, w' = (v + 0.7 − 0.8 w)/τ, in time units of `unit`."""

    def __init__(self, unit, slow):
        super().__init__(2, 0)
        self.I, self.unit, self.slow = 0.5, unit, slow

    def velocity(self, state, input, t=0):
        v, w = state.unbind(-1)
        return torch.stack([v - v**3 / 3 - w + self.I, (v + 0.7 - 0.8 * w) / self.slow], dim=-1) / self.unit


@pytest.mark.parametrize("unit, slow", [(1.0, 12.5), (100.0, 20.0)])
def test_relaxation_oscillations_settle_in_any_unit_of_time(unit, slow):
    ds = bifurcation(FitzHughNagumo(unit, slow), parameter="I", lowest=0.1, highest=0.9, values=5, **SEARCH)
    assert (ds["settled"] == 1).all()
    reach = np.nanmax(ds["visited"].values, axis=(1, 2)) - np.nanmin(ds["visited"].values, axis=(1, 2))
    rests = ds["parameter"].values < ds["bifurcation_parameter"].values[0]
    assert reach[rests].max() < 1e-4
    assert reach[~rests].min() > 3.5


class Swap(Map):
    """Two units that inhibit each other: at w = 1 the state with both alike gives way to two with one ahead."""

    def __init__(self):
        super().__init__(2, 0)
        self.w = 0.5

    def step(self, state, input, t=0):
        return torch.tanh(0.3 + 0.5 * state - self.w * state.flip(-1))


def test_a_pitchfork_that_swaps_two_units():
    ds = bifurcation(Swap(), parameter="w", lowest=0.5, highest=1.2, values=0, max_period=1)
    assert ds["bifurcation_kind"].values.tolist() == ["pitchfork"]
    (h, other), w = ds["bifurcation_state"].values[0], ds["bifurcation_parameter"].item()
    assert h == pytest.approx(other, abs=1e-9)
    assert h == pytest.approx(np.tanh(0.3 + (0.5 - w) * h), abs=1e-12)
    assert (w + 0.5) * (1 - h**2) == pytest.approx(1, abs=1e-10)  # the multiplier of (1, −1)


def test_just_before_a_flip_orbits_have_not_doubled():
    b = 0.3
    flip = 3 * (1 - b) ** 2 / 4
    ends = {"lowest": (flip - 0.02, 0.299999), "highest": (flip + 0.02, 0.300001)}
    ds = parameter_plane(create("henon"), parameters=("a", "b"), **ends, grid=21)
    assert not ((ds["period"] > 1) & (ds["stable"] == 1)).any()
    assert {1, 2} <= set(ds["period"].values.ravel().tolist())
