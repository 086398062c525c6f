"""The maps that the explorer's integrators make of its flow are those of dynlab: steps, multipliers, kinds."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import torch
from planar_states import COUNT, PLAIN, array, as_complex, exact, random_states

from dynlab.diagnostics.phase_plane.equilibria import Origin
from dynlab.diagnostics.stability.methods import METHODS
from dynlab.numerics.exact_kinds import exact_eigenvalues, exact_kind
from dynlab.program.differentiation import jacobian
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.vanilla import FeedbackFlow

RATIONAL = [name for name in INTEGRATORS if name != "exponential-euler"]
# what R(εA) is in rational arithmetic: coefficients of its numerator and denominator
RATIOS = {
    "euler": ([1, 1], [1]),
    "midpoint": ([1, 1, Fraction(1, 2)], [1]),
    "rk4": ([1, 1, Fraction(1, 2), Fraction(1, 6), Fraction(1, 24)], [1]),
    "implicit-midpoint": ([1, Fraction(1, 2)], [1, -Fraction(1, 2)]),
}
PARTS = ("fixed_points_alone", "portrait")
FOLLOWED = """given.map((state) => {
    const made = cell.makeCell(state);
    const orbit = orbits.mapOrbit(made.step, state.starts[0], state.steps, 1e300);
    return { ...cell.describe(state, made, [0, 0], 0), orbit, growth: orbits.logNorms(made, orbit) };
})"""


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


@pytest.mark.parametrize("name", INTEGRATORS)
def test_each_step_is_pythons(name, followed):
    cases, found = followed(name)
    for state, each in zip(cases[::8], found[::8], strict=True):
        states = torch.tensor([[float(part) for part in h] for h in each["orbit"]], dtype=torch.float64)
        states = states[states.abs().amax(1) < 1e6]
        after = INTEGRATORS[name](flow_of(state), state["step"]).step(
            states[:-1], torch.zeros(len(states) - 1, 0).double()
        )
        np.testing.assert_allclose(states[1:], after.detach(), rtol=1e-9, atol=1e-11, err_msg=str(state))


@pytest.mark.parametrize("name", INTEGRATORS)
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


@pytest.mark.parametrize("name", INTEGRATORS)
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


@pytest.mark.parametrize("name", INTEGRATORS)
def test_kinds_at_the_origin(name, in_node):
    cases = random_states(200, seed=1, integrator=name)
    found = in_node(FOLLOWED, cases, "cell", "orbits")
    for state, each in zip(cases, found, strict=True):
        if name == "exponential-euler":
            # the multipliers e^{ελ} lie inside, on and outside the circle as λ does of the imaginary axis
            linear = exact_kind(exact(state))
            assert each["map"]["name"].removeprefix("linear ").removesuffix(", undecided") == linear.name, state
            continue
        matrix = ratio(name, exact(state), Fraction(repr(state["step"])))
        if matrix is None:
            assert each["map"]["name"] == "undecided, the step has a pole there"
            continue
        (a, b), (c, d) = exact(state)
        plane = exact_kind(matrix, is_map=True).name == "plane of equilibria"
        rests = not any((a, b, c, d)) if plane else a * d == b * c  # the map is the identity along the null space of A
        kind = Origin(exact(state), is_linear=False, is_tanh=rests).kind(matrix, True)
        assert (each["map"]["name"], each["map"]["stable"]) == (kind.name, kind.stable), state


def ratio(name, matrix, step):
    """R(εA) of a 2 × 2 matrix of Fractions, or None at a pole."""
    z = [[step * entry for entry in row] for row in matrix]
    above, below = (polynomial(each, z) for each in RATIOS[name])
    (a, b), (c, d) = below
    determinant = a * d - b * c
    if determinant == 0:
        return None
    return product([[d / determinant, -b / determinant], [-c / determinant, a / determinant]], above)


def polynomial(coefficients, z):
    found = [[Fraction(0)] * 2] * 2
    for each in reversed(coefficients):
        found = product(found, z)
        found = [[found[i][j] + (each if i == j else 0) for j in (0, 1)] for i in (0, 1)]
    return found


def product(first, second):
    return [[sum(first[i][k] * second[k][j] for k in (0, 1)) for j in (0, 1)] for i in (0, 1)]


@pytest.mark.parametrize("name", [each for each in RATIONAL if each != "implicit-midpoint"])
def test_the_border_of_the_region_of_stability(name, in_node):
    """|R| is 1 on it, below 1 just inside and above 1 just outside; it crosses the real axis where R does."""
    border = as_complex(in_node(f"methods.borderOf(methods.METHODS['{name}'])", None, "methods"))
    assert np.abs(np.abs(METHODS[name].factor(border)) - 1).max() <= 1e-12
    assert border.real.min() == pytest.approx({"euler": -2, "midpoint": -2, "rk4": -2.785293563}[name], abs=1e-9)
    assert np.abs(np.diff(border)).max() <= 0.25
    along = np.diff(np.append(border, border[0]))
    inward = 1j * along / np.abs(along)
    middle = border + along / 2
    assert (np.abs(METHODS[name].factor(middle + 0.05 * inward)) < 1).mean() > 0.9
    assert (np.abs(METHODS[name].factor(middle - 0.05 * inward)) > 1).mean() > 0.9


def test_fixed_points_of_the_map_alone(in_node):
    """For h' = −tanh(w h) the midpoint's step also stays where h = (ε/2) tanh(w h), in each coordinate by itself."""
    state = PLAIN | {"integrator": "midpoint", "W": [-3, 0, 0, -3], "step": 1.0, "starts": []}
    found = in_node("fixed_points_alone.fixedPointsAlone(portrait.portrait(given))", state, *PARTS)
    root = scipy.optimize.brentq(lambda h: h - 0.5 * np.tanh(3 * h), 0.1, 1)
    expected = {(x, y) for x in (-root, 0, root) for y in (-root, 0, root) if x or y}
    assert len(found) == len(expected) == 8
    for x, y in expected:
        nearest = min(found, key=lambda each: np.hypot(each["state"][0] - x, each["state"][1] - y))
        assert nearest["state"] == pytest.approx((x, y), abs=1e-9)
        step = INTEGRATORS["midpoint"](flow_of(state), 1.0)
        matrix = jacobian(step, torch.tensor([x, y]).double(), torch.zeros(0).double()).dense()
        values = np.linalg.eigvals(matrix.detach().numpy())
        assert nearest["map"]["unstable"] == (np.abs(values) > 1).sum()
