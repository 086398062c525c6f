"""Bifurcations against closed forms and many digits; branches and orbits against what is known of them."""

import numpy as np
import pytest
import torch

import problems
from dynlab import schema
from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.systems import Flow, Map, create, from_function
from dynlab.systems.planar import planar_system

EXACT = 1e-10  # of a bifurcation's parameter


def vanilla(matrix, activation="tanh", bias=None):
    matrix = torch.as_tensor(matrix, dtype=torch.float64)
    system = create("vanilla", input_size=1, state_size=len(matrix), activation=activation, bias=bias is not None)
    system = system.double().requires_grad_(False)
    system.W.copy_(matrix)
    system.V.fill_(1.0)
    if bias is not None:
        system.b.copy_(torch.as_tensor(bias, dtype=torch.float64))
    return system


def at(ds, kind):
    """The values of the parameter at the bifurcations of that kind, sorted."""
    return np.sort(ds["bifurcation_parameter"].values[ds["bifurcation_kind"].values == kind])


def check_points(ds):
    """What every result keeps: residuals are rounding, and what is called converged is."""
    assert ds["residual"].values.max() < 1e-9
    converged = ds["bifurcation_converged"].values
    assert (ds["bifurcation_residual"].values[converged] < 1e-9).all()
    bound = 1e-8 * np.maximum(1, np.abs(ds["bifurcation_parameter"].values[converged]))
    assert (ds["bifurcation_parameter_error"].values[converged] <= bound).all()


# --- Closed forms ---
@pytest.mark.parametrize("u", [2.0, 4.0])
def test_folds_of_a_scalar_tanh(u):
    ds = bifurcation(vanilla([[u]]), parameter="input[0]", lowest=-3.0, highest=3.0, values=0, searches=1)
    check_points(ds)
    q = problems.tanh_fold(u)
    np.testing.assert_allclose(at(ds, "fold"), [-q, q], atol=EXACT)
    assert len(ds["bifurcation_kind"]) == 2
    assert ds.sizes["branch"] == 1
    # the branch is q = atanh(h) − u h, with slope u (1 − h²)
    h, p = ds["branch_state"].values[:, 0], ds["branch_parameter"].values
    np.testing.assert_allclose(np.tanh(u * h + p), h, atol=1e-12)
    slope = u * (1 - h**2)
    np.testing.assert_allclose(ds["eigenvalue"].values[:, 0], slope, atol=1e-9)
    away = np.abs(slope - 1) > 1e-6
    np.testing.assert_array_equal(ds["stable"].values[away], slope[away] < 1)


def test_neimark_sacker_of_the_paper_with_diffusion():
    ds = bifurcation(planar_system(planar_matrix("diff")), parameter="step_size", lowest=0.01, highest=0.2, values=0)
    check_points(ds)
    expected = problems.critical_step(0.15, 2.0)
    np.testing.assert_allclose(at(ds, "Neimark–Sacker"), [expected], atol=EXACT)
    multiplier = 1 + expected * (-0.15 + 2j)
    assert ds["bifurcation_eigenvalue"].item() == pytest.approx(multiplier, abs=1e-10)
    # the third derivative of tanh at 0 is −2, and W is normal: d = −ε |λ|² Re(μ̄ λ)/2
    exponent = -0.15 + 2j
    cubic = -expected * abs(exponent) ** 2 * (np.conj(multiplier) * exponent).real / 2
    assert ds["bifurcation_coefficient"].item() == pytest.approx(cubic, abs=ds["bifurcation_coefficient_error"].item())
    assert (
        "The origin loses stability at step_size = 0.07458048 in a supercritical Neimark–Sacker bifurcation"
        in ds.attrs["verdict"]
    )


def test_lorenz():
    ds = bifurcation(create("lorenz"), parameter="rho", lowest=0.0, highest=30.0, values=0)
    check_points(ds)
    rho, omega = problems.lorenz_hopf()
    np.testing.assert_allclose(at(ds, "pitchfork"), [1.0], atol=EXACT)
    np.testing.assert_allclose(at(ds, "Hopf"), [rho, rho], atol=1e-9)
    hopf = ds["bifurcation_kind"].values == "Hopf"
    np.testing.assert_allclose(np.abs(ds["bifurcation_eigenvalue"].values[hopf]), omega, atol=1e-9)
    assert ds["bifurcation_criticality"].values[hopf].tolist() == ["subcritical"] * 2  # Sparrow (1982), appendix I
    assert ds["bifurcation_eigenvalue"].attrs["units"] == schema.PER_SECOND
    # both sides of the pitchfork are followed, and its arms are the known equilibria
    arm = ds["point_branch"].values == 1
    for state, p in zip(ds["branch_state"].values[arm], ds["branch_parameter"].values[arm], strict=True):
        known = problems.lorenz_equilibria(rho=max(p, 1.0))
        assert np.abs(known - state).max(axis=1).min() < 1e-6
    assert {-1.0, 1.0} <= set(np.sign(ds["branch_state"].values[arm][:, 0]))


def test_henon():
    ds = bifurcation(
        create("henon"), parameter="a", lowest=-0.2, highest=0.95, values=0, max_period=2, largest_state=5.0
    )
    check_points(ds)
    fold, first, second = problems.henon_bifurcations()
    np.testing.assert_allclose(at(ds, "fold"), [fold], atol=EXACT)
    np.testing.assert_allclose(at(ds, "flip"), [first, second], atol=EXACT)


# --- Period doubling ---
@pytest.fixture(scope="module")
def cascade():
    return bifurcation(create("logistic"), parameter="r", lowest=0.5, highest=3.5699, values=0, max_period=32)


def test_period_doublings_of_the_logistic_map(cascade):
    check_points(cascade)
    np.testing.assert_allclose(at(cascade, "transcritical"), [1.0], atol=EXACT)
    flips = at(cascade, "flip")
    expected = [3, 1 + np.sqrt(6), problems.logistic_doubling(4, 0.884, 3.5441)]
    expected.append(problems.logistic_doubling(8, 0.8908, 3.5644))
    assert expected[2] == pytest.approx(3.5440903596, abs=5e-11)  # as published
    np.testing.assert_allclose(flips[:4], expected, atol=EXACT)
    # at r = 3, x = 2/3: A = −1, B = −6, C = 0
    first = cascade["bifurcation_parameter"].values == flips[0]
    np.testing.assert_allclose(cascade["bifurcation_coefficient"].values[first], -9.0, rtol=1e-10)
    doublings = cascade["bifurcation_kind"].values == "flip"
    assert set(cascade["bifurcation_criticality"].values[doublings]) == {"supercritical"}
    periods = cascade["bifurcation_period"].values[cascade["bifurcation_kind"].values == "flip"]
    assert sorted(periods.tolist())[:5] == [1, 2, 4, 8, 16]


def test_the_orbit_of_period_two_in_closed_form(cascade):
    two = np.flatnonzero(cascade["branch_period"].values[cascade["point_branch"].values] == 2)
    r = cascade["branch_parameter"].values[two]
    root = np.sqrt(np.maximum((r - 3) * (r + 1), 0))
    expected = np.sort(np.stack([(r + 1 - root) / (2 * r), (r + 1 + root) / (2 * r)], axis=1))
    found = np.sort(cascade["branch_orbit"].values[two, :2])
    np.testing.assert_allclose(found, expected, atol=1e-7)  # at r = 3 the root is known to the square root of rounding
    np.testing.assert_allclose(cascade["eigenvalue"].values[two, 0], 4 + 2 * r - r**2, atol=1e-9)


# --- A network: every eigenvalue of W crosses where the factor on it is 1/|λ| ---
def test_all_crossings_of_a_network_at_the_origin():
    matrix = np.random.default_rng(3).standard_normal((5, 5))
    eigenvalues = np.linalg.eigvals(matrix)
    ds = bifurcation(vanilla(matrix), parameter="W*", lowest=0.2, highest=1.5, values=0, max_period=1, searches=1)
    check_points(ds)
    origin = np.abs(ds["bifurcation_state"].values).max(axis=1) < 1e-9
    inside = (1 / np.abs(eigenvalues) > 0.2) & (1 / np.abs(eigenvalues) < 1.5)
    kinds = {
        "Neimark–Sacker": eigenvalues.imag > 0,
        "pitchfork": (eigenvalues.imag == 0) & (eigenvalues.real > 0),
        "flip": (eigenvalues.imag == 0) & (eigenvalues.real < 0),
    }
    for kind, which in kinds.items():
        here = origin & (ds["bifurcation_kind"].values == kind)
        expected = np.sort(1 / np.abs(eigenvalues[which & inside]))
        np.testing.assert_allclose(np.sort(ds["bifurcation_parameter"].values[here]), expected, atol=EXACT)
    assert ds["bifurcation_converged"].values[origin].all()


@pytest.mark.parametrize(
    "kind, parameter",
    [("feedback", "step_size"), ("flow", "W*")],
)
def test_a_pair_that_does_not_turn_is_no_neimark_sacker_and_no_hopf_point(kind, parameter):
    # at ε = 0 Euler's map is the identity, at W = 0 the flow stands still: both eigenvalues cross at 1, or 0, itself
    system = planar_system(planar_matrix("diff"), kind)
    ds = bifurcation(system, parameter=parameter, lowest=-0.05, highest=0.05, values=0)
    assert ds["bifurcation_kind"].values.tolist() == ["degenerate"]
    assert abs(ds["bifurcation_parameter"].item()) <= ds["bifurcation_parameter_error"].item() < 1e-6
    assert not ds["bifurcation_converged"].item()


def test_a_linear_flip_has_a_continuum_of_orbits_and_none_of_fixed_points():
    """At p = 0 the map −(1 + p) h is −h: every state but 0 has period 2."""
    system = from_function(lambda h, x: -(1 + x) * h, state_size=1, input_size=1)
    ds = bifurcation(system, parameter="input[0]", lowest=-0.5, highest=0.4, starts=8, max_period=2, values=0)
    assert ds["bifurcation_kind"].values.tolist() == ["continuum of orbits"]


def test_a_kink_is_passed_and_the_border_collision_bracketed():
    # h = relu(b − 2 h): 0 for b < 0, with multiplier 0; b/3 for b > 0, with multiplier −2
    ds = bifurcation(vanilla([[-2.0]], "relu", [0.5]), parameter="b[0]", lowest=-1.0, highest=1.0, values=0)
    assert ds["bifurcation_kind"].values.tolist() == ["border collision"]
    assert abs(ds["bifurcation_parameter"].item()) <= max(ds["bifurcation_parameter_error"].item(), 1e-4)
    b, h = ds["branch_parameter"].values, ds["branch_state"].values[:, 0]
    np.testing.assert_allclose(h, np.maximum(b, 0) / 3, atol=1e-4)


def test_two_fixed_points_meet_at_a_kink():
    # h = relu(2 h + b): 0 and −b for b < 0, nothing for b > 0
    ds = bifurcation(vanilla([[2.0]], "relu", [-0.5]), parameter="b[0]", lowest=-1.0, highest=1.0, values=0)
    assert ds.sizes["branch"] == 1
    assert ds["bifurcation_kind"].values.tolist() == ["border collision"]
    b, h = ds["branch_parameter"].values, ds["branch_state"].values[:, 0]
    np.testing.assert_allclose(np.minimum(np.abs(h), np.abs(h + b)), 0, atol=1e-5)
    assert b.max() < 1e-4
    np.testing.assert_array_equal(ds["stable"].values[(np.abs(h + b) < 1e-9) & (h > 1e-4)], 0)


# --- The brute-force diagram ---
def test_orbits_visit_the_stable_branches():
    ds = bifurcation(create("logistic"), parameter="r", lowest=2.8, highest=3.4, values=13, max_period=2)
    r = ds["parameter"].values
    visited = ds["visited"].values.reshape(len(r), -1)
    away = np.abs(r - 3) > 0.02
    root = np.sqrt(np.maximum((r - 3) * (r + 1), 0))
    expected = np.where(r < 3, 1 - 1 / r, (r + 1 + root) / (2 * r))
    np.testing.assert_allclose(np.nanmax(visited, axis=1)[away], expected[away], atol=1e-8)


def test_orbits_are_followed_until_they_are_on_the_closed_curve():
    """Beside its birth a curve is neared by a part of 1e-4 in a step; what is drawn is where a long orbit ends."""
    ds = bifurcation(planar_system(planar_matrix("diff")), parameter="step_size", lowest=0.07, highest=0.09, values=5)
    matrix = np.array(planar_matrix("diff"), dtype=float)
    steps = np.array([0.075, 0.08, 0.085, 0.09])
    h, reach = np.full((4, 2), 0.1), np.zeros(4)
    for count in range(120_000):
        h = h + steps[:, None] * np.tanh(h @ matrix.T)
        if count >= 118_000:
            reach = np.maximum(reach, np.abs(h[:, 0]))
    np.testing.assert_array_equal((ds["settled"] == 1).all("sample"), [True, False, True, True, True])
    found = np.abs(ds["visited"].values).max(axis=(1, 2))
    assert found[0] < 1e-3
    np.testing.assert_allclose(found[1], reach[0], rtol=0.05)  # where the curve is predicted to be
    np.testing.assert_allclose(found[2:], reach[1:], rtol=0.01)


@pytest.mark.parametrize(
    "system, parameter, ends, at",
    [
        (create("logistic"), "r", (2.9, 3.1), 3.0),
        (vanilla([[1.0]]), "W[0,0]", (0.9, 1.1), 1.0),
    ],
)
def test_what_nears_its_end_ever_more_slowly_is_marked(system, parameter, ends, at):
    """At the bifurcation itself an orbit comes near by one over the root of the time: at no time has it settled."""
    ds = bifurcation(system, parameter=parameter, lowest=ends[0], highest=ends[1], values=5, max_period=2, searches=1)
    slow = (ds["settled"] == 0).any("sample").values
    np.testing.assert_array_equal(slow, np.abs(ds["parameter"].values - at) < 1e-9)


def test_beside_an_onset_orbits_end_on_what_attracts():
    """Just below ε = 0.07458 the origin attracts, however slowly orbits come to it."""
    ds = bifurcation(planar_system(planar_matrix("diff")), parameter="step_size", lowest=0.07, highest=0.074, values=2)
    reach = np.abs(ds["visited"].values).max(axis=2)
    assert reach[ds["settled"].values == 1].max() < 2e-5
    assert (ds["settled"].values[0] == 1).all()


def test_the_coordinate_that_is_drawn_is_one_in_which_orbits_move():
    """h₁ = tanh(3p) varies most along the stable branch h₂ = 0; h₂ ← −p h₂ + h₂³/2 has a flip at p = 1, and moves."""

    class Both(Map):
        def __init__(self):
            super().__init__(2, 0)
            self.p, self.name = 1.0, "both"

        def step(self, state, input, t=0):
            first = torch.tanh(3 * torch.as_tensor(self.p) + 0 * state[..., 0])
            return torch.stack([first, -self.p * state[..., 1] + state[..., 1] ** 3 / 2], dim=-1)

    still = bifurcation(Both(), parameter="p", lowest=0.2, highest=0.9, values=20)
    moving = bifurcation(Both(), parameter="p", lowest=0.2, highest=1.4, values=20)
    assert [schema.settings(ds)["observed"] for ds in (still, moving)] == [0, 1]
    last = moving["visited"].values[-1]  # p = 1.4: between ±√(2 (p − 1))
    np.testing.assert_allclose(np.abs(last[np.isfinite(last)]), np.sqrt(0.8))


def test_extrema_of_a_solution_that_rests_and_of_one_that_does_not():
    ds = bifurcation(create("lorenz"), parameter="rho", lowest=5.0, highest=28.0, values=2, observed=2)
    rest, chaos = ds["visited"].values
    assert np.nanmax(rest) == pytest.approx(4.0, abs=1e-5)
    assert np.nanmin(rest) == pytest.approx(4.0, abs=1e-5)
    assert np.nanmax(chaos) > 35


def test_a_flows_limit_cycle_has_its_period_and_floquet_multiplier():
    """r' = r (p − r²), φ' = 2: born at p = 0, of the period π, with the multiplier e^{−2 p π}."""

    class Circle(Flow):
        def __init__(self):
            super().__init__(2, 0)
            self.p = 0.5

        def velocity(self, state, input, t=0):
            turned = torch.stack([-state[..., 1], state[..., 0]], dim=-1)
            return (self.p - (state * state).sum(-1, keepdim=True)) * state + 2 * turned

    ds = bifurcation(Circle(), parameter="p", lowest=-0.5, highest=0.7, values=3, searches=1, starts=8)
    assert ds["bifurcation_kind"].values.tolist() == ["Hopf"]
    assert (ds["settled"] == 1).all()
    assert np.isnan(ds["cycle_period"].values[0]).all()
    np.testing.assert_allclose(ds["cycle_period"].values[1:], np.pi, rtol=1e-8)
    expected = np.exp(-2 * np.pi * ds["parameter"].values[1:, None])
    np.testing.assert_allclose(ds["cycle_multiplier"].values[1:], np.broadcast_to(expected, (2, 4)), rtol=1e-5)
    np.testing.assert_allclose(
        np.nanmax(ds["visited"].values[1:], axis=(1, 2)), np.sqrt(ds["parameter"][1:]), rtol=1e-6
    )
    assert "limit cycles of period 3.142 s at 2 values of p" in ds.attrs["verdict"]


def test_an_orbit_that_leaves_the_bound_is_cut_and_flagged():
    ds = bifurcation(create("logistic"), parameter="r", lowest=3.9, highest=4.3, values=5, max_period=1)
    assert np.isnan(ds["visited"].values[-1]).all()
    assert np.isfinite(ds["visited"].values[0]).any()
    assert "left abs(h_i) ≤ 100" in schema.flags(ds)["visited"]
    assert (ds["settled"].values[-1] == -1).all()


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"lowest": 4.0, "highest": 2.0}, "must go from a number to a larger one, got 4 to 2"),
        ({"lowest": 2.0, "highest": 2.0}, "got 2 to 2"),
        ({"highest": np.inf}, "got 2 to inf"),
        ({"lowest": 3.0, "highest": 3.0000000001}, "wider than 1e-07 of its ends, got 3.0 to 3.0000000001"),
        ({"highest": 1e300}, "must lie within ±1e.100"),
        ({"values": 10**9}, "needs at least .* MiB, more than the 1024 MiB allowed"),
        ({"parameter": "s"}, "Unknown parameter 's'"),
        ({"starts": 0}, "starts must be at least 1, got 0"),
        ({"observed": 1}, "one of the state's 1 coordinates"),
        ({"largest_state": 0.0}, "must be positive"),
        ({"at": [1.0]}, "must be 0 finite values"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    with pytest.raises(UserError, match=sentence):
        bifurcation(create("logistic"), **({"parameter": "r", "lowest": 2.0, "highest": 4.0, "values": 0} | change))


def test_more_states_than_can_be_followed_in_an_hour_are_refused():
    with pytest.raises(UserError, match="Branches of 2,048 states take hours, and at most 512 are followed"):
        bifurcation(create("vanilla", input_size=1, state_size=2048), parameter="W*", lowest=0.5, highest=1.5)


def test_a_parameter_that_changes_nothing_is_refused():
    with pytest.raises(UserError, match=r"input\* changes nothing.*the held input is zero"):
        bifurcation(vanilla([[1.0]]), parameter="input*", lowest=0.0, highest=1.0)


TURNED = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
CRITICAL_AT_HALF = {  # of (h, p), with a bifurcation of that kind at p = 1/2
    "fold": (1, lambda h, p: h + p - 0.5 - h * h),
    "transcritical": (1, lambda h, p: h + (p - 0.5) * h - h * h),
    "pitchfork": (1, lambda h, p: h + (p - 0.5) * h - h**3),
    "flip": (1, lambda h, p: -(p + 0.5) * h + h**3),
    "Neimark–Sacker": (2, lambda h, p: (p + 0.5) * (h @ TURNED.T) * (1 - (h * h).sum(-1, keepdim=True))),
}


@pytest.mark.parametrize("unit", [1e-9, 1e12])
@pytest.mark.parametrize("kind", CRITICAL_AT_HALF)
def test_a_bifurcation_is_the_same_in_any_unit_of_the_parameter(kind, unit):
    size, f = CRITICAL_AT_HALF[kind]
    system = from_function(lambda h, x: f(h, x / unit), state_size=size, input_size=1)
    ends = {"lowest": 0.1 * unit, "highest": 0.9 * unit, "at": [0.1 * unit]}
    ds = bifurcation(system, parameter="input[0]", values=0, max_period=1, starts=16, **ends)
    assert ds["bifurcation_kind"].values.tolist() == [kind]
    assert (
        abs(ds["bifurcation_parameter"].item() / unit - 0.5) <= ds["bifurcation_parameter_error"].item() / unit < 1e-12
    )


def population(most):
    """Ricker's map h ↦ h e^(p (1 − h/most)): the multiplier at h = most is 1 − p."""
    return from_function(lambda h, x: h * torch.exp(x * (1 - h / most)), state_size=1, input_size=1)


@pytest.mark.parametrize("most", [500.0, 1e6])
def test_a_population_of_any_size_is_followed(most):
    asked = {"parameter": "input[0]", "lowest": 1.9, "highest": 2.2, "at": [1.9]}
    asked |= {"values": 0, "max_period": 1, "searches": 2, "starts": 16}
    ds = bifurcation(population(most), **asked)
    assert ds["bifurcation_kind"].values.tolist() == ["flip"]
    np.testing.assert_allclose(ds["bifurcation_parameter"].values, [2], rtol=1e-12)
    np.testing.assert_allclose(ds["bifurcation_state"].values, [[most]], rtol=1e-12)
    left_out = bifurcation(population(most), **asked, largest_state=100.0).attrs["verdict"]
    assert "1 fixed point beyond |h_i| = 100 not followed" in left_out
