"""Typed equations are the systems that they say, and nothing of their text is run."""

import math

import pytest
import torch

from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems import frozen
from dynlab.systems.equations import FUNCTIONS, EquationFlow, EquationMap

NONE = torch.zeros(0, dtype=torch.float64)
AT = torch.tensor([0.3, 0.7], dtype=torch.float64)


def test_a_flow_is_the_velocity_and_its_jacobian_in_closed_form():
    flow = frozen(EquationFlow("y, -x + mu*y*(1 - x^2)", mu=1.5))
    x, y = AT.tolist()
    assert flow.velocity(AT, NONE).tolist() == pytest.approx([y, -x + 1.5 * y * (1 - x * x)], rel=1e-15)
    expected = [[0, 1], [-1 - 3 * x * y, 1.5 * (1 - x * x)]]
    assert torch.allclose(jacobian(flow, AT, NONE).dense(), torch.tensor(expected).double(), rtol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_its_value_and_slope(name):
    known = {"sigmoid": lambda p: 1 / (1 + math.exp(-p)), "softplus": lambda p: math.log1p(math.exp(p))}
    f = known.get(name) or getattr(math, name, abs)
    system = frozen(EquationMap(f"{name}(x)"))
    assert system.step(AT[:1], NONE).item() == pytest.approx(f(0.3), rel=1e-15)
    slope = (f(0.3 + 1e-5) - f(0.3 - 1e-5)) / 2e-5
    assert jacobian(system, AT[:1], NONE).dense().item() == pytest.approx(slope, rel=1e-8)


def test_states_have_the_names_that_their_number_gives():
    four = EquationMap("w, z, y, x + 1")
    assert four.step(torch.arange(4.0).double(), NONE).tolist() == [3, 2, 1, 1]
    five = EquationMap("x5, x4, x3, x2, 2")
    assert five.step(torch.arange(5.0).double(), NONE).tolist() == [4, 3, 2, 1, 2]


@pytest.mark.parametrize(
    "text, numbers, sentence",
    [
        ("y, __import__('os').system('touch ran')", {}, "is not an expression"),
        ("y, x if x else y", {}, "is not an expression"),
        ("y, q*x", {}, "q in 'y, q\\*x' has no value: give it one by --set q=1"),
        ("y, x", {"q": 1}, "q=1 sets nothing"),
        ("y, x +", {}, "is not a list of expressions"),
    ],
)
def test_what_is_no_expression_is_refused_and_never_run(text, numbers, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=sentence):
        EquationFlow(text, **numbers)
    assert list(tmp_path.iterdir()) == []
