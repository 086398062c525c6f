"""The equation of a branch: its derivatives against differences, and what a parameter's name means."""

import math

import numpy as np
import pytest
import torch

from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.diagnostics.bifurcation.equation import SolutionCurve
from dynlab.diagnostics.bifurcation.parameters import Varied, named
from dynlab.errors import UserError
from dynlab.systems import Flow, Map, create, frozen
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

CASES = [
    ("logistic", {}, "r"),
    ("henon", {}, "b"),
    ("lorenz", {}, "rho"),
    ("antisymmetric", {"input_size": 1, "state_size": 4}, "gamma"),
    ("antisymmetric", {"input_size": 1, "state_size": 4}, "step_size"),
    ("antisymmetric", {"input_size": 1, "state_size": 4}, "M*"),
    ("feedback", {"input_size": 2, "state_size": 2}, "W[0,1]"),
    ("feedback", {"input_size": 2, "state_size": 2}, "step_size"),
    ("vanilla", {"input_size": 2, "state_size": 3}, "W[1,2]"),
    ("vanilla", {"input_size": 2, "state_size": 3}, "input[1]"),
    ("gru", {"input_size": 2, "hidden_size": 3, "num_layers": 2}, "cells.1.weight_hh*"),
    ("lstm", {"input_size": 2, "hidden_size": 3}, "bias_hh"),
    ("ernn", {"input_size": 2, "state_size": 3, "length": 4}, "eta"),
    ("ernn-exact", {"input_size": 2, "state_size": 3}, "b[0]"),
    ("exprnn", {"input_size": 2, "state_size": 4}, "B*"),
]
DIFFERENCE = 1e-5


def equation(name, config, parameter, period=1):
    torch.manual_seed(0)
    system = frozen(create(name, **config))
    held = torch.linspace(0.3, 0.7, system.input_size, dtype=torch.float64)
    return SolutionCurve(
        Varied(Held(system, held), (named(system, parameter),)), np.ones(system.state_size), 0.0, 1.0, period
    )


@pytest.mark.parametrize("name, config, parameter", CASES)
def test_derivatives_are_the_quotients_of_differences(name, config, parameter):
    found = equation(name, config, parameter)
    found = found.of_period(3 if found.is_map else 1)
    size = found.varied.system.state_size
    state, p = 0.3 * torch.randn(size, dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64)
    matrix, by_p = found.linear(state, p)
    quotient = (found.value(state, p + DIFFERENCE) - found.value(state, p - DIFFERENCE)) / (2 * DIFFERENCE)
    torch.testing.assert_close(by_p, quotient, rtol=1e-7, atol=1e-8)
    assert by_p.abs().max() > 1e-6
    steps = DIFFERENCE * torch.eye(size, dtype=torch.float64)
    columns = [(found.value(state + e, p) - found.value(state - e, p)) / (2 * DIFFERENCE) for e in steps]
    by_state = matrix - torch.eye(size, dtype=torch.float64) if found.is_map else matrix
    torch.testing.assert_close(by_state, torch.stack(columns, dim=-1), rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(found.matrix(state, p), matrix)


@pytest.mark.parametrize("name, config, parameter", CASES)
def test_a_value_fixed_for_good_is_the_value_put_in(name, config, parameter):
    varied = equation(name, config, parameter).varied
    method = "velocity" if isinstance(varied.system, Flow) else "step"
    states = torch.randn(2, varied.system.state_size, dtype=torch.float64)
    held, value = varied.fixed(0.9), torch.tensor([0.9], dtype=torch.float64)
    torch.testing.assert_close(varied.at(value, method, states), held.moved(states), rtol=1e-14, atol=1e-14)
    of_program = held_matrices(held, states)  # torch differentiates what varies
    torch.testing.assert_close(varied.at(value, "jacobian", states), of_program, rtol=1e-12, atol=1e-13)
    before = varied.system.state_dict()
    varied.at(torch.tensor([0.2], dtype=torch.float64), method, states)
    assert all(torch.equal(value, before[key]) for key, value in varied.system.state_dict().items())


@pytest.mark.parametrize(
    "name, config, parameter, sentence",
    [
        ("lorenz", {}, "rh", "Unknown parameter 'rh'.*did you mean 'rho'"),
        ("henon", {}, "a+b", "is written as a number's name"),
        ("vanilla", {"input_size": 2, "state_size": 3}, "W[3,0]", "has 3 × 3 entries, counted from 0"),
        ("vanilla", {"input_size": 2, "state_size": 3}, "W[1]", "has 3 × 3 entries"),
        ("vanilla", {"input_size": 2, "state_size": 3}, "input", "has 2 entries"),
        (
            "rnn",
            {"input_size": 2, "hidden_size": 3, "num_layers": 2},
            "weight_hh*",
            "several weights.*name one in full",
        ),
    ],
)
def test_a_name_that_means_nothing_or_several_is_one_sentence(name, config, parameter, sentence):
    with pytest.raises(UserError, match=sentence):
        named(frozen(create(name, **config)), parameter)


class OfW(Map):
    """A map of one state with the parameter w."""

    def __init__(self, f):
        super().__init__(1, 0)
        self.w, self.f = 1.0, f

    def step(self, state, input, t=0):
        return self.f(self.w, state)


@pytest.mark.parametrize(
    "f",
    [
        lambda w, h: h * math.cos(w),
        lambda w, h: h * torch.tensor(w),
        lambda w, h: h * 0.5 if w < 1 else h * 0.2,
    ],
)
@pytest.mark.filterwarnings("ignore:To copy construct")
def test_a_parameter_that_is_taken_as_a_number_of_pythons_is_refused_in_a_sentence(f):
    with pytest.raises(UserError, match=r"does not compute with w as a tensor .*: take torch\.cos in place"):
        bifurcation(OfW(f), parameter="w", lowest=0.5, highest=3.0, values=0)


class VanDerPol(Flow):
    """x'' = μ (1 − x²) x' − x: at μ = 0 a linear center, whose cubic coefficient is 0."""

    def __init__(self):
        super().__init__(2, 0)
        self.mu = 0.1

    def velocity(self, state, input, t=0):
        x, y = state.unbind(-1)
        return torch.stack([y, self.mu * (1 - x * x) * y - x], -1)


@pytest.mark.parametrize("lowest, highest", [(-1.0, 2.0), (-0.5, 1.7)])
def test_a_cubic_coefficient_that_is_0_at_the_point_itself_has_no_sign(lowest, highest):
    ds = bifurcation(VanDerPol(), parameter="mu", lowest=lowest, highest=highest, values=0, searches=1, starts=8)
    assert ds["bifurcation_kind"].values.tolist() == ["Hopf"]
    assert abs(ds["bifurcation_coefficient"].item()) <= ds["bifurcation_coefficient_error"].item()
    assert ds["bifurcation_criticality"].item() == "undecided"
