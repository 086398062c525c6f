"""Phase portraits against the step-50 oracle, closed forms of planar systems and exact identities."""

import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch

from dynlab import schema
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.diagnostics.phase_plane import long_orbit, phase_plane
from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.diagnostics.phase_plane.verdict import changes
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.numerics.critical_step import critical_step
from dynlab.systems import Euler, Flow, create, from_function
from dynlab.systems.planar import KINDS, STARTS, equation, planar_system
from dynlab.systems.textbook import Linear
from dynlab.systems.torch_layers import torch_layer
from dynlab.wording import number

# Chang et al., Figure 1: where the three starts are after 50 steps of Euler's map at ε = 0.1.
STEP_50 = {
    "plus": [(-4.9484, 5.4131), (4.1385, -5.4131), (5.4975, -5.7192)],
    "zero": [(-0.62099, 0.48744), (-0.90644, -0.46555), (-0.43974, -1.10821)],
    "diff": [(-0.50352, -0.11993), (-0.10019, -0.70381), (0.27015, -0.79607)],
}


def portrait(text, kind="feedback", step_size=0.1, by_hand=True, **settings):
    matrix = planar_matrix(text)
    system = planar_system(matrix, kind, step_size)
    return phase_plane(system, matrix=matrix if by_hand else None, step_size=step_size, **settings)


@pytest.mark.parametrize("name", STEP_50)
def test_step_50_oracle(name):
    ds = portrait(name)
    decimals = 4 if name == "plus" else 5
    assert ds["trajectory"].sizes == {"sample": 3, "time": 51, "state": 2}
    assert np.abs(ds["trajectory"].values[:, 50] - STEP_50[name]).max() <= 0.51 * 10.0**-decimals


@pytest.mark.parametrize("name", ["plus", "minus", "zero", "diff", "identity"])
def test_orbits_in_many_digits(name):
    """The same recursion in 40 digits; W₊ magnifies a rounding error by up to 1.2^50 · 50, which is 4e5."""
    (a, b), (c, d) = planar_matrix(name)
    found = portrait(name)["trajectory"].values[:, 50]
    with mpmath.workdps(40):
        entries = [mpmath.mpf(entry.numerator) / entry.denominator for entry in (a, b, c, d)]
        ends = [iterate(entries, start) for start in STARTS]
    assert np.abs(found - np.array(ends, dtype=float)).max() < 1e-10


def iterate(entries, start):
    a, b, c, d = entries
    x, y = (mpmath.mpf(value) for value in start)
    for _ in range(50):
        x, y = x + mpmath.tanh(a * x + b * y) / 10, y + mpmath.tanh(c * x + d * y) / 10
    return [x, y]


def test_the_papers_diffusion_is_too_small_for_its_step():
    ds = portrait("diff")
    assert ds["flow_kind"].values.tolist() == ["stable focus"]
    assert ds["map_kind"].values.tolist() == ["unstable focus"]
    assert ds["flow_stable"].values.tolist() == [1]
    assert ds["map_stable"].values.tolist() == [0]
    assert np.allclose(ds["flow_eigenvalue"].values, [[-0.15 + 2j, -0.15 - 2j]], rtol=1e-15)
    assert np.abs(ds["map_eigenvalue"].values) == pytest.approx(np.hypot(0.985, 0.2), rel=1e-15)
    assert ds["critical_step"].item() == pytest.approx(2 * 0.15 / (0.15**2 + 4), rel=1e-15)
    assert "The flow's focus is stable, Euler's map at ε = 0.1 is not, the critical step is 0.0746" in ds.verdict
    assert "modulus 1.0051" in ds.verdict


@pytest.mark.parametrize(
    "matrix, said",
    [
        (
            "0,1;-1,0",
            "and no step is small enough to make it stable. The flow is h′ = tanh(W h). At (0, 0)",
        ),  # |1 + iε| > 1 at every ε > 0
        (
            "1,2;3,-1",
            "The flow has a saddle, and so has Euler's map at ε = 0.1. The flow is h′ = tanh(W h). At (0, 0)",
        ),  # the flow itself leaves it
    ],
)
def test_that_no_step_is_small_enough_is_said_in_words(matrix, said):
    verdict = portrait(matrix).verdict
    assert said in verdict
    assert "critical step is 0" not in verdict


def test_every_start_ends_on_the_invariant_curve_of_w_diff():
    ds = portrait("diff", starts=[(0.0, 0.5), (1e-3, 0.0), (3.0, -2.0)])
    radius = np.linalg.norm(ds["long_orbit"].values, axis=-1)
    assert ds["outcome"].values.tolist() == ["invariant closed curve"] * 3
    assert radius.min() == pytest.approx(0.570, abs=1e-3)
    assert radius.max() == pytest.approx(0.598, abs=1e-3)


@pytest.mark.parametrize(
    "step_size, kind, outcome",
    [(0.07, "stable focus", "still moving inward"), (0.08, "unstable focus", "invariant closed curve")],
)
def test_the_critical_step_divides_decay_from_the_curve(step_size, kind, outcome):
    ds = portrait("diff", step_size=step_size)
    assert ds["map_kind"].values.tolist() == [kind]
    assert set(ds["outcome"].values.tolist()) == {outcome}


def test_w_zero_drifts_outward_under_euler_although_its_flow_conserves_h():
    ds = portrait("zero")
    assert ds["flow_kind"].values.tolist() == ["center"]
    assert ds["map_kind"].values.tolist() == ["unstable focus"]
    assert ds["critical_step"].item() == 0
    assert set(ds["outcome"].values.tolist()) == {"still moving outward"}
    assert np.abs(ds["divergence"].values).max() == 0
    expected = np.log(np.cosh(2 * ds["y"].values[:, None])) + np.log(np.cosh(2 * ds["x"].values))
    assert np.allclose(ds["conserved"].values, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "matrix, step_size",
    [
        ("-0.3,2.7;-2.7,-0.3", 1.5),
        ("-0.3,3.8;-3.8,-0.3", 1.0),
        ("-0.4,3.7;-3.7,-0.4", 1.5),
        ("-0.7,3.2;-3.2,-0.7", 1.5),
        ("-2.8,-1.5;-3.1,-2.8", 1.5),
        ("diff", 0.1),
        ("-0.2,2;-2,-0.2", 0.3),
        ("-1,3;-3,-1", 0.22),
    ],
)
def test_a_closed_curve_is_told_from_the_periodic_orbit_that_an_orbit_comes_to_slowly(matrix, step_size):
    """After 100,000 steps what is periodic repeats to 1e-9, and what is on a curve to no less than 1e-6."""
    system = planar_system(planar_matrix(matrix), step_size=step_size)
    ds = phase_plane(system)
    h = ds["trajectory"].values[:, 0].T
    W = np.array([[float(entry) for entry in row] for row in planar_matrix(matrix)])
    for _ in range(100_000):
        h = h + step_size * np.tanh(W @ h)
    nearest, later = np.full(h.shape[1], np.inf), h
    for _ in range(200):
        later = later + step_size * np.tanh(W @ later)
        nearest = np.minimum(nearest, np.linalg.norm(later - h, axis=0))
    for outcome, gap in zip(ds["outcome"].values, nearest.tolist(), strict=True):
        assert gap < 1e-9 or gap > 1e-6
        assert (outcome == "invariant closed curve") == (gap > 1e-6)


def test_the_flow_of_w_zero_keeps_h():
    states = portrait("zero", "flow")["trajectory"].values
    h = np.log(np.cosh(2 * states)).sum(axis=-1)
    assert np.abs(h - h[:, :1]).max() < 1e-11


@pytest.mark.parametrize(
    "text, kind, expected, stable",
    [
        ("0,-2;1,0", "flow", "center", 1),
        ("1,-2;1,-1", "flow", "linear center, undecided", -1),
        ("0,1;0,0", "flow", "line of equilibria", 0),
        ("-1,0;0,0", "flow", "line of equilibria", 1),
        ("0,0;0,0", "flow", "plane of equilibria", 1),
        ("identity", "flow", "unstable star", 0),
        ("plus", "flow", "unstable improper node", 0),
        ("minus", "flow", "stable improper node", 1),
        ("1,0;0,-1", "flow", "saddle", 0),
        ("-1,0;0,0", "feedback", "line of equilibria", 1),
        ("-20,0;0,-20", "feedback", "linear plane of period-2 points, undecided", -1),
        ("-21,0;0,-21", "feedback", "unstable flip star", 0),
        ("identity", "vanilla", "linear plane of equilibria, undecided", -1),
        ("0.6,-0.8;0.8,0.6", "vanilla", "linear center, undecided", -1),
        ("-1.5,0;0,0.5", "vanilla", "flip saddle", 0),
    ],
)
def test_kinds_of_the_origin(text, kind, expected, stable):
    ds = portrait(text, kind)
    which = "flow" if kind == "flow" else "map"
    origin = np.flatnonzero(~ds["equilibrium"].values.any(axis=1))
    assert ds[f"{which}_kind"].values[origin].tolist() == [expected]
    assert ds[f"{which}_stable"].values[origin].tolist() == [stable]


def test_without_exact_entries_the_degenerate_kinds_are_undecided():
    ds = portrait("zero", by_hand=False)
    assert ds["flow_kind"].values.tolist() == ["undecided, near center"]
    assert np.isnan(ds["critical_step"].item())
    assert "critical_step" in schema.flags(ds)


@pytest.mark.parametrize("text", ["-1,1;0,0", "0,0;0,-3", "0,1;0,0"])
def test_a_line_that_is_not_told_is_not_said_to_be_one(text):
    assert "The flow has a line of equilibria along" in portrait(text).attrs["verdict"]
    verdict = portrait(text, by_hand=False).attrs["verdict"]
    assert verdict.startswith("To rounding the window holds a continuum of equilibria, through (0, 0).")
    assert "has a line" not in verdict
    assert " along " not in verdict


@pytest.mark.parametrize(
    "text, kind, sentence",
    [
        (
            "1,2;2,4",
            "flow",
            "The flow has a line of equilibria along (0.8944, −0.4472): at (0, 0) it has eigenvalues 5 and",
        ),
        ("0,0;0,0", "flow", "The flow has a plane of equilibria: at (0, 0) it has the double eigenvalue 0 per second."),
        (
            "0,-2;1,0",
            "flow",
            "The flow's equilibrium is a center: at (0, 0) it has eigenvalues ±1.414i per second. The flow is "
            "h′ = tanh(W h). Euler's method is unstable there at every step size.",
        ),
        ("1,0;0,0.5", "linear", "The map has a line of fixed points: at (0, 0) it has multipliers 1 and 0.5."),
        ("-1,0;0,-1", "linear", "The map has a plane of period-2 points: "),
        ("1,0;0,0.5", "vanilla", "The map's fixed point is of undecided kind (linearly a line of fixed points): "),
    ],
)
def test_a_line_of_equilibria_is_no_kind_of_one_equilibrium(text, kind, sentence):
    assert portrait(text, kind).attrs["verdict"].startswith(sentence)


def test_an_undecided_kind_is_named_once_and_has_the_article_of_its_sound():
    degenerate = Planar(lambda h: torch.stack([h[..., 0], h[..., 1] ** 3], -1))
    assert "The flow's equilibrium is of undecided kind" in phase_plane(degenerate).attrs["verdict"]
    two = Planar(lambda h: torch.stack([h[..., 0] * (h[..., 0] - 0.5), h[..., 1] ** 3], -1))
    assert "2 equilibria: an equilibrium of undecided kind" in phase_plane(two).attrs["verdict"]


def test_a_linear_system_has_the_kind_of_its_matrix():
    matrix = planar_matrix("1,-2;1,-1")
    ds = phase_plane(create("linear", matrix=[[1.0, -2.0], [1.0, -1.0]]), matrix=matrix)
    assert ds["flow_kind"].values.tolist() == ["center"]


def test_all_nine_fixed_points_of_two_independent_units():
    """h = tanh(2 h) in each coordinate: the roots 0 and ±0.957504 and the multipliers 2 and 2 (1 − h²)."""
    ds = portrait("2,0;0,2", "vanilla")
    root = 0.9575040240772687
    points = {tuple(point) for point in np.round(ds["equilibrium"].values, 12) + 0.0}
    grid = np.round([-root, 0.0, root], 12)
    assert points == {(x, y) for x in grid for y in grid}
    kinds = dict(zip(map(tuple, np.sign(ds["equilibrium"].values).astype(int)), ds["map_kind"].values, strict=True))
    assert kinds[0, 0] == "unstable star"
    assert kinds[1, 0] == kinds[0, -1] == "saddle"
    assert kinds[1, 1].removeprefix("undecided, near ").startswith("stable")


def test_a_degenerate_fixed_point_is_one_although_states_along_its_centre_manifold_pass_for_roots():
    # y = tanh y has the root 0 alone, and then so has x = tanh(x + y); along y = x³/3 the residual is y³/3
    ds = planar_portrait("1,1;0,1", "vanilla", 0, steps=5)
    assert ds.sizes["fixed_point"] == 1
    assert not ds["equilibrium"].values.any()
    assert ds["residual"].item() == 0
    assert "of undecided kind" in ds.attrs["verdict"]


def test_an_orbit_that_drifts_far_out_is_not_at_rest():
    # both units saturate: each step is (∓0.1, 0.1), a 1e−10th of the state
    ds = planar_portrait("diff", "feedback", 0, starts=[(1e9, 1e9)], steps=5)
    assert ds["outcome"].values.tolist() != ["fixed point"]
    assert "at rest" not in ds.attrs["verdict"]


def spiral(size, growth, turn, count=2400):
    """An orbit around (0.3, 0.2)."""
    t = np.arange(count)
    return np.array([0.3, 0.2]) + (size * growth**t * np.exp(1j * turn * t)).view(float).reshape(-1, 2)


@pytest.mark.parametrize(
    "orbit, expected",
    [
        (spiral(1.0, 0.98, 0.0), "fixed point"),
        (spiral(0.5, 0.98, 1.0), "fixed point"),
        (spiral(1e-10, 0.999, 0.0), "fixed point"),
        (spiral(0.0, 1.0, 0.0), "fixed point"),
        (spiral(10.0, 0.99, 0.0), "still moving inward"),  # it moves by less than 1e-9 a step
        (spiral(10.0, 0.99, 2 * np.pi / 5), "still moving inward"),
        (spiral(1e-9, 0.9999, np.pi / 2), "still moving inward"),
        (spiral(1e-10, 1.001, 0.0), "still moving outward"),
        (spiral(1e-10, 1.001, np.pi), "still moving outward"),
        (np.array([0.5, 0.3]) + 1e-12 * np.arange(2400)[:, None], "still moving outward"),
        (spiral(0.5, 1.0, np.pi), "periodic orbit"),
        (spiral(1e-6, 1.0, 2 * np.pi / 7), "periodic orbit"),
        (spiral(0.5, 1.0, 1.0), "invariant closed curve"),
    ],
)
def test_what_has_not_settled_is_still_on_its_way(orbit, expected):
    found = long_orbit.outcome(orbit, 400, np.array([0.3, 0.2]))
    assert (found in long_orbit.MOVING) if expected == "still moving outward" else (found == expected)
    if expected == "periodic orbit":
        assert long_orbit.period(orbit[-400:]) == len(np.unique(orbit.round(8), axis=0))


@pytest.mark.parametrize("step", [1e3, 1e10, 1e155, 1e300])
def test_orbits_of_huge_steps_end_on_the_cycles_that_their_signs_make(step):
    """Where tanh is ±1, an orbit moves on a lattice: it repeats exactly once a state comes again."""
    ds = planar_portrait("diff", "feedback", step_size=step)
    periods = set()
    for orbit in ds["long_orbit"].values / step:
        assert np.abs(np.abs(np.diff(orbit, axis=0)) - 1).max() < 1e-9
        again = (np.abs(orbit[1:] - orbit[0]).max(axis=1) < 1e-6).argmax() + 1
        periods.add(int(again))
    assert set(ds["outcome"].values) == {"periodic orbit"}
    assert f"on periodic orbits of {' and '.join(map(str, sorted(periods)))} steps" in ds.attrs["verdict"]


def test_slow_decay_is_no_periodic_orbit_of_one_step():
    ds = planar_portrait("-0.1,1e-9;-1e-9,-0.1", "feedback", 0, steps=5)
    assert set(ds["outcome"].values.tolist()) == {"fixed point"}
    assert "all 3 orbits are at rest at (0, 0)" in ds.attrs["verdict"]


@pytest.mark.parametrize("text", ["0,1e5;-1e-5,0", "0,1e60;-1e60,0"])
def test_what_a_fast_center_conserves_is_a_number(text):
    ds = planar_portrait(text, "feedback", 0, steps=5)
    assert np.isfinite(ds["conserved"].values).all()


def test_fixed_points_of_the_henon_map():
    """x = (b − 1 ± √((1 − b)² + 4a)) / 2a, y = b x, with multipliers −a x ± √(a² x² + b)."""
    ds = phase_plane(create("henon"), starts=[[0.1, 0.1]], extent=2)
    x = (-0.7 + np.array([1, -1]) * np.sqrt(0.49 + 5.6)) / 2.8
    order = np.argsort(-ds["equilibrium"].values[:, 0])
    assert np.abs(ds["equilibrium"].values[order] - np.stack([x, 0.3 * x], axis=1)).max() < 1e-12
    multipliers = -1.4 * x[:, None] + np.array([1, -1]) * np.sqrt(1.96 * x[:, None] ** 2 + 0.3)
    found = np.sort(ds["map_eigenvalue"].values[order].real, axis=1)
    assert np.abs(found - np.sort(multipliers, axis=1)).max() < 1e-11
    assert "flow_kind" not in ds


@pytest.mark.parametrize(
    "eigenvalues, step",
    [([-1, -4], 0.5), ([-0.15 + 2j, -0.15 - 2j, -50], 0.04), ([-1, 0], 2.0), ([1, -1], 0.0), ([2j, -2j], 0.0)],
)
def test_critical_step(eigenvalues, step):
    found = critical_step(eigenvalues)[0]
    assert found == pytest.approx(step, rel=1e-12)
    moduli = [np.abs(1 + factor * found * np.array(eigenvalues)).max() for factor in (0.999, 1.001)]
    assert step == 0 or (moduli[0] <= 1 < moduli[1])


SCALES = [1e-99, 1e-30, 1e-5, 1e5, 1e30, 1e99]
# Two rows of whole numbers: a focus, a node, a saddle, a center, one that is linear only, lines, and shears.
WHOLE = ["-1,2;-2,-1", "-3,1;0,-1", "1,0;0,-2", "0,1;-1,0", "1,-2;1,-1", "1,1;1,1", "-1,1;1,-1", "0,1;0,0", "-1,1;0,-1"]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("text", WHOLE)
def test_what_a_flow_is_does_not_hang_on_the_unit_of_time_or_of_states(text, scale):
    """h' = tanh(c A h) is g' = c tanh(A g) of g = c h: its time, and where it bends, are scaled."""
    entries = [[Fraction(entry) for entry in row.split(",")] for row in text.split(";")]
    unit = Fraction(scale)
    starts = np.array([[0.5, 0.2], [-0.3, 0.4]])
    found = []
    for factor in (Fraction(1), unit):
        matrix = [[factor * entry for entry in row] for row in entries]
        system = planar_system(matrix, "flow", 0.1)
        c = float(factor)
        found.append(
            phase_plane(system, matrix=matrix, starts=starts / c, extent=1 / c, step_size=0.1 / c, steps=5, grid=5)
        )
    one, other = found
    assert other["flow_kind"].values.tolist() == one["flow_kind"].values.tolist()
    assert other["flow_stable"].values.tolist() == one["flow_stable"].values.tolist()
    np.testing.assert_allclose(other["flow_eigenvalue"].values / scale, one["flow_eigenvalue"].values, rtol=1e-12)
    np.testing.assert_allclose(other["critical_step"].values * scale, one["critical_step"].values, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-70, 1e-5])
@pytest.mark.parametrize("text", WHOLE)
def test_what_a_flow_is_does_not_hang_on_how_slow_it_is(text, scale):
    """With the starts and the window left where they are."""
    slow = [[Fraction(scale) * entry for entry in row] for row in planar_matrix(text)]
    one, other = (
        phase_plane(planar_system(matrix, "flow", 0.1), matrix=matrix, starts=[[0.5, 0.2]], extent=1.0, steps=3, grid=5)
        for matrix in (planar_matrix(text), slow)
    )
    assert other["flow_kind"].values[0] == one["flow_kind"].values[0]
    assert other.sizes["fixed_point"] == 1


@pytest.mark.parametrize("scale", SCALES)
def test_fixed_points_are_found_whatever_the_unit(scale):
    """h ← tanh(2 c h)/c of each coordinate has x = tanh 2x three times: nine fixed points, at 0 and ±x/c."""
    system = from_function(lambda h, x: torch.tanh(2 * scale * h) / scale, state_size=2)
    ds = phase_plane(system, starts=[[0.1 / scale, 0.2 / scale]], extent=1.5 / scale, steps=2, grid=5)
    root = float(mpmath.findroot(lambda x: mpmath.tanh(2 * x) - x, 1))
    states = np.sort(ds["equilibrium"].values * scale / root, axis=0)
    np.testing.assert_allclose(states, np.repeat([[-1.0], [0.0], [1.0]], 3, axis=0) * [1, 1], atol=1e-9)


@pytest.mark.parametrize("extent", [1e-150, 1e-30, 1e-5, 1.0, 1e5])
@pytest.mark.parametrize("text, kind", [("1,0;0,1", "vanilla"), ("1,0;0,1", "flow"), ("0,1;-1,0", "vanilla")])
def test_what_a_point_is_does_not_hang_on_how_closely_one_looks(text, kind, extent):
    matrix, starts = planar_matrix(text), extent * np.array([[0.5, 0.2]])
    ds = phase_plane(planar_system(matrix, kind, 0.1), matrix=matrix, starts=starts, extent=extent, steps=5, grid=5)
    wide = portrait(text, kind, steps=5, grid=5, extent=2.0)
    name = "flow_kind" if kind == "flow" else "map_kind"
    place = (np.abs(ds["equilibrium"].values).max(axis=1) == 0).argmax()
    origin = (np.abs(wide["equilibrium"].values).max(axis=1) == 0).argmax()
    assert ds[name].values[place] == wide[name].values[origin]


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-162, 1e-20, 1e20, 1e150])
def test_the_critical_step_of_eigenvalues_whose_squares_under_or_overflow(size):
    assert critical_step([size * (-1 + 2j), size * (-1 - 2j)])[0] == pytest.approx(0.4 / size, rel=1e-14)


def test_a_step_of_a_map_multiplies_areas_by_its_determinant():
    """Of h ← tanh(W h) that is |det W| Π (1 − tanh²); a flow and Euler's map of it have a divergence in its place."""
    ds = planar_portrait("0.5,1;-2,0.3", "vanilla")
    W = np.array([[0.5, 1.0], [-2.0, 0.3]])
    h = np.stack(np.meshgrid(ds["x"].values, ds["y"].values), axis=-1)
    slope = 1 - np.tanh(h @ W.T) ** 2
    np.testing.assert_allclose(ds["area_factor"].values, 2.15 * slope.prod(axis=-1), rtol=1e-12)
    assert "area_factor" not in portrait("diff")


def test_velocity_and_divergence_of_w_diff():
    ds = portrait("diff")
    W = np.array([[-0.15, -2], [2, -0.15]])
    h = np.stack(np.meshgrid(ds["x"].values, ds["y"].values), axis=-1)
    assert np.allclose(ds["velocity"].values, np.tanh(h @ W.T), rtol=1e-14)
    slope = 1 - np.tanh(h @ W.T) ** 2
    assert np.allclose(ds["divergence"].values, -0.15 * slope.sum(axis=-1), rtol=1e-13)
    assert ds["velocity"].attrs["units"] == "1/s"


def test_float32_says_what_its_numbers_carry():
    ds = portrait("diff", dtype="float32", by_hand=False)
    assert ds["flow_kind"].values.tolist() == ["stable focus"]
    assert np.abs(ds["trajectory"].values[:, 50] - STEP_50["diff"]).max() < 1e-4


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"starts": [[1.0, 2.0, 3.0]]}, "pairs"),
        ({"starts": [[np.nan, 0.0]]}, "finite"),
        ({"steps": 0}, "1 to 1,000,000 steps, got steps=0"),
        ({"steps": 10**9}, "1 to 1,000,000 steps"),
        ({"grid": 1}, "two points"),
        ({"extent": 0.0}, "positive"),
        ({"matrix": [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]}, "not the system's Jacobian"),
    ],
)
def test_misuse(settings, words):
    with pytest.raises(UserError, match=words):
        phase_plane(planar_system(planar_matrix("diff")), **settings)


@pytest.mark.parametrize("scale", ["1e-5", "1", "1e5", "1e10"])
def test_a_flow_of_any_speed_is_drawn_at_its_own_step_and_too_long_an_orbit_refused(scale):
    """W₀ × scale: linear, a rotation by 2 × scale radians a second."""
    speed = float(scale)
    flow = create("linear", matrix=[[0.0, -2 * speed], [2 * speed, 0.0]])
    states = phase_plane(flow, step_size=0.1 / speed)["trajectory"].values
    assert np.allclose(np.linalg.norm(states, axis=-1), np.linalg.norm(STARTS, axis=-1)[:, None], rtol=1e-8)
    with pytest.raises(UserError, match=r"10,000 times the flow's own time scale .* take fewer steps, smaller ones"):
        phase_plane(flow, step_size=100 / speed)


@pytest.mark.parametrize("unit", [1e-6, 1e-4, 1e-2, 1.0, 1e3])
def test_starts_say_in_which_units_a_system_lives(unit):
    """x'' = x − x³/unit²: a saddle at 0, and centers at ±unit."""
    flow = Planar(lambda h: torch.stack([h[..., 1], h[..., 0] - h[..., 0] ** 3 / unit**2], -1))
    ds = phase_plane(flow, starts=[[0.5 * unit, 0.1 * unit]])
    found = sorted((ds["equilibrium"].values / unit).round(12).tolist())
    assert found == [[-1, 0], [0, 0], [1, 0]]


@pytest.mark.parametrize("y_from_x", [-1e-4, 0.0])
def test_a_slow_flow_is_slow_in_any_units(y_from_x):
    """x' = 10⁴ y − 0.1 x, y' = −10⁻⁴ x (or 0) − 0.1 y: a focus of −0.1 ± i, or a double −0.1."""
    flow = create("linear", matrix=[[-0.1, 1e4], [y_from_x, -0.1]])
    ds = phase_plane(flow)
    expected = -0.1 + 1j * np.sqrt(abs(y_from_x) * 1e4)
    assert np.allclose(ds["flow_eigenvalue"].values[0, 0], expected, rtol=1e-9)
    assert int(ds["flow_stable"].values[0]) == 1


def test_only_two_states_make_a_plane():
    with pytest.raises(UserError, match="two states"):
        phase_plane(from_function(lambda h, x: torch.tanh(h), state_size=3))


def planar_map(step):
    return from_function(step, state_size=2)


def turned(h, angle, factor=1.0):
    c, s = np.cos(angle), np.sin(angle)
    return factor * torch.stack([c * h[..., 0] - s * h[..., 1], s * h[..., 0] + c * h[..., 1]], dim=-1)


@pytest.mark.parametrize("angle", [0.003, 0.01, 2 * np.pi / 600, 0.3])
@pytest.mark.parametrize("attracting", [False, True])
def test_a_circle_is_told_however_slowly_it_is_gone_round(angle, attracting):
    def step(h, x):
        return turned(h, angle, 1 + 0.05 * (1 - (h**2).sum(-1, keepdim=True)) if attracting else 1.0)

    said = phase_plane(planar_map(step), starts=[[0.6, 0.8]]).attrs["verdict"]
    assert "1 orbit is on an invariant closed curve, at a distance of 1.00 from the fixed point." in said


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.2, -0.1], [-0.3, 0.1], [0.5, 0.0]])
def test_chaos_has_no_trend(start):
    ds = phase_plane(create("henon"), starts=[start])
    assert ds.attrs["verdict"].endswith("1 orbit is still moving, on no point, cycle or closed curve.")


@pytest.mark.parametrize(
    "step, far",
    [
        (lambda h, x: h + 0.1, "341"),  # h_t = h_0 + 0.1 t at t = 2,400
        (lambda h, x: torch.stack([h[..., 0] + h[..., 1] ** 2 + 0.1, h[..., 1] / 2], dim=-1), "242"),
    ],
)
def test_without_an_equilibrium_distances_are_from_0(step, far):
    said = phase_plane(planar_map(step), starts=[[1.0, 1.0]]).attrs["verdict"]
    assert said == (
        f"The window holds no fixed points. After 2,400 steps 1 orbit is still moving outward, at a distance of {far} "
        "from 0."
    )


def test_a_flow_of_ones_own_without_an_equilibrium_has_a_portrait():
    class Drift(Flow):
        def velocity(self, state, input, t=0):
            return torch.stack([state[..., 0] ** 2 + 1e-6, -state[..., 1]], dim=-1)

    ds = phase_plane(Drift(2, 0))
    assert ds.attrs["verdict"] == "The window holds no equilibria."
    assert ds.sizes["fixed_point"] == 0


@pytest.mark.parametrize("bias", [20.0, 27.0, 33.0])
def test_a_gate_that_is_nearly_shut_hides_no_fixed_point_and_makes_none(bias):
    """h_i ← (1 − z) tanh(2 h_i) + z h_i, whose nine roots no z < 1 moves: 1 − z is 2e-9, 2e-12, 5e-15."""
    layer = torch.nn.GRU(1, 2).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.weight_hh_l0[4, 0] = layer.weight_hh_l0[5, 1] = 2.0
        layer.bias_ih_l0[2:4] = bias
        layer.bias_ih_l0[:2] = 50.0  # the reset gate is open
    system = torch_layer(layer)
    ds = phase_plane(system, starts=[[0.5, 0.3]])
    root = float(mpmath.findroot(lambda h: mpmath.tanh(2 * h) - h, 0.9))
    found = sorted(map(tuple, np.round(ds["equilibrium"].values, 9).tolist()))
    assert found == sorted((x, y) for x in np.round([-root, 0, root], 9) for y in np.round([-root, 0, root], 9))
    assert "at rest" not in ds.attrs["verdict"]
    said = lyapunov(system, np.zeros((2000, 1)), initial_state=[0.5, 0.3]).attrs["verdict"]
    assert "fixed point" not in said


@pytest.mark.parametrize("drift", [1e-10, 1e-13])
def test_a_slow_drift_has_no_fixed_point(drift):
    system = from_function(lambda h, x: torch.stack([h[..., 0] + drift, h[..., 1] / 2], dim=-1), state_size=2)
    assert phase_plane(system, starts=[[0.5, 0.3]]).attrs["verdict"].startswith("The window holds no fixed points.")
    assert "fixed point" not in lyapunov(system, initial_state=[0.5, 0.3], steps=2000).attrs["verdict"]


@pytest.mark.parametrize(
    "matrix, steps, said",
    [
        ("diff", [0.05, 0.07, 0.08], "Euler's map loses its stability between frames 2 and 3 (ε = 0.0746)."),
        ("diff", [0.08, 0.07], "Euler's map becomes stable between frames 1 and 2 (ε = 0.0746)."),
        ("diff", [0.05, 0.06], "in all of them the only fixed point of the window is stable."),
        ("zero", [0.05, 0.06], "in all of them the only fixed point of the window is unstable."),
    ],
)
def test_between_which_portraits_stability_changes(matrix, steps, said):
    portraits = [phase_plane(planar_system(planar_matrix(matrix), step_size=step), steps=2) for step in steps]
    told = changes(portraits, "step_size", steps)
    assert told == f"step_size from {steps[0]:g} to {steps[-1]:g}, {len(steps)} frames: {said}"


def test_of_another_parameter_both_sides_of_a_change_are_told():
    """h ← (a h₁, h₂/2) has a saddle for a > 1, and h ← h³ + a h three fixed points for a < 1."""
    values = [0.5, 0.9, 1.1]
    maps = [from_function(lambda h, x, a=a: h * h.new_tensor([a, 0.5]), 2) for a in values]
    told = changes([phase_plane(each, steps=2) for each in maps], "a", values)
    assert told == "a from 0.5 to 1.1, 3 frames: the map loses its stability between frames 2 and 3 (a 0.9 to 1.1)."
    maps = [from_function(lambda h, x, a=a: torch.stack([h[0] ** 3 + a * h[0], h[1] / 2]), 2) for a in values]
    told = changes([phase_plane(each, extent=2.0, steps=2) for each in maps], "a", values)
    assert "the number of fixed points in the window goes from 3 to 1 between frames 2 and 3 (a 0.9 to 1.1)." in told


def test_where_orbits_still_move_is_told_at_the_last_step_and_a_modulus_near_1_by_what_is_beside_it():
    """Of h₁' = 0 and h₂' = 10 h₂(0) a long orbit of Euler's map is at its start plus n ε 10 h₂(0)."""
    ds = phase_plane(Euler(Linear([[0, 1], [0, 0]]), 0.1))
    ends = np.linalg.norm(ds["long_orbit"].values[:, -1], axis=1)[ds["outcome"].values == "still moving outward"]
    assert f"at a distance of {ends.min():.0f} to {ends.max():.0f} from" in ds.attrs["verdict"]
    slow = phase_plane(Euler(Linear([[-1e-8, 0], [0, -1e8]]), 0.1))
    assert "multipliers −1e+07 and 1 − 1e−09" in slow.attrs["verdict"]


class Planar(Flow):
    """h' = f(h)."""

    def __init__(self, f):
        super().__init__(2, 0)
        self.f = f

    def velocity(self, state, input, t=0):
        return self.f(state)


@pytest.mark.parametrize("extent, count", [(7, 25), (10, 49), (13, 81)])
def test_every_equilibrium_of_a_grid_of_them_is_in_the_window(extent, count):
    """sin vanishes at the multiples of π: (2 ⌊extent/π⌋ + 1)² are in the window."""
    ds = phase_plane(Planar(torch.sin), extent=extent)
    states = ds["equilibrium"].values / np.pi
    assert len(states) == count == len(np.unique(states.round(), axis=0))
    assert np.abs(states - states.round()).max() < 1e-12
    assert f"The window holds {count} equilibria" in ds.attrs["verdict"]


def test_a_circle_of_equilibria_is_no_number_of_them():
    ds = phase_plane(Planar(lambda h: h * (1 - (h * h).sum(-1, keepdim=True))), extent=2)
    assert "The window holds 1 equilibrium: " in ds.attrs["verdict"]
    assert "and at least 1 continuum of equilibria, through" in ds.attrs["verdict"]


def test_an_equilibrium_at_a_kink_has_no_critical_step():
    """−h + 2 relu(h): the origin repels for h > 0, and attracts for h < 0."""
    ds = phase_plane(Planar(lambda h: -h + 2 * torch.relu(h)), extent=2)
    assert ds["flow_stable"].values.tolist() == [-1]
    assert np.isnan(ds["critical_step"].values).all()
    assert "at a kink" in ds.attrs["verdict"]
    assert "critical step" not in ds.attrs["verdict"]


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e-12])
def test_orbits_begin_in_a_window_of_small_units(unit):
    """Duffing's x' = v, v' = x − x³ − v/5, in a unit of its own."""

    def duffing(h):
        x, v = (h / unit).unbind(-1)
        return unit * torch.stack([v, x - x**3 - v / 5], dim=-1)

    ds = phase_plane(Planar(duffing), extent=2 * unit)
    assert np.abs(ds["trajectory"].values[:, 0]).max() <= 2 * unit
    assert "The window holds 3 equilibria" in ds.attrs["verdict"]


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-3])
def test_what_is_a_point_in_the_window_may_be_several(unit):
    ds = phase_plane(from_function(lambda h, x: unit * torch.tanh(2 * h / unit), state_size=2))
    root = 0.9575040240772687 * unit
    expected = sorted((x, y) for x in (-root, 0, root) for y in (-root, 0, root))
    np.testing.assert_allclose(sorted(map(tuple, ds["equilibrium"].values)), expected, rtol=1e-9, atol=1e-9 * unit)
    assert f"at rest at (0, {number(root)})" in ds.attrs["verdict"]


@pytest.mark.parametrize("unit, extent", [(1e3, None), (1e6, None), (1.0, 1e-20)])
def test_orbits_that_rest_outside_of_the_window_are_not_said_to_rest_in_it(unit, extent):
    ds = phase_plane(from_function(lambda h, x: unit * torch.tanh(2 * h / unit), state_size=2), extent=extent)
    assert ds.attrs["verdict"].startswith("The window holds 1 fixed point: ")
    assert f"(0, {number(0.9575040240772687 * unit)})" in ds.attrs["verdict"]


@pytest.mark.parametrize("offset", [1e-15, 1e-14, 1e-6, 1.0])
def test_a_translation_has_no_fixed_point_however_short_it_is(offset):
    assert phase_plane(from_function(lambda h, x: h + offset, state_size=2)).sizes["fixed_point"] == 0


@pytest.mark.parametrize(
    "turn, expected",
    [
        ([[0.6, -0.8], [0.8, 0.6]], "on invariant closed curves of their own, at a distance of 0.500 to 0.901"),
        ([[0.0, -1.0], [1.0, 0.0]], "on periodic orbits of their own, of 4 steps"),
    ],
)
def test_orbits_that_a_rotation_keeps_apart_are_on_curves_of_their_own(turn, expected):
    rotation = torch.tensor(turn, dtype=torch.float64)
    ds = phase_plane(from_function(lambda h, x: h @ rotation.to(h).T, state_size=2))
    assert f"all 3 orbits are {expected}" in ds.attrs["verdict"]


@pytest.mark.parametrize("step_size", [0.1, 0.5])
def test_a_spiral_that_is_no_circle_moves_outward_all_the_same(step_size):
    """Far out the flow is of constant speed between its nullclines: a round scales by one factor, and |h| falls."""
    ds = phase_plane(planar_system([[0.5, 2.0], [-1.0, 0.5]], step_size=step_size))
    assert ds["outcome"].values.tolist() == ["still moving outward"] * 3
    assert "all 3 orbits are still moving outward" in ds.attrs["verdict"]


def test_of_orbits_that_have_turned_too_little_to_be_told_all_are_told():
    """24 seconds of the same flow are less than a round and a quarter of two of the orbits."""
    ds = phase_plane(planar_system([[0.5, 2.0], [-1.0, 0.5]], step_size=0.01))
    assert (
        ", of 3 orbits 2 are still moving, on no point, cycle or closed curve and 1 is still moving outward, at a "
        in (ds.attrs["verdict"])
    )


def test_an_elliptic_spiral_of_any_orientation_is_told_by_its_rounds():
    """h ← 1.0004 S R(angle) S⁻¹ h, S = diag(1, 30): |h| goes up and down by a factor of 30 in a round."""
    turn, shape = np.array([[np.cos(0.002), -np.sin(0.002)], [np.sin(0.002), np.cos(0.002)]]), np.diag([1.0, 30.0])
    for sign in (1, -1):
        matrix = torch.tensor(1.0004 * shape @ (turn if sign > 0 else turn.T) @ np.linalg.inv(shape))
        ds = phase_plane(from_function(lambda h, x, matrix=matrix: h @ matrix.to(h).T, state_size=2), extent=100.0)
        assert ds["outcome"].values.tolist() == ["still moving outward"] * 3


def test_the_equation_is_told_of_those_systems_alone_whose_it_is():
    W = [[0.0, 1.0], [-1.0, 0.0]]
    said = [equation(planar_system(W, kind)) for kind in KINDS]
    assert said == ["h′ = tanh(W h)", "h ← tanh(W h)", "h ← W h", "h′ = tanh(W h)"]
    others = [create("feedback", input_size=1, state_size=2), create("vanilla", input_size=0, state_size=2)]
    others.append(create("vanilla", input_size=0, state_size=2, bias=False, activation="relu"))
    assert [equation(each) for each in others] == [""] * 3


def test_a_slow_turn_does_not_hide_that_an_orbit_runs_away():
    ds = phase_plane(planar_system([[0.5, 1.0], [-1.0, 0.5]], step_size=0.1))
    assert "all 3 orbits are still moving outward" in ds.attrs["verdict"]


AFFINE = {
    "a double integrator": (
        lambda h: torch.stack([h[..., 1], 0 * h[..., 0]], -1),
        "To rounding the window holds a continuum of equilibria, through (0, 0)",
    ),
    "free fall": (lambda h: torch.stack([h[..., 1], 0 * h[..., 0] + 1], -1), "The window holds no equilibria"),
    "a constant": (lambda h: torch.ones_like(h), "The window holds no equilibria"),
    "rest": (lambda h: 0 * h, "To rounding the window holds a continuum of equilibria, through (0, 0)"),
    "a line through the origin": (
        lambda h: (h.sum(-1, keepdim=True)).expand_as(h),
        "To rounding the window holds a continuum of equilibria, through (0, 0)",
    ),
    "both axes": (
        lambda h: torch.stack([h.prod(-1), 0 * h[..., 0]], -1),
        "To rounding the window holds a continuum of equilibria, through (0, 0)",
    ),
}


@pytest.mark.parametrize("name", AFFINE)
def test_flows_with_rows_of_zeros_and_lines_through_the_origin(name):
    velocity, said = AFFINE[name]
    assert said in phase_plane(Planar(velocity), steps=40).attrs["verdict"]


@pytest.mark.parametrize("width", [0.05, 0.01])
def test_between_two_stable_nodes_there_is_a_saddle_however_steep_a_unit_is(width):
    def velocity(h):
        x, y = h.unbind(-1)
        return torch.stack([2 - x + 2 * torch.tanh((x - 0.5) / width), -y], -1)

    found = phase_plane(Planar(velocity), extent=6, steps=40)
    # x = 2 + 2 tanh((x − 1/2)/w): 0 and 4 to e^(−1/w), and the root between them, by Newton's method in 40 digits
    with mpmath.workdps(40):
        between = mpmath.findroot(lambda x: 2 - x + 2 * mpmath.tanh((x - 0.5) / width), 0.5 - width)
    states = sorted(found["equilibrium"].values[:, 0].tolist())
    assert states == pytest.approx([0, float(between), 4], abs=1e-7)


@pytest.mark.parametrize("center", [30.0, 1e3, 1e6])
def test_nine_fixed_points_far_from_the_origin(center):
    system = from_function(lambda h, x: center + torch.tanh(1.5 * (h - center)), state_size=2)
    found = phase_plane(system, starts=[[center + 0.1, center - 0.2], [center - 0.3, center + 0.1]])
    assert found.sizes[schema.FIXED_POINT] == 9


def test_a_flow_that_has_no_velocity_at_the_origin_is_as_fast_as_at_its_starts():
    system = Planar(lambda h: torch.stack([1 / h[..., 0] - 1, -h[..., 1]], -1))
    found = phase_plane(system, starts=[[0.5, 0.5]])
    np.testing.assert_allclose(found["equilibrium"].values, [[1, 0]], atol=1e-12)


def test_a_coordinate_that_is_rounding_beside_the_other_is_told_as_zero():
    """The standard map's points are at 0 and at half a turn, with momentum 0."""

    def standard(h, x):
        momentum = h[..., 1] + 0.5 * torch.sin(h[..., 0])
        return torch.stack([h[..., 0] + momentum, momentum], -1)

    said = phase_plane(from_function(standard, 2), starts=[[0.3, 0.1]], extent=4.0, steps=5).attrs["verdict"]
    assert "(3.142, 0)" in said or "(−3.142, 0)" in said
    assert not re.search(r"e−1\d\)", said)


@pytest.mark.parametrize(
    "matrix, what", [("0,1;0,0", "slide along it"), ("1,2;2,4", "move away from it"), ("-1,0;0,0", "approach it")]
)
def test_what_states_do_beside_a_line_of_equilibria(matrix, what):
    flow = planar_matrix(matrix)
    assert f"states beside the line {what}." in phase_plane(planar_system(flow, "flow"), matrix=flow).verdict
