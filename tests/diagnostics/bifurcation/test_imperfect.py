"""Branches that nearly meet: folds against closed forms in many digits, and no branch point that does not exist."""

import numpy as np
import pytest
import torch

import problems
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


@pytest.mark.parametrize("offset, searches", [(1e-3, 3), (1e-9, 3)])
def test_an_offset_turns_the_transcritical_point_into_two_folds(offset, searches):
    ds = bifurcation(
        from_function(Logistic(offset), 1), parameter="r", **OPTIONS | {"searches": searches}, largest_state=5.0
    )
    check(ds, problems.imperfect_logistic_folds(offset))


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
