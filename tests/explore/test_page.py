"""The explorer as a file: self-contained, small; its links; its Python lines and commands."""

import json
import re
import shlex
import subprocess

import numpy as np
import pytest
from node import NODE

import dynlab as dl
from dynlab import io
from dynlab.cli.main import run
from dynlab.diagnostics.phase_plane import orbits
from dynlab.explore import explorer_page
from dynlab.explore.page import planar_fragment

LARGEST = 400_000  # bytes
STATE = (
    "W=0,-2,2,0&gamma=0.15&leak=0.5&step=0.2&bias=0.1,0&input=0,0.2"
    "&gateBias=-1&steps=30&half=2&activation=relu&integrator=rk4&past=1&gated=0&starts=0.5,0;1,1"
)


def test_it_is_one_small_file_that_asks_for_no_other():
    page = explorer_page()
    assert len(page.encode()) <= LARGEST
    asks = r"<(?:script|img|iframe)[^>]+src=|<link[^>]+href=\"(?!data:)|@import|fetch\(|XMLHttpRequest"
    assert re.findall(asks, page) == []
    assert set(re.findall(r"https?://[^\s\"'`]+", page)) <= {"http://www.w3.org/2000/svg"}


def test_what_it_opens_with_cannot_end_its_script():
    assert "</script><b>" not in explorer_page(network={"name": "</script><b>"})


def test_a_link_is_read_as_it_is_written(in_node):
    expression = "[state.fromFragment(given, {}), state.toFragment(state.fromFragment(given, {}).state)]"
    read, again = in_node(expression, STATE, "state")
    assert read["problem"] == ""
    assert again == STATE
    assert read["state"]["starts"] == [[0.5, 0], [1, 1]]


BROKEN = {
    "gamma=abc": "gamma is “abc”, which is not a number",
    "step=0": "step is 0, which is not between",
    "activation=softmax": "activation is “softmax”",
    "starts=1,2;3": "starts has 1 numbers in place of 2",
    "spam=1": "“spam”, which this page does not know",
    "W=%E0%A4%A": "not written as a link is",
    "textbook=logistic,5": "r is 5, which is not between 0 and 4",
    "flow=y%2C%20f(x)": "“f” is none of sin, cos",
    "flow=y,x&set=mu:a": "set is “a”, which is not a number",
}
BROKEN_NETWORKS = {
    "networkStart=fixed,3": "networkStart is 3, which is not between 0 and 2",
    "networkStart=sphere,1": "networkStart is “sphere”, which is none of fixed, plane",
    "networkStep=20001": "which is not between 0 and 20000",
    "networkStep=9&networkPulses=4,1,1,1;4,2,1,1": "each needs a later step",
    "networkStep=9&networkPulses=10,1,1,1": "after the last step, 9",
    "networkStep=99&networkPulses=" + ";".join(f"{i},1,1,1" for i in range(41)): "40 is the most",
}
HELD = """{ points: 3, inputs: 2, atFirst: network_state.atFirst([{ stable: 0 }, { stable: 1 }, { stable: 1 }]) }"""


@pytest.mark.parametrize("broken, held", [(BROKEN, "null"), (BROKEN_NETWORKS, HELD)], ids=["plane", "network"])
def test_a_broken_link_is_said_and_changes_nothing(broken, held, in_node):
    expression = f"given.map((link) => state.fromFragment(`#half=3&${{link}}`, {{ kept: 1 }}, {held}))"
    found = in_node(expression, list(broken), "state", "network_state")
    for link, each in zip(broken, found, strict=True):
        assert each["state"] == {"kept": 1}
        assert broken[link] in each["problem"]
        assert each["problem"].endswith("The preset is shown in its place.")


OF_NETWORK = (
    "networkStart=plane,0.3,-0.2&networkPulses=0,1,-1,1;12,2,0.5,10"
    "&networkStep=20&networkSize=0.5&networkLength=10&networkSpeed=3&networkRunning=1"
)


def test_a_link_of_a_network_is_read_as_it_is_written(in_node):
    expression = f"""(() => {{
        const {{ state: read, problem }} = state.fromFragment(given, {{}}, {HELD});
        return [read.network, problem, network_state.networkParts(read.network).join("&")];
    }})()"""
    read, problem, again = in_node(expression, OF_NETWORK, "state", "network_state")
    assert (problem, again) == ("", OF_NETWORK)
    assert (read["pulses"], read["step"], read["running"]) == ([[0, 1, -1, 1], [12, 2, 0.5, 10]], 20, 1)


def test_a_network_opens_at_its_first_memory(in_node):
    expression = f"""[
        state.fromFragment("networkStep=5", {{ network: {{ step: 9, pulses: [[8, 1, 1, 1]] }} }}, {HELD}).state.network,
        network_state.atFirst([{{ stable: 0 }}]).start,
    ]"""
    read, without = in_node(expression, None, "state", "network_state")
    assert (read["start"], read["pulses"], read["step"], read["running"]) == (["fixed", 1], [], 5, 0)
    assert without == ["plane", 0, 0]


@pytest.mark.parametrize("kind", ["feedback", "vanilla", "linear", "flow"])
def test_a_planar_system_is_the_pages_cell(kind, in_node):
    fragment = planar_fragment("diff", kind, starts=[(0.3, -0.2)], steps=3)
    expression = "portrait.portrait(state.fromFragment(given, presets.presetNamed('h').state).state).orbits[0].map"
    orbit = np.array(in_node(expression, fragment, "portrait", "state", "presets"))
    W = np.array([[-0.15, -2], [2, -0.15]])
    step = {
        "vanilla": lambda h: np.tanh(W @ h),
        "linear": lambda h: W @ h,
    }.get(kind, lambda h: h + 0.1 * np.tanh(W @ h))
    expected = [np.array([0.3, -0.2])]
    for _ in range(3):
        expected.append(step(expected[-1]))
    assert np.allclose(orbit, expected, atol=1e-14)


@pytest.mark.parametrize(
    "name, changed",
    [
        ("a", {}),
        ("gated", {"integrator": "implicit-midpoint", "activation": "sigmoid"}),
        ("fastrnn", {"integrator": "exponential-euler", "step": 0.8}),
    ],
)
def test_its_python_lines_make_the_same_orbits(name, changed, in_node):
    state = f"{{ ...presets.presetNamed('{name}').state, steps: 20, ...{json.dumps(changed)} }}"
    lines = in_node(f"exports.pythonLines({state})", None, "exports", "presets")
    orbits = in_node(f"portrait.portrait({state}).orbits.map((orbit) => orbit.map)", None, "portrait", "presets")
    made = {}
    exec(compile(lines.partition("ds = ")[0], "lines", "exec"), made)
    ds = dl.simulate(made["system"], initial_state=made["starts"], steps=20)
    assert np.allclose(ds["trajectory"].values, orbits, atol=1e-12)


def test_its_python_lines_add_no_orbit(in_node, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(orbits, "MOST_STEPS", 8)  # which are drawn, and take long
    state = "{ ...presets.presetNamed('memories').state, starts: [] }"
    lines = in_node(f"exports.pythonLines({state})", None, "exports", "presets")
    kinds = "points.map((each) => [each.state, each.flow.name, each.map.name])"
    points = in_node(f"portrait.portrait({state}).{kinds}", None, "portrait", "presets")
    made = {}
    exec(compile(lines, "lines", "exec"), made)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(points) == 9
    for (x, y), flow, step in points:
        found = made["ds"]["equilibrium"].values - [x, y]
        (i,) = np.flatnonzero(np.abs(found).max(axis=1) < 1e-9)
        assert (made["ds"]["flow_kind"].values[i], made["ds"]["map_kind"].values[i]) == (flow, step)
    assert (tmp_path / "phase-plane.png").is_file()


def test_its_command_makes_the_same_orbits(in_node, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = "presets.presetNamed('h').state"
    command = in_node(f"exports.commandLine({state})", None, "exports", "presets")
    last = f"portrait.portrait({state}).orbits.map((orbit) => orbit.map[50])"
    ends = in_node(last, None, "portrait", "presets")
    assert run([*shlex.split(command)[1:], "--save", "orbits.nc", "--quiet"]) == 0
    assert np.allclose(io.open("orbits.nc")["trajectory"].values[:, -1], ends, atol=1e-10)


def test_what_no_other_command_has_is_a_state_of_this_one(in_node):
    command = in_node("exports.commandLine(presets.presetNamed('fastrnn').state)", None, "exports", "presets")
    program, name, option, fragment = shlex.split(command)
    assert (program, name, option) == ("dynlab", "explore", "--state")
    assert in_node("state.fromFragment(given, {}).problem", fragment, "state") == ""


def test_its_scripts_are_javascript(tmp_path):
    if NODE is None:
        pytest.skip("node is not installed: the pages' own code is not run")
    for kind, script in re.findall(
        r'<script type="(module|text/plain)"[^>]*>(.*?)</script>', explorer_page(), re.DOTALL
    ):
        file = tmp_path / "script.mjs"
        file.write_text(script, encoding="utf-8")
        subprocess.run([NODE, "--check", str(file)], check=True)
        assert kind == "text/plain" or len(script) > 100_000
