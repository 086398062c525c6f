"""Bifurcations against closed forms and many digits; branches, orbits and planes against what is known of them.

Hénon's, Lorenz's, Hodgkin and Huxley's and the logistic map's are rows of `problems.PROBLEMS`.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import dynlab as dl
import problems
from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.diagnostics.bifurcation.parameter_plane import parameter_plane
from dynlab.diagnostics.bifurcation.parameters import varied_system
from dynlab.matrices import planar_matrix
from dynlab.systems import create, from_function
from dynlab.systems.planar import planar_system
from problems import Field, Rule

EXACT = 1e-10  # of a bifurcation's parameter


def at(ds, kind):
    """The values of the parameter at the bifurcations of that kind, sorted."""
    return np.sort(ds["bifurcation_parameter"].values[ds["bifurcation_kind"].values == kind])


def check_points(ds):
    """What every result keeps: residuals are rounding, and what is called converged is."""
    converged = ds["bifurcation_converged"].values
    assert max(ds["residual"].values.max(), *ds["bifurcation_residual"].values[converged]) < 1e-9
    bound = 1e-8 * np.maximum(1, np.abs(ds["bifurcation_parameter"].values[converged]))
    assert (ds["bifurcation_parameter_error"].values[converged] <= bound).all()


def test_folds_of_a_scalar_tanh():
    """The branch is q = atanh(h) − u h, with slope u (1 − h²)."""
    ends = {"lowest": -3.0, "highest": 3.0}
    ds = bifurcation(problems.vanilla([[2.0]], V=[[1.0]]), parameter="input[0]", values=0, searches=1, **ends)
    check_points(ds)
    q = problems.tanh_fold(2.0)
    np.testing.assert_allclose(at(ds, "fold"), [-q, q], atol=EXACT)
    assert (len(ds["bifurcation_kind"]), ds.sizes["branch"]) == (2, 1)
    h, p = ds["branch_state"].values[:, 0], ds["branch_parameter"].values
    np.testing.assert_allclose(np.tanh(2 * h + p), h, atol=1e-12)
    slope = 2 * (1 - h**2)
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


@pytest.fixture(scope="module")
def cascade():
    return bifurcation(create("logistic"), parameter="r", lowest=0.5, highest=3.56, values=0, max_period=8)


def test_period_doublings_of_the_logistic_map(cascade):
    check_points(cascade)
    np.testing.assert_allclose(at(cascade, "transcritical"), [1.0], atol=EXACT)
    flips = at(cascade, "flip")
    np.testing.assert_allclose(flips, [3, 1 + np.sqrt(6), problems.logistic_doubling(4, 0.884, 3.5441)], atol=EXACT)
    # at r = 3, x = 2/3: A = −1, B = −6, C = 0
    first = cascade["bifurcation_parameter"].values == flips[0]
    np.testing.assert_allclose(cascade["bifurcation_coefficient"].values[first], -9.0, rtol=1e-10)
    doublings = cascade["bifurcation_kind"].values == "flip"
    assert set(cascade["bifurcation_criticality"].values[doublings]) == {"supercritical"}
    assert sorted(cascade["bifurcation_period"].values[doublings].tolist()) == [1, 2, 4]


def test_the_orbit_of_period_two_in_closed_form(cascade):
    two = np.flatnonzero(cascade["branch_period"].values[cascade["point_branch"].values] == 2)
    r = cascade["branch_parameter"].values[two]
    root = np.sqrt(np.maximum((r - 3) * (r + 1), 0))
    expected = np.sort(np.stack([(r + 1 - root) / (2 * r), (r + 1 + root) / (2 * r)], axis=1))
    found = np.sort(cascade["branch_orbit"].values[two, :2])
    np.testing.assert_allclose(found, expected, atol=1e-7)  # at r = 3 the root is known to the square root of rounding
    np.testing.assert_allclose(cascade["eigenvalue"].values[two, 0], 4 + 2 * r - r**2, atol=1e-9)


def test_all_crossings_of_a_network_at_the_origin():
    """Every eigenvalue λ of W crosses where the factor on it is 1/|λ|."""
    matrix = np.random.default_rng(3).standard_normal((5, 5))
    eigenvalues = np.linalg.eigvals(matrix)
    ends = {"lowest": 0.2, "highest": 1.0}
    ds = bifurcation(problems.vanilla(matrix), parameter="W*", values=0, max_period=1, searches=1, **ends)
    check_points(ds)
    origin = np.abs(ds["bifurcation_state"].values).max(axis=1) < 1e-9
    inside = (1 / np.abs(eigenvalues) > 0.2) & (1 / np.abs(eigenvalues) < 1.0)
    real = eigenvalues.imag == 0
    positive = real & (eigenvalues.real > 0)
    kinds = {"Neimark–Sacker": eigenvalues.imag > 0, "pitchfork": positive, "flip": real & ~positive}
    for kind, which in kinds.items():
        here = origin & (ds["bifurcation_kind"].values == kind)
        expected = np.sort(1 / np.abs(eigenvalues[which & inside]))
        np.testing.assert_allclose(np.sort(ds["bifurcation_parameter"].values[here]), expected, atol=EXACT)
    assert ds["bifurcation_converged"].values[origin].all()


def test_a_bifurcation_is_the_same_in_any_unit_of_the_parameter():
    """h' = h + p/10⁶ − 1/2 − h² has its fold at p/10⁶ = 1/2."""
    unit = 1e6
    system = from_function(lambda h, x: h + x / unit - 0.5 - h * h, state_size=1, input_size=1)
    ends = {"lowest": 0.1 * unit, "highest": 0.9 * unit, "at": [0.1 * unit], "searches": 2}
    ds = bifurcation(system, parameter="input[0]", values=0, max_period=1, starts=16, **ends)
    assert ds["bifurcation_kind"].values.tolist() == ["fold"]
    error = ds["bifurcation_parameter_error"].item() / unit
    assert abs(ds["bifurcation_parameter"].item() / unit - 0.5) <= error < 1e-12


def test_a_cubic_coefficient_that_is_0_has_no_sign():
    """x'' = μ (1 − x²) x' − x: at μ = 0 a linear center."""
    ds = bifurcation(problems.van_der_pol(), parameter="mu", lowest=-1.0, highest=2.0, values=0, searches=1, starts=8)
    assert ds["bifurcation_kind"].values.tolist() == ["Hopf"]
    assert abs(ds["bifurcation_coefficient"].item()) <= ds["bifurcation_coefficient_error"].item()
    assert ds["bifurcation_criticality"].item() == "undecided"


@pytest.mark.parametrize("slope", [-2.0, 2.0])
def test_a_kink_is_passed_and_the_border_collision_bracketed(slope):
    """h = relu(w h + b): 0 for b < 0; for w = −2 beside b/3 for b > 0, and for w = 2 beside −b for b < 0."""
    ds = bifurcation(problems.vanilla([[slope]], [-0.5], "relu"), parameter="b[0]", lowest=-1.0, highest=1.0, values=0)
    assert (ds.sizes["branch"], ds["bifurcation_kind"].values.tolist()) == (1, ["border collision"])
    assert abs(ds["bifurcation_parameter"].item()) <= max(ds["bifurcation_parameter_error"].item(), 1e-4)
    b, h = ds["branch_parameter"].values, ds["branch_state"].values[:, 0]
    np.testing.assert_allclose(h, np.maximum(slope * h + b, 0), atol=1e-4)


def test_orbits_visit_the_stable_branches_and_at_the_flip_have_not_settled():
    """At r = 3 itself an orbit comes near by one over the root of the time: at no time has it settled."""
    ds = bifurcation(create("logistic"), parameter="r", lowest=2.8, highest=3.4, values=7, max_period=2)
    r = ds["parameter"].values
    away = np.abs(r - 3) > 0.02
    root = np.sqrt(np.maximum((r - 3) * (r + 1), 0))
    expected = np.where(r < 3, 1 - 1 / r, (r + 1 + root) / (2 * r))
    np.testing.assert_allclose(np.nanmax(ds["visited"].values, axis=(1, 2))[away], expected[away], atol=1e-8)
    np.testing.assert_array_equal((ds["settled"] == 0).any("sample"), np.abs(r - 3) < 1e-9)


def test_a_flows_limit_cycle_has_its_period_and_floquet_multiplier():
    """r' = r (p − r²), φ' = 2: born at p = 0, of the period π, with the multiplier e^{−2 p π}."""

    def rates(s, x, y):
        inward = s.p - x * x - y * y
        return [inward * x - 2 * y, inward * y + 2 * x]

    flow = Field(2, rates, p=0.5)
    ds = bifurcation(flow, parameter="p", lowest=-0.5, highest=0.7, values=2, searches=1, starts=8)
    assert ds["bifurcation_kind"].values.tolist() == ["Hopf"]
    assert (ds["settled"] == 1).all()
    np.testing.assert_allclose(ds["cycle_period"].values[1:], np.pi, rtol=1e-8)
    expected = np.exp(-2 * np.pi * ds["parameter"].values[1:, None])
    np.testing.assert_allclose(ds["cycle_multiplier"].values[1:], np.broadcast_to(expected, (1, 4)), rtol=1e-5)
    reach = np.nanmax(ds["visited"].values[1:], axis=(1, 2))
    np.testing.assert_allclose(reach, np.sqrt(ds["parameter"][1:]), rtol=1e-6)


EDGE = 0.02  # from a boundary, where orbits take longer than they are followed


def test_periods_of_henon():
    spans = {"parameters": ("a", "b"), "lowest": (-0.2, 0.1), "highest": (0.9, 0.4), "grid": 7}
    henon = parameter_plane(create("henon"), **spans)
    a, b = np.meshgrid(henon["x"].values, henon["y"].values)
    fold, first, second = -((1 - b) ** 2) / 4, 3 * (1 - b) ** 2 / 4, (1 - b) ** 2 + (1 + b) ** 2 / 4
    fixed, doubled = ((a > low + EDGE) & (a < high - EDGE) for low, high in ((fold, first), (first, second)))
    for where, period, stable in ((fixed, 1, 1), (doubled, 2, 0), (a < fold - 1e-9, -1, -1)):
        assert where.any()
        assert (henon["period"].values[where] == period).all()
        assert (henon["stable"].values[where] == stable).all()
    x = (b - 1 + np.sqrt(np.maximum((1 - b) ** 2 + 4 * a, 0))) / (2 * a)
    moduli = np.abs(-a * x + np.array([1, -1])[:, None, None] * np.sqrt((a * x) ** 2 + b + 0j)).max(axis=0)
    np.testing.assert_allclose(henon["leading"].values[fixed], moduli[fixed], rtol=1e-9)


def test_one_fixed_point_is_followed_over_the_plane():
    """h ↦ h e^(r (1 − h/K)): the multiplier at h = K is 1 − r, at 0 it is e^r."""
    unit, ricker = 1e5, Rule(1, lambda s, h: (h * torch.exp(s.r * (1 - h / s.K)),), r=2.0, K=1.0)
    spans = {"parameters": ("r", "K"), "lowest": (0.5, 0.5 * unit), "highest": (2.5, 10.0 * unit)}
    ds = parameter_plane(ricker, **spans, grid=11, state=[unit])
    r, K = np.meshgrid(ds["x"].values, ds["y"].values)
    np.testing.assert_allclose(ds["fixed_point_state"][..., 0], K, rtol=1e-8)
    np.testing.assert_allclose(ds["leading"], np.abs(1 - r), atol=1e-7)
    told = np.abs(r - 2) > 1e-6
    np.testing.assert_array_equal(ds["stable"].values[told] == 1, (r < 2)[told])


def test_threads_that_vary_a_parameter_do_not_see_each_others_values():
    varied = varied_system(dl.EquationMap("1 - a*x^2 + y, b*x", a=1.2, b=0.3), None, ("a",), [], -1, (0.5,), (0.9,))
    states = torch.rand(8, 50, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = [varied.extended(each) for each in states]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(varied.extended, list(states) * 200))
    finally:
        sys.setswitchinterval(interval)
    assert all(torch.equal(one, expected[k % 8]) for k, one in enumerate(found))
