"""The numbers of the explorer are what dynlab computes in Python: the page's own modules, under node."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
import scipy.optimize
import torch
from planar_states import COUNT, PLAIN, STEPS, array, as_complex, exact, random_states, true_eigenvalues

import dynlab as dl
from dynlab.diagnostics.phase_plane.equilibria import Origin
from dynlab.diagnostics.stability.methods import METHODS
from dynlab.matrices import planar_matrix
from dynlab.numerics.exact_kinds import exact_eigenvalues, exact_kind
from dynlab.program.differentiation import jacobian
from dynlab.systems import create
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.planar import PANELS, STARTS, STEP_SIZE
from dynlab.systems.vanilla import FeedbackFlow

FOLLOWED = """given.map((state) => {
    const made = cell.makeCell(state);
    const orbit = orbits.mapOrbit(made.step, state.starts[0], state.steps, 1e300);
    const flow_orbit = orbits.flowOrbit(made.field, state.starts[0], state.step, state.steps, 1e300);
    return { ...cell.describe(state, made, [0, 0], 0), orbit, flow_orbit, growth: orbits.logNorms(made, orbit) };
})"""
DESCRIBED = "given.map((state) => cell.describe(state, cell.makeCell(state), [0, 0], 0))"
# what R(εA) is in rational arithmetic: coefficients of its numerator and denominator
RATIOS = {
    "euler": ([1, 1], [1]),
    "midpoint": ([1, 1, Fraction(1, 2)], [1]),
    "rk4": ([1, 1, Fraction(1, 2), Fraction(1, 6), Fraction(1, 24)], [1]),
    "implicit-midpoint": ([1, Fraction(1, 2)], [1, -Fraction(1, 2)]),
}
NO_INPUT = torch.zeros(0).double()
of_each = pytest.mark.parametrize("name", INTEGRATORS)


def flow_of(state):
    flow = FeedbackFlow(0, 2, bias=False).double()
    with torch.no_grad():
        flow.W.copy_(torch.tensor(array(state)))
    return flow


@pytest.fixture(scope="module")
def followed(in_node):
    """Return the cases of an integrator, and what the page makes of them; computed once."""
    kept = {}

    def of(name):
        if name not in kept:
            cases = random_states(COUNT, seed=0, integrator=name)
            kept[name] = cases, in_node(FOLLOWED, cases, "cell", "orbits")
        return kept[name]

    return of


def strange():
    """Defective, singular and rounded matrices: λ I + s N with N² = 0 is defective in decimals, not in binary."""
    rows = [[0.3, -0.09, 1, -0.3], [0.1, 0.2, 0.3, 0.6], [-0.1, 0.3, 0.2, -0.6], [0, 1, 0, 0], [0, -1, 1, 0]]
    rows += [[0.6, -0.8, 0.8, 0.6], [-1, 1, 1, -1.00000000001], [-20, 0, 0, -0.05]]
    generator = np.random.default_rng(0)
    for _ in range(40):
        value, p, s = (Fraction(int(each), 10) for each in (generator.integers(-20, 10), *generator.integers(1, 20, 2)))
        rows.append([float(each) for each in (value + s * p, -s * p * p, s, value - s * p)])
    states = [PLAIN | {"W": row, "step": 0.1, "starts": [[0.3, -0.2]], "activation": "identity"} for row in rows]
    return [*states, states[0] | {"W": [-1, 2, -2, -1], "gamma": 0.15, "leak": 0.85}]


@pytest.mark.parametrize("cases", [random_states(COUNT, seed=0), strange()], ids=["random", "strange"])
def test_eigenvalues_are_those_of_the_decimals(cases, in_node):
    for state, each in zip(cases, in_node(DESCRIBED, cases, "cell"), strict=True):
        truth = true_eigenvalues(state)
        assert (np.abs(as_complex(each["eigenvalues"]) - truth) <= np.array(each["errors"])).all(), state["W"]
        assert (np.array(each["errors"]) <= 1e-14 * np.maximum(1, np.abs(truth))).all()


@of_each
def test_each_step_is_pythons(name, followed):
    cases, found = followed(name)
    for state, each in zip(cases[::24], found[::24], strict=True):
        states = torch.tensor([[float(part) for part in h] for h in each["orbit"]], dtype=torch.float64)
        states = states[states.abs().amax(1) < 1e6]
        after = INTEGRATORS[name](flow_of(state), state["step"]).step(states[:-1], NO_INPUT.expand(len(states) - 1, 0))
        np.testing.assert_allclose(states[1:], after.detach(), rtol=1e-9, atol=1e-11, err_msg=str(state))


@of_each
def test_multipliers_at_the_origin(name, followed):
    cases, found = followed(name)
    values = np.array([as_complex(each["eigenvalues"]) for each in found])
    errors = np.array([each["errors"] for each in found])
    steps = np.array([[state["step"]] for state in cases])
    truth, (_, bounds) = METHODS[name].factor(steps * values), METHODS[name].modulus(steps * values, steps * errors)
    multipliers = np.array([as_complex(each["multipliers"]) for each in found])
    regular = np.isfinite(truth)
    assert (np.abs(multipliers[regular] - truth[regular]) <= bounds[regular] + 1e-15).all()
    assert not np.isfinite(multipliers[~regular]).any()
    assert (~regular).mean() < 0.02


@of_each
def test_critical_steps_at_the_origin(name, followed):
    """Those of dynlab; of exact centers, which it leaves open, in closed form: |R(iy)| ≤ 1 of RK4 up to y = 2√2."""
    beyond = {"rk4": 2 * np.sqrt(2), "implicit-midpoint": np.inf, "exponential-euler": np.inf}.get(name, 0)
    centers = 0
    for state, each in zip(*followed(name), strict=True):
        values = np.array(exact_eigenvalues(exact(state)))
        if exact_kind(exact(state)).name == "center":
            centers, step = centers + 1, beyond / abs(values[0])
        else:
            step, _ = METHODS[name].largest_step(values, np.zeros(2))
        assert float(each["criticalStep"]) == pytest.approx(step, rel=1e-7, nan_ok=True), state
    assert centers


@of_each
def test_kinds_at_the_origin(name, followed):
    for state, each in zip(*followed(name), strict=True):
        matrix = exact(state)
        flow = Origin(matrix, is_linear=False, is_tanh=True).kind(matrix, False)
        assert (each["flow"]["name"], each["flow"]["stable"]) == (flow.name, flow.stable), state
        if name == "exponential-euler":
            # the multipliers e^{ελ} lie inside, on and outside the circle as λ does of the imaginary axis
            shown = each["map"]["name"].removeprefix("linear ").removesuffix(", undecided")
            assert shown == exact_kind(matrix).name, state
            continue
        of_map = ratio(name, matrix, Fraction(repr(state["step"])))
        if of_map is None:
            assert each["map"]["name"] == "undecided, the step has a pole there"
            continue
        (a, b), (c, d) = matrix
        plane = exact_kind(of_map, is_map=True).name == "plane of equilibria"
        rests = not any((a, b, c, d)) if plane else a * d == b * c  # the map is the identity along the null space of A
        kind = Origin(matrix, is_linear=False, is_tanh=rests).kind(of_map, True)
        assert (each["map"]["name"], each["map"]["stable"]) == (kind.name, kind.stable), state


def test_kinds_of_linear_systems(in_node):
    cases = random_states(COUNT, seed=1, activation="identity")
    kinds = {"flow": set(), "map": set()}
    for state, each in zip(cases, in_node(DESCRIBED, cases, "cell"), strict=True):
        step = ratio("euler", exact(state), Fraction(repr(state["step"])))
        for of, kind in {"flow": exact_kind(exact(state)), "map": exact_kind(step, is_map=True)}.items():
            assert each[of] == kind._asdict(), (of, state)
            kinds[of].add(kind.name)
    assert {"center", "saddle", "line of equilibria", "stable star", "unstable improper node"} <= kinds["flow"]
    assert {"center", "flip saddle", "line of equilibria", "line of period-2 points"} <= kinds["map"]


def ratio(name, matrix, step):
    """R(εA) of a 2 × 2 matrix of Fractions, or None at a pole."""
    z, one = step * np.array(matrix), np.array([[Fraction(1), 0], [0, Fraction(1)]])
    above, below = (reduce(lambda found, part: found @ z + part * one, each[::-1], 0 * one) for each in RATIOS[name])
    (a, b), (c, d) = below
    determinant = a * d - b * c
    return (np.array([[d, -b], [-c, a]]) @ above / determinant).tolist() if determinant else None


def test_gradients_along_eulers_orbits(followed):
    cases, found = followed("euler")
    orbits, growth = (np.array([each[key] for each in found], dtype=float) for key in ("orbit", "growth"))
    W, steps = np.stack([array(state) for state in cases]), np.array([state["step"] for state in cases])
    whole, largest = np.tile(np.eye(2), (len(cases), 1, 1)), np.ones(len(cases))
    for t in range(STEPS):
        slopes = np.cosh(W @ orbits[:, t, :, None]) ** -2.0
        jacobians = np.eye(2) + steps[:, None, None] * slopes * W
        whole, largest = jacobians @ whole, largest * np.linalg.norm(jacobians, 2, axis=(1, 2))
        # where the product cancels, what is left of it is rounding of its factors
        expected = np.linalg.norm(whole, 2, axis=(1, 2))
        assert (np.abs(np.exp(growth[:, t + 1]) - expected) <= 1e-6 * expected + 1e-12 * largest).all()


def test_solutions_of_the_flow(followed):
    for state, each in list(zip(*followed("euler"), strict=True))[:10]:
        times = state["step"] * np.arange(STEPS + 1)
        # how an error grows: by a second solution from beside the start
        starts = [state["starts"][0], [part + 1e-6 for part in state["starts"][0]]]
        truth, other = dl.simulate(flow_of(state), initial_state=starts, times=times)["trajectory"].values
        growth = np.maximum.accumulate(np.maximum(1, np.linalg.norm(other - truth, axis=1) / 1e-6))
        assert (np.linalg.norm(truth - each["flow_orbit"], axis=1) <= 1e-9 * growth).all(), state


@pytest.mark.parametrize("name, left", [("euler", -2), ("midpoint", -2), ("rk4", -2.785293563)])
def test_the_border_of_the_region_of_stability(name, left, in_node):
    """|R| is 1 on it and below 1 inside; it crosses the real axis where R does."""
    border = as_complex(in_node(f"methods.borderOf(methods.METHODS['{name}'])", None, "methods"))
    assert np.abs(np.abs(METHODS[name].factor(border)) - 1).max() <= 1e-12
    assert border.real.min() == pytest.approx(left, abs=1e-9)
    along = np.diff(np.append(border, border[0]))
    inside = border + along / 2 + 0.05j * along / np.abs(along)
    assert (np.abs(METHODS[name].factor(inside)) < 1).mean() > 0.9


def test_fixed_points_of_the_map_alone(in_node):
    """For h' = −tanh(w h) the midpoint's step also stays where h = (ε/2) tanh(w h), in each coordinate by itself."""
    state = PLAIN | {"integrator": "midpoint", "W": [-3, 0, 0, -3], "step": 1.0, "starts": []}
    expression = "fixed_points_alone.fixedPointsAlone(portrait.portrait(given))"
    found = in_node(expression, state, "fixed_points_alone", "portrait")
    root = scipy.optimize.brentq(lambda h: h - 0.5 * np.tanh(3 * h), 0.1, 1)
    expected = {(x, y) for x in (-root, 0, root) for y in (-root, 0, root) if x or y}
    assert len(found) == len(expected) == 8
    for x, y in expected:
        nearest = min(found, key=lambda each: np.hypot(each["state"][0] - x, each["state"][1] - y))
        assert nearest["state"] == pytest.approx((x, y), abs=1e-9)
        step = INTEGRATORS["midpoint"](flow_of(state), 1.0)
        values = np.linalg.eigvals(jacobian(step, torch.tensor([x, y]).double(), NO_INPUT).dense().detach().numpy())
        assert nearest["map"]["unstable"] == (np.abs(values) > 1).sum()


@pytest.mark.parametrize("jacobian, target", [([-0.15, -2, 2, -0.15], [-1, 1]), ([1, 2, 0.5, -1], [0.3, 0])])
def test_the_jacobian_follows_an_eigenvalue_that_is_dragged_and_keeps_its_eigenvectors(jacobian, target, in_node):
    values, vectors = np.linalg.eig(np.reshape(jacobian, (2, 2)).astype(complex))
    pairs = [[value.real, value.imag] for value in values]
    expression = """eigenvalue_drag.movedJacobian(
        eigenvalue_drag.frameOf({ jacobian: given[0], eigenvalues: given[1] }), given[1], 0, given[2])"""
    moved = np.reshape(in_node(expression, [jacobian, pairs, target], "eigenvalue_drag"), (2, 2))
    expected = [complex(*target), complex(target[0], -target[1]) if target[1] else values[1]]
    np.testing.assert_allclose(np.linalg.solve(vectors, moved @ vectors), np.diag(expected), atol=1e-12)


@pytest.mark.parametrize("W, bias", [([3, 0, 0, 3], [0, 0]), ([1, 0, 0, 0.5], [0, 1])])
def test_no_kind_is_said_at_a_kink(W, bias, in_node):
    """At [3, 0, 0, 3] an orbit grows where it starts with positive coordinates, and falls to 0 elsewhere."""
    state = PLAIN | {"W": W, "step": 0.1, "starts": [], "bias": bias, "leak": 1, "activation": "relu"}
    points = in_node("portrait.portrait(given).points", state | {"gated": False, "gateBias": 0}, "portrait")
    assert {point[of]["name"] for point in points for of in ("flow", "map")} == {"undecided, at a kink of ReLU"}
    assert {point["criticalStep"] for point in points} == {"NaN"}


def test_the_papers_panels_are_those_of_python(in_node):
    presets = {each["name"]: each["state"] for each in in_node("presets.PRESETS", None, "presets")}
    for panel in PANELS:
        state = presets[panel.letter]
        W = np.reshape(state["W"], (2, 2)) - state["gamma"] * np.eye(2)
        assert W.tolist() == [[float(entry) for entry in row] for row in planar_matrix(panel.matrix, panel.seed)]
        of_kind = {"vanilla": (1, 1), "feedback": (STEP_SIZE, 0)}[panel.kind]
        assert (state["step"], state["leak"], state["steps"]) == (*of_kind, STEPS)
        assert np.array_equal(state["starts"], STARTS)


PICTURES = "textbook.textbookPictures(...given).map((each) => Array.from(each.values))"


def pictures(in_node, name, *values):
    return [np.reshape(each, (-1, 2)) for each in in_node(PICTURES, [name, values], "textbook")]


def test_the_cobweb_follows_the_orbit_and_the_diagram_shows_the_fixed_point_and_the_cycle(in_node):
    steps, diagram = pictures(in_node, "logistic", 3.7)
    orbit = dl.simulate(create("logistic", r=3.7), initial_state=[[0.2]], steps=20)["trajectory"].values[0, :, 0]
    assert np.allclose(steps[1:40:2, 1], orbit[1:21], atol=1e-10)
    assert np.allclose(steps[2:40:2], orbit[1:20, None], atol=1e-10)  # the corners lie on the diagonal
    at = {r: diagram[np.isclose(diagram[:, 0], r), 1] for r in (2.0, 3.2)}
    assert np.allclose(at[2.0], 0.5)  # 1 − 1/r
    cycle = np.array([4.2 - np.sqrt(0.84), 4.2 + np.sqrt(0.84)]) / 6.4  # (r + 1 ± √((r + 1)(r − 3)))/2 r
    assert np.abs(at[3.2][:, None] - cycle).min(axis=1).max() < 1e-9


def test_henons_attractor_is_invariant_under_dynlabs_map(in_node):
    attractor, _ = pictures(in_node, "henon", 1.4, 0.3)
    following = dl.simulate(create("henon"), initial_state=attractor[:200], steps=1)["trajectory"].values[:, 1]
    assert np.allclose(attractor[1:201], following, atol=1e-13)


def test_lorenz_settles_on_its_fixed_point(in_node):
    attractor, _ = pictures(in_node, "lorenz", 10, 14.0, 8 / 3)
    assert np.allclose(np.abs(attractor[-1]), [np.sqrt(8 / 3 * 13), 13], atol=1e-6)
