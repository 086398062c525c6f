"""Equations typed into the explorer: what the page reads and computes of them is what Python does."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems import equations

TEXTS = [
    "y, -x + mu*y*(1 - x^2)",
    "-x^2 + 2*-y**3, 1 - -x",
    "(x - y)/(1 + x^2) - 3e-1*.5, x^2^1/2 - e*pi + 2^-y",
    "+x*-y/4 - 2/3/4*x - 1 - 2, -(-(x))",
    "x^mu + mu^x, (1 + x*x)^(y/3)",
    *(f"{name}(1 + mu*x*x + y*y/7) + x, 0.3*{name}(0.2 + x*x)*y" for name in equations.FUNCTIONS),
    "relu(x) - abs(y), relu(-x)*abs(x - y)",
    "tan(x)*atan(y), sin(cos(x*y))",
]
BROKEN = ["x", "x, y, x", "x y, y", "(x, y", "f(x), y", "sin, y", "2x, y", "x//y, y", "", "x.real, y", "x = 1, y"]
SHOWN = """given.map(([text, set, states]) => {
    const made = cell.makeCell({ flow: text, set, integrator: "euler", step: 0.1 });
    return states.map((h) => [made.field(h), made.jacobian(h), made.slopeSize(h)]);
})"""


@pytest.fixture(scope="module")
def cases():
    states = np.random.default_rng(0).uniform(0.05, 1.3, size=(20, 2))
    states[10:] *= np.array([-1, 1])
    return [(text, {"mu": 1.5} if "mu" in text else {}, states) for text in TEXTS]


def test_values_and_slopes_at_random_points_are_pythons(cases, in_node):
    found = in_node(SHOWN, [(text, numbers, states.tolist()) for text, numbers, states in cases], "cell")
    for (text, numbers, states), each in zip(cases, found, strict=True):
        flow = dl.EquationFlow(text, **numbers)
        points, nothing = torch.tensor(states), torch.zeros(0).double()
        values = flow.velocity(points, nothing).numpy()
        slopes = np.stack([jacobian(flow, point, nothing).dense().detach().numpy().ravel() for point in points])
        shown, shown_slopes = (np.array([one[i] for one in each], dtype=float) for i in (0, 1))
        np.testing.assert_allclose(shown, values, rtol=1e-13, atol=1e-14, err_msg=text)
        sizes = np.array([[float(one[2])] for one in each])
        known = np.isfinite(slopes)  # a power of a negative base is no number in either language
        assert (np.abs(shown_slopes - slopes) <= 1e-14 * (8 * sizes + 1e-3))[known].all(), text
        assert known[:10].all()


def test_both_languages_have_the_same_functions_and_refuse_what_is_no_pair_of_equations(in_node):
    assert in_node("Object.keys(equations.FUNCTIONS)", None, "equations") == list(equations.FUNCTIONS)
    attempt = "(() => { try { equations.readEquations(text); return ''; } catch (error) { return error.message; } })()"
    for text, problem in zip(BROKEN, in_node(f"given.map((text) => {attempt})", BROKEN, "equations"), strict=True):
        assert problem, text
        assert not problem.startswith("Cannot"), text
        try:
            assert dl.EquationFlow(text).state_size != 2, text
        except UserError:
            continue


def test_the_kinds_of_typed_equations(in_node):
    """Van der Pol's origin, two sinks and a saddle of the double well, and a center that rounding leaves open."""
    texts = ["y, -x + mu*y*(1 - x^2)", "x - x^3, -y", "y, -x", "-abs(x), -y"]
    state = "{ ...presets.presetNamed('h').state, flow: text, set: { mu: 1 } }"
    expression = f"given.map((text) => portrait.portrait({state}).points.map((p) => [p.state[0], p.flow.name]))"
    pol, well, center, kink = in_node(expression, texts, "portrait", "presets")
    assert pol == [[0, "unstable focus"]]
    assert sorted(well) == [
        [pytest.approx(-1), "stable node"],
        [0, "saddle"],
        [pytest.approx(1), "stable node"],
    ]
    assert center == [[0, "undecided, near center"]]
    assert kink[0][1].startswith("undecided")
