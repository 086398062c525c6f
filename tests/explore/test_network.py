"""A trained network in the explorer: the operations that the browser runs are the network's own step."""

import base64

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab import zoo
from dynlab.checkpoints import read
from dynlab.errors import UserError
from dynlab.explore import explorer_page
from dynlab.explore import network as explorer_network
from dynlab.explore.network import embedded
from dynlab.program import NoProgram
from dynlab.systems import SYSTEMS, Map, create
from dynlab.systems.examples import example_config

LARGEST = 1_000_000  # bytes
STEP = 1e-13  # relative, of one step in the browser beside Python's
RUN = """given.map(({ operations, input, states }) => {
    const step = program.stepOf(operations);
    return states.map((state) => Array.from(step(Float64Array.from(state), Float64Array.from(input))));
})"""


def unpacked(text):
    return np.frombuffer(base64.b64decode(text), dtype="<f8")


def example_of(name, seed=0):
    torch.manual_seed(seed)
    return create(name, **example_config(name)).double()


def written_out():
    """Every system whose step is written out, by name."""
    for name in SYSTEMS:
        system = example_of(name)
        if isinstance(system, Map):
            try:
                yield name, system, system.program(torch.linspace(-1, 1, system.input_size).double())
            except NoProgram:
                continue


def test_one_step_of_every_family_is_pythons(in_node):
    given, truths, names = [], [], []
    for name, system, program in written_out():
        generator = np.random.default_rng(0)
        states = generator.uniform(-0.9, 0.9, size=(3, system.state_size))
        operations = [explorer_network._operation(each) for each in program.operations]
        held = np.linspace(-1, 1, system.input_size).tolist()
        given.append({"operations": operations, "input": held, "states": states.tolist()})
        truths.append(np.array([program.evaluate(state) for state in states]))
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
    inputs = np.random.default_rng(0).choice([-1.0, 0.0, 0.0, 1.0], size=(4, 40, 3))
    return dl.geometry(flipflop, inputs, starts=24, seed=0)


@pytest.fixture(scope="module")
def page_of_flipflop(flipflop, geometry):
    return embedded(flipflop, geometry, "gru-flipflop")


def test_fixed_points_stay_where_they_are_in_the_browser(page_of_flipflop, geometry, in_node):
    states = [unpacked(point["state"]).tolist() for point in page_of_flipflop["points"]]
    assert np.array_equal(states, geometry["fixed_point_state"].values)
    given = [{"operations": page_of_flipflop["operations"], "input": page_of_flipflop["held"], "states": states}]
    (moved,) = in_node(RUN, given, "program")
    assert np.abs(np.array(moved) - states).max() <= 1e-12


def test_an_orbit_of_the_browser_is_pythons(flipflop, page_of_flipflop, in_node):
    start = np.zeros(64)
    driven = dl.simulate(flipflop, np.ones((1, 20, 3)), initial_state=start[None], dtype="float64")
    orbit = driven["trajectory"].values[0]
    expression = "(() => { const step = program.stepOf(given); let h = new Float64Array(64);"
    expression += " for (let t = 0; t < 20; t++) h = step(h, new Float64Array(3).fill(1)); return Array.from(h); })()"
    found = in_node(expression, page_of_flipflop["operations"], "program")
    assert np.abs(orbit[-1] - found).max() <= 1e-10


def test_the_plane_is_that_of_the_principal_components(page_of_flipflop, geometry, in_node):
    expression = """(() => {
        const [origin, directions, state] = given.map(program.unpacked);
        const places = program.projection(origin, directions);
        return [places.onto(state), places.onto(places.back([0.3, -0.2, 0.1]))];
    })()"""
    given = [page_of_flipflop["origin"], page_of_flipflop["directions"], page_of_flipflop["points"][0]["state"]]
    onto, back = in_node(expression, given, "program")
    assert np.allclose(onto, geometry["fixed_point_position"].values[0], atol=1e-10)
    assert np.allclose(back, [0.3, -0.2, 0.1], atol=1e-12)


def test_the_page_holds_it_within_a_megabyte(page_of_flipflop):
    assert len(explorer_page(network=page_of_flipflop).encode()) <= LARGEST


def test_long_trajectories_are_thinned(flipflop, geometry):
    longer = geometry.isel(time=[0] * 5000)
    made = embedded(flipflop, longer, "gru-flipflop")
    assert {len(orbit) for orbit in made["orbits"]} == {556}  # every ninth of 5,000
    assert len(explorer_page(network=made).encode()) <= LARGEST


def test_what_is_proved_is_said(flipflop, geometry):
    pytest.importorskip("flint")
    first = geometry.isel(fixed_point=slice(0, 1))
    (point,) = embedded(flipflop, first, "gru-flipflop", certify=True)["points"]
    assert point["proof"].startswith("It is proved: exactly one fixed point lies within ")


def test_what_cannot_be_run_is_one_sentence(flipflop, geometry, monkeypatch):
    unwritten = dl.from_function(lambda h, x: 0.5 * h + 0 * x.sum(), state_size=64, input_size=3)
    with pytest.raises(UserError, match="cannot run mine"):
        embedded(unwritten, geometry, "mine")
    monkeypatch.setattr(explorer_network, "MOST_NUMBERS", 100)
    with pytest.raises(UserError, match="up to 100 weights"):
        embedded(flipflop, geometry, "gru-flipflop")
