"""The explorer as a file: self-contained, small; its links; its Python lines and commands."""

import json
import re
import shlex
import subprocess

import numpy as np
import pytest
from node import NODE

import dynlab as dl
from dynlab.cli.main import run
from dynlab.explore import explorer_page
from dynlab.explore.page import equations_fragment, planar_fragment

LARGEST = 400_000  # bytes
STATE = (
    "W=0,-2,2,0&gamma=0.15&leak=0.5&step=0.2&bias=0.1,0&input=0,0.2"
    "&gateBias=-1&steps=30&half=2&activation=relu&integrator=rk4&past=1&gated=0&starts=0.5,0;1,1"
)
OF_NETWORK = (
    "networkStart=plane,0.3,-0.2&networkPulses=0,1,-1,1;12,2,0.5,10"
    "&networkStep=20&networkSize=0.5&networkLength=10&networkSpeed=3&networkRunning=1"
)
HELD = """{ points: 3, inputs: 2, atFirst: network_state.atFirst([{ stable: 0 }, { stable: 1 }, { stable: 1 }]) }"""


def test_it_is_one_small_file_that_asks_for_no_other():
    page = explorer_page()
    assert len(page.encode()) <= LARGEST
    asks = r"<(?:script|img|iframe)[^>]+src=|<link[^>]+href=\"(?!data:)|@import|fetch\(|XMLHttpRequest"
    assert re.findall(asks, page) == []
    assert set(re.findall(r"https?://[^\s\"'`]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "</script><b>" not in explorer_page(network={"name": "</script><b>"})


def test_its_scripts_are_javascript(tmp_path):
    if NODE is None:
        pytest.skip("node is not installed: the pages' own code is not run")
    scripts = re.findall(r'<script type="(?:module|text/plain)"[^>]*>(.*?)</script>', explorer_page(), re.DOTALL)
    assert max(map(len, scripts)) > 100_000
    for script in scripts:
        (tmp_path / "script.mjs").write_text(script, encoding="utf-8")
        subprocess.run([NODE, "--check", str(tmp_path / "script.mjs")], check=True)


def test_a_link_is_read_as_it_is_written(in_node):
    expression = "[state.fromFragment(given, {}), state.toFragment(state.fromFragment(given, {}).state)]"
    read, again = in_node(expression, STATE, "state")
    assert (read["problem"], again) == ("", STATE)
    assert read["state"]["starts"] == [[0.5, 0], [1, 1]]


def test_a_link_of_a_network_is_read_as_it_is_written_and_without_one_it_opens_at_its_first_memory(in_node):
    expression = f"""given.map((link) => {{
        const {{ state: read, problem }} = state.fromFragment(link, {{}}, {HELD});
        return [read.network, problem, network_state.networkParts(read.network).join("&")];
    }})"""
    (read, problem, again), (opening, *_) = in_node(expression, [OF_NETWORK, "networkStep=5"], "state", "network_state")
    assert (problem, again) == ("", OF_NETWORK)
    assert (read["pulses"], read["step"], read["running"]) == ([[0, 1, -1, 1], [12, 2, 0.5, 10]], 20, 1)
    assert (opening["start"], opening["pulses"]) == (["fixed", 1], [])


BROKEN = {
    "step=0": "step is 0, which is not between",
    "starts=1,2;3": "starts has 1 numbers in place of 2",
    "W=%E0%A4%A": "not written as a link is",
    "flow=y%2C%20f(x)": "“f” is none of sin, cos",
    "networkStep=9&networkPulses=10,1,1,1": "after the last step, 9",
}


def test_a_broken_link_is_said_and_changes_nothing(in_node):
    expression = f"given.map((link) => state.fromFragment(`#half=3&${{link}}`, {{ kept: 1 }}, {HELD}))"
    for link, each in zip(BROKEN, in_node(expression, list(BROKEN), "state", "network_state"), strict=True):
        assert each["state"] == {"kept": 1}
        assert BROKEN[link] in each["problem"]


def test_a_number_is_taken_as_it_is_typed_or_refused(in_node):
    """A browser's field for numbers makes 15 of 1,5 and 13 of 1/3, and says nothing."""
    typed = ["0.5", "-2", "1e-3", "1,5", "1/3", "abc", "1e308", "0x10", ""]
    found = in_node("given.map((text) => Boolean(decimals.refused({ label: 'W' }, text)))", typed, "decimals")
    assert found == [False] * 3 + [True] * 6


@pytest.mark.parametrize("kind", ["feedback", "vanilla", "linear", "flow"])
def test_a_planar_system_is_the_pages_cell(kind, in_node):
    fragment = planar_fragment("diff", kind, starts=[(0.3, -0.2)], steps=3)
    expression = "portrait.portrait(state.fromFragment(given, presets.presetNamed('h').state).state).orbits[0].map"
    orbit = np.array(in_node(expression, fragment, "portrait", "state", "presets"))
    W = np.array([[-0.15, -2], [2, -0.15]])
    steps = {"vanilla": lambda h: np.tanh(W @ h), "linear": lambda h: W @ h}
    step = steps.get(kind, lambda h: h + 0.1 * np.tanh(W @ h))
    assert np.allclose(orbit[0], [0.3, -0.2])
    assert np.allclose(orbit[1:], [step(h) for h in orbit[:-1]], atol=1e-14)


@pytest.mark.parametrize(
    "name, changed",
    [
        ("gated", {"integrator": "implicit-midpoint", "activation": "sigmoid"}),
        ("fastrnn", {"integrator": "exponential-euler", "step": 0.8}),
        ("h", {}),
        ("h", {"flow": "y - x, -x - mu*y", "set": {"mu": 1.5}}),
    ],
)
def test_its_python_lines_and_its_command_make_the_same_orbits(name, changed, in_node, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = f"{{ ...presets.presetNamed('{name}').state, steps: 20, ...{json.dumps(changed)} }}"
    orbits = f"portrait.portrait({state}).orbits.map((orbit) => orbit.map)"
    expression = f"[exports.pythonLines({state}), exports.commandLine({state}), {orbits}]"
    lines, command, shown = in_node(expression, None, "exports", "presets", "portrait")
    made = {}
    exec(compile(lines.partition("ds = ")[0], "lines", "exec"), made)
    ds = dl.simulate(made["system"], initial_state=made["starts"], steps=20)
    assert np.allclose(ds["trajectory"].values, shown, atol=1e-12)
    words = shlex.split(command)[1:]
    if words[0] == "phase":
        assert run([*words, "--save", "orbits.nc", "--no-figure", "--quiet"]) == 0
        assert np.allclose(dl.open("orbits.nc")["trajectory"].values, shown, atol=1e-10)
    else:  # what no other command has is a state of this one
        assert words[:2] == ["explore", "--state"]
        assert in_node("state.fromFragment(given, {}).problem", words[2], "state") == ""


def test_the_command_opens_the_page_with_sliders_for_the_numbers_of_equations(in_node, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "y, -x + mu*y*(1 - x^2)"
    assert run(["explore", "--flow", text, "--set", "mu=2", "-o", "page.html", "--quiet"]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    opening = json.loads(re.search(r'id="opening">(.*?)</script>', page)[1])
    expression = "[state.fromFragment(given, {}), state.toFragment(state.fromFragment(given, {W: []}).state)]"
    read, again = in_node(expression, opening["fragment"], "state")
    assert (read["problem"], read["state"]["flow"], read["state"]["set"]) == ("", text, {"mu": 2})
    assert 2 < read["state"]["half"] < 10  # the limit cycle, which reaches 2, is in the window
    assert f"&{equations_fragment(text, {'mu': 2}).partition('&half')[0]}&" in again
