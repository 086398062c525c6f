"""A trained network in the explorer: the operations that the browser runs are the network's own step."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab import zoo
from dynlab.checkpoints import read
from dynlab.errors import UserError
from dynlab.explore import network as explorer_network
from dynlab.explore.network import embedded, written
from dynlab.program import NoProgram
from dynlab.program.derived import derived
from dynlab.program.operations import OPERATIONS
from dynlab.systems import SYSTEMS, Map, create, from_function, frozen
from dynlab.systems.examples import example_config

STEP = 1e-13  # relative, of one step in the browser beside Python's
RUN = """given.map(({ operations, functions, input, states }) => {
    const step = program.stepOf(operations, functions);
    return states.map((state) => Array.from(step(Float64Array.from(state), Float64Array.from(input))));
})"""
SOURCES = {name: rule.scalar for name, rule in OPERATIONS.items()}
AT_STEP = 2


def maps():
    """Every map of the table whose step has a program, by name."""
    for name in SYSTEMS:
        torch.manual_seed(0)
        system = frozen(create(name, **example_config(name)))
        if isinstance(system, Map):
            try:
                yield name, system, derived(system).program.held(None, AT_STEP)
            except NoProgram:
                continue


def test_one_step_of_every_family_is_pythons(in_node):
    given, truths, names = [], [], []
    for name, system, program in maps():
        states = torch.from_numpy(np.random.default_rng(0).uniform(-0.9, 0.9, size=(3, system.state_size)))
        held = torch.linspace(-1, 1, system.input_size).double()
        one = {"operations": written(program), "functions": SOURCES, "input": held.tolist()}
        given.append(one | {"states": states.tolist()})
        truths.append(torch.stack([system.step(state, held, AT_STEP) for state in states]).detach().numpy())
        names.append(name)
    assert {"gru", "lstm", "ernn", "asrnn", "antisymmetric-gated", "henon"} <= set(names)
    for name, truth, found in zip(names, truths, in_node(RUN, given, "program"), strict=True):
        scale = np.maximum(1, np.abs(truth).max())
        assert np.abs(truth - np.array(found)).max() <= STEP * scale * 64, name


@pytest.fixture(scope="module")
def flipflop():
    return read(zoo.locate("gru-flipflop")).system


@pytest.fixture(scope="module")
def geometry(flipflop):
    """Driven trajectories, their principal plane, and fixed points."""
    inputs = np.random.default_rng(0).choice([-1.0, 0.0, 0.0, 1.0], size=(4, 40, 3))
    return dl.geometry(flipflop, inputs, starts=8, seed=0)


def test_an_orbit_of_the_browser_is_pythons_and_its_plane_that_of_the_principal_components(flipflop, geometry, in_node):
    """Under an input that is not the one that is held."""
    exact, state = frozen(flipflop), torch.zeros(64).double()
    for _ in range(20):
        state = exact.step(state, torch.ones(3).double())
    expression = """(() => {
        const step = program.stepOf(given.operations, given.functions), one = new Float64Array(3).fill(1);
        const [origin, directions] = [given.origin, given.directions].map(program.unpacked);
        const places = program.projection(origin, directions);
        const onto = places.onto(program.unpacked(given.points[0].state));
        const orbit = Array.from(Array(20).fill(one).reduce(step, new Float64Array(64)));
        return [orbit, onto, places.onto(places.back([0.3, -0.2, 0.1]))];
    })()"""
    orbit, onto, back = in_node(expression, embedded(flipflop, geometry, "gru-flipflop"), "program")
    assert np.abs(state.numpy() - orbit).max() <= 1e-10
    assert np.allclose(onto, geometry["fixed_point_position"].values[0], atol=1e-10)
    assert np.allclose(back, [0.3, -0.2, 0.1], atol=1e-12)


def test_what_is_proved_is_said(flipflop, geometry):
    pytest.importorskip("flint")
    first = geometry.isel(fixed_point=slice(0, 1))
    (point,) = embedded(flipflop, first, "gru-flipflop", certify=True)["points"]
    assert point["proof"].startswith("It is proved: exactly one fixed point lies within ")


def test_what_cannot_be_run_is_one_sentence(flipflop, geometry, monkeypatch):
    for step in (lambda h, x: h * (float(h.sum()) > 0), lambda h, x: torch.erf(h)):
        with pytest.raises(UserError, match="cannot run mine"):
            embedded(from_function(step, state_size=64, input_size=3), geometry, "mine")
    monkeypatch.setattr(explorer_network, "MOST_NUMBERS", 100)
    with pytest.raises(UserError, match="up to 100 weights"):
        embedded(flipflop, geometry, "gru-flipflop")
