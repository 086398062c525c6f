"""Equations typed into the explorer: what the page reads and computes of them is what Python does."""

import json
import shlex

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.cli.main import run
from dynlab.errors import UserError
from dynlab.explore.page import equations_fragment
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
BROKEN = [
    *("x", "x, y, x", "x y, y", "x +, y", "(x, y", "f(x), y", "sin, y", "sin(x, y", "2x, y"),
    *("x//y, y", "", "x, __import__('os')", "x.real, y", "x[0], y", "x = 1, y", "1e, y"),
]
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


def test_both_languages_have_the_same_functions(in_node):
    assert in_node("Object.keys(equations.FUNCTIONS)", None, "equations") == list(equations.FUNCTIONS)


def test_what_is_no_pair_of_equations_is_refused_in_both_languages(in_node):
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


def test_the_command_opens_the_page_with_sliders_for_the_numbers(folder_of_page, in_node):
    assert run(["explore", "--flow", TEXTS[0], "--set", "mu=2", "--start", "1,0", "-o", "page.html", "--quiet"]) == 0
    page = folder_of_page.joinpath("page.html").read_text(encoding="utf-8")
    opening = json.loads(page.partition('id="opening">')[2].partition("</script>")[0])
    expression = "[state.fromFragment(given, {}), state.toFragment(state.fromFragment(given, {W: []}).state)]"
    read, again = in_node(expression, opening["fragment"], "state")
    assert read["problem"] == ""
    assert (read["state"]["flow"], read["state"]["set"]) == (TEXTS[0], {"mu": 2})
    assert f"&{equations_fragment(TEXTS[0], {'mu': 2}).partition('&integrator')[0]}&" in again


@pytest.fixture
def folder_of_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_its_python_lines_and_command_make_the_same_orbits(in_node, folder_of_page, monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    state = "{ ...presets.presetNamed('h').state, flow: 'y - x, -x - mu*y', set: { mu: 1.5 }, steps: 20 }"
    lines, command = in_node(
        f"[exports.pythonLines({state}), exports.commandLine({state})]", None, "exports", "presets"
    )
    ends = in_node(f"portrait.portrait({state}).orbits.map((orbit) => orbit.map[20])", None, "portrait", "presets")
    made = {}
    exec(compile(lines, "lines", "exec"), made)
    np.testing.assert_allclose(made["ds"]["trajectory"].values[:, -1], ends, atol=1e-12)
    assert run([*shlex.split(command)[1:], "--save", "numbers.nc", "--no-figure", "--quiet"]) == 0
    np.testing.assert_allclose(dl.open("numbers.nc")["trajectory"].values[:, -1], ends, atol=1e-12)
