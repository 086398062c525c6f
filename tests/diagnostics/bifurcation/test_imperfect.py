"""Branches that nearly meet: folds against closed forms in many digits, and no branch point that does not exist."""

import numpy as np
import pytest
import torch

import problems
from dynlab import from_module
from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.systems import Flow, create, from_function

OPTIONS = {"lowest": 0.5, "highest": 1.5, "values": 0, "searches": 3}


class Logistic(torch.nn.Module):
    """x ↦ r x (1 − x) − c, moved by `shift`."""

    def __init__(self, c, shift=0.0):
        super().__init__()
        self.r, self.c, self.shift = 1.0, c, shift

    def forward(self, state, input):
        x = state - self.shift
        return self.r * x * (1 - x) - self.c + self.shift


def tanh(matrix, bias):
    system = create("vanilla", input_size=1, state_size=len(matrix)).double().requires_grad_(False)
    system.W.copy_(torch.tensor(matrix, dtype=torch.float64))
    system.V.zero_()
    system.b.fill_(bias)
    return system


def gru(bias):
    """h = tanh(w h + b) with the reset gate at 1/2 and a weight of 2 w."""
    module = torch.nn.GRU(1, 1).double()
    with torch.no_grad():
        for weight in module.parameters():
            weight.zero_()
        module.weight_hh_l0[2] = 2.0
        module.bias_ih_l0[1], module.bias_ih_l0[2] = 0.3, bias
    return from_module(module)


def check(ds, folds):
    """Folds where they are, within their stated errors, and nothing else."""
    assert ds["bifurcation_kind"].values.tolist() == ["fold"] * len(folds)
    order = np.argsort(ds["bifurcation_parameter"].values)
    errors = ds["bifurcation_parameter_error"].values[order]
    assert (np.abs(ds["bifurcation_parameter"].values[order] - folds) <= errors).all()
    assert (errors <= 1e-8).all()
    assert ds["bifurcation_converged"].values.all()


@pytest.mark.parametrize("bias, searches", [(1e-3, 3), (1e-8, 3)])
def test_a_bias_turns_the_pitchfork_into_one_fold(bias, searches):
    ds = bifurcation(tanh([[1.0]], bias), parameter="W[0,0]", **OPTIONS | {"searches": searches})
    fold, state = problems.imperfect_tanh_fold(bias)
    check(ds, [fold])
    np.testing.assert_allclose(ds["bifurcation_state"].values[0], [state], rtol=1e-5)
    assert ds.sizes["branch"] == 2


@pytest.mark.parametrize("bias", [1e-6])
def test_of_torchs_own_network(bias):
    module = torch.nn.RNN(1, 1).double()
    with torch.no_grad():
        module.weight_hh_l0.fill_(1.0)
        module.bias_ih_l0.fill_(bias)
        module.bias_hh_l0.zero_()
    ds = bifurcation(from_module(module), parameter="weight_hh*", **OPTIONS)
    check(ds, [problems.imperfect_tanh_fold(bias)[0]])


def test_of_a_gated_network():
    check(bifurcation(gru(1e-9), parameter="weight_hh*", **OPTIONS), [problems.imperfect_tanh_fold(1e-9)[0]])


def test_of_two_coupled_units():
    """Both units alike, h = tanh(1.25 w h + b); they part at 4/3, which is out of the range."""
    ds = bifurcation(tanh([[1.0, 0.25], [0.25, 1.0]], 1e-7), parameter="W*", **OPTIONS | {"highest": 1.1})
    check(ds, [problems.imperfect_tanh_fold(1e-7)[0] / 1.25])


@pytest.mark.parametrize("offset, searches", [(1e-3, 3), (1e-9, 3)])
def test_an_offset_turns_the_transcritical_point_into_two_folds(offset, searches):
    ds = bifurcation(
        from_function(Logistic(offset), 1), parameter="r", **OPTIONS | {"searches": searches}, largest_state=5.0
    )
    check(ds, problems.imperfect_logistic_folds(offset))


def test_or_into_none():
    ds = bifurcation(from_function(Logistic(-1e-9), 1), parameter="r", **OPTIONS, largest_state=5.0)
    check(ds, [])


class Crossing(torch.nn.Module):
    """h − 0.3 ((h − p/2) (h − 2p + 1/4) + c), whose branches cross at p = 1/6 where c is 0."""

    def __init__(self, c):
        super().__init__()
        self.p, self.c = 0.0, c

    def forward(self, state, input):
        return state - 0.3 * ((state - 0.5 * self.p) * (state - (2 * self.p - 0.25)) + self.c)


def test_straight_branches_cross():
    options = OPTIONS | {"lowest": -1.0, "highest": 1.0}
    ds = bifurcation(from_function(Crossing(0.0), 1), parameter="p", **options)
    assert ds["bifurcation_kind"].values.tolist() == ["transcritical"]
    error = ds["bifurcation_parameter_error"].values[0]
    assert abs(ds["bifurcation_parameter"].values[0] - 1 / 6) <= error


@pytest.mark.parametrize("above", [1e-2, 1e-4])
def test_both_folds_beside_a_cusp(above):
    """h = tanh(u h + q) at u just above 1: the parameter turns twice within √(u − 1) of the state."""
    u = 1 + above
    ds = bifurcation(tanh([[u]], 0.0), parameter="b[0]", **OPTIONS | {"lowest": -1.0, "highest": 1.0})
    check(ds, [-problems.tanh_fold(u), problems.tanh_fold(u)])


class Adler(Flow):
    """x' = a − sin x − τ x: one curve of equilibria, with a fold where cos x = −τ."""

    def __init__(self, tilt):
        super().__init__(1, 0)
        self.a, self.tilt = 0.5, tilt

    def velocity(self, state, input, t=0):
        return self.a - torch.sin(state) - self.tilt * state


@pytest.mark.parametrize("tilt", [0.0, 1e-6])
def test_the_turns_of_one_wave_are_one_branch_with_every_fold(tilt):
    found = bifurcation(Adler(tilt), parameter="a", lowest=-2.0, highest=2.0, largest_state=20.0, values=0)
    states = found["bifurcation_state"].values[:, 0]
    assert found.sizes["branch"] == 1
    assert found["bifurcation_kind"].values.tolist() == 12 * ["fold"]  # |x| < 20
    assert np.cos(states) == pytest.approx(np.full(12, -tilt), abs=1e-9)
    assert found["bifurcation_parameter"].values == pytest.approx(np.sin(states) + tilt * states, abs=1e-9)
