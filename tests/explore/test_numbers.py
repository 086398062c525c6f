"""The numbers of the explorer are what dynlab computes in Python: the page's own modules, under node."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from planar_states import COUNT, ORBIT, STEPS, array, as_complex, exact, random_states, true_eigenvalues

import dynlab as dl
from dynlab.diagnostics.phase_plane.equilibria import Origin
from dynlab.matrices import planar_matrix
from dynlab.numerics.critical_step import critical_step
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.exact_kinds import exact_eigenvalues, exact_kind
from dynlab.systems.planar import PANELS, STARTS, STEP_SIZE
from dynlab.systems.vanilla import FeedbackFlow

AT_THE_ORIGIN = """given.map((state) => {
    const made = cell.makeCell(state);
    const map = orbits.mapOrbit(made.step, state.starts[0], state.steps, 1e300);
    const flow = orbits.flowOrbit(made.field, state.starts[0], state.step, state.steps, 1e300);
    const growth = orbits.logNorms(made, map);
    return { ...cell.describe(state, made, [0, 0], 0), map_orbit: map, flow_orbit: flow, growth };
})"""


def flow_of(state):
    flow = FeedbackFlow(0, 2, activation=state["activation"], bias=False).double()
    with torch.no_grad():
        flow.W.copy_(torch.tensor(array(state)))
    return flow


@pytest.fixture(scope="module")
def cases():
    return random_states(COUNT, seed=0)


@pytest.fixture(scope="module")
def found(cases, in_node):
    return in_node(AT_THE_ORIGIN, cases, "cell", "orbits")


def euler_matrix(state):
    """I + ε A in rational numbers."""
    (a, b), (c, d) = exact(state)
    step = Fraction(repr(state["step"]))
    return ((1 + step * a, step * b), (step * c, 1 + step * d))


def test_eigenvalues(cases, found):
    pythons = eigenvalues(np.stack([array(state) for state in cases]))
    for state, each, values in zip(cases, found, pythons.values, strict=True):
        made = as_complex(each["eigenvalues"])
        assert (np.abs(made - true_eigenvalues(state)) <= each["errors"]).all()
        assert np.abs(made - values).max() <= 1e-10
        assert max(each["errors"]) <= 1e-14


def test_critical_steps_and_kinds_at_the_origin(cases, found):
    for state, each in zip(cases, found, strict=True):
        matrix = exact(state)
        origin = Origin(matrix, is_linear=False, is_tanh=True)
        flow, of_map = origin.kind(matrix, False), origin.kind(euler_matrix(state), True)
        assert (each["flow"]["name"], each["flow"]["stable"]) == (flow.name, flow.stable), state
        assert (each["map"]["name"], each["map"]["stable"]) == (of_map.name, of_map.stable), state
        step, _ = critical_step(exact_eigenvalues(matrix))
        assert float(each["criticalStep"]) == pytest.approx(step, rel=1e-9, nan_ok=True)


def test_kinds_of_linear_systems(in_node):
    cases = random_states(COUNT, seed=1, activation="identity")
    kinds = {"flow": set(), "map": set()}
    for state, each in zip(cases, in_node(AT_THE_ORIGIN, cases, "cell", "orbits"), strict=True):
        truth = {
            "flow": exact_kind(exact(state)),
            "map": exact_kind(euler_matrix(state), is_map=True),
        }
        for of, kind in truth.items():
            assert each[of] == kind._asdict(), (of, state)
            kinds[of].add(kind.name)
    assert {"center", "saddle", "line of equilibria", "stable star", "unstable improper node"} <= kinds["flow"]
    assert {"center", "flip saddle", "line of equilibria", "line of period-2 points"} <= kinds["map"]


class Many(dl.Map):
    """Euler's maps h + ε tanh(W h) of all cases at once, one state for each."""

    def __init__(self, cases):
        super().__init__(2, 0)
        self.W = torch.tensor(np.stack([array(state) for state in cases]))
        self.epsilon = torch.tensor([[state["step"]] for state in cases], dtype=torch.float64)

    def step(self, state, input, t=0):
        return state + self.epsilon * torch.tanh((self.W @ state.unsqueeze(-1)).squeeze(-1))


def test_orbits_of_eulers_map_and_their_gradients(cases, found):
    starts = np.concatenate([state["starts"] for state in cases])
    orbits = dl.simulate(Many(cases), initial_state=starts, steps=STEPS)["trajectory"].values
    growth = np.exp([[float(rate) for rate in each["growth"]] for each in found])
    distance = np.linalg.norm(orbits - [each["map_orbit"] for each in found], axis=2)
    assert (distance <= ORBIT * np.maximum.accumulate(np.maximum(1, growth), axis=1)).all()
    W, steps = np.stack([array(state) for state in cases]), np.array([state["step"] for state in cases])
    whole, largest = np.tile(np.eye(2), (len(cases), 1, 1)), np.ones(len(cases))
    for t in range(STEPS):
        slopes = np.cosh(W @ orbits[:, t, :, None]) ** -2.0
        jacobians = np.eye(2) + steps[:, None, None] * slopes * W
        whole, largest = jacobians @ whole, largest * np.linalg.norm(jacobians, 2, axis=(1, 2))
        # where the product cancels, what is left of it is rounding of its factors
        expected = np.linalg.norm(whole, 2, axis=(1, 2))
        assert (np.abs(growth[:, t + 1] - expected) <= 1e-6 * expected + 1e-12 * largest).all()


def test_solutions_of_the_flow(cases, found):
    for state, each in list(zip(cases, found, strict=True))[:40]:
        times = state["step"] * np.arange(STEPS + 1)
        truth = dl.simulate(flow_of(state), initial_state=state["starts"], times=times)["trajectory"].values[0]
        # how an error grows: by a second solution from beside the start
        beside = [[each + 1e-6 for each in state["starts"][0]]]
        other = dl.simulate(flow_of(state), initial_state=beside, times=times)["trajectory"].values[0]
        growth = np.maximum.accumulate(np.maximum(1, np.linalg.norm(other - truth, axis=1) / 1e-6))
        assert (np.linalg.norm(truth - each["flow_orbit"], axis=1) <= 1e-9 * growth).all(), state


def test_the_papers_panels_are_those_of_python(in_node):
    presets = {each["name"]: each["state"] for each in in_node("presets.PRESETS", None, "presets")}
    for panel in PANELS:
        state = presets[panel.letter]
        W = np.reshape(state["W"], (2, 2)) - state["gamma"] * np.eye(2)
        assert W.tolist() == [[float(entry) for entry in row] for row in planar_matrix(panel.matrix, panel.seed)]
        of_kind = {"vanilla": (1, 1), "feedback": (STEP_SIZE, 0)}[panel.kind]
        assert (state["step"], state["leak"], state["steps"]) == (*of_kind, STEPS)
        assert np.array_equal(state["starts"], STARTS)
