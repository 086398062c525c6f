"""Phase portraits against the step-50 oracle, closed forms of planar systems and exact identities."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from dynlab import schema
from dynlab.diagnostics.phase_plane import phase_plane
from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.diagnostics.phase_plane.verdict import changes
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.numerics.critical_step import critical_step
from dynlab.systems import Flow, create
from dynlab.systems.planar import KINDS, STARTS, equation, planar_system


def portrait(text, kind="feedback", step_size=0.1, by_hand=True, **settings):
    matrix = planar_matrix(text)
    system = planar_system(matrix, kind, step_size)
    return phase_plane(system, matrix=matrix if by_hand else None, step_size=step_size, **settings)


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


def test_every_start_ends_on_the_invariant_curve_of_w_diff():
    ds = portrait("diff", starts=[(0.0, 0.5), (1e-3, 0.0), (3.0, -2.0)])
    radius = np.linalg.norm(ds["long_orbit"].values, axis=-1)
    assert ds["outcome"].values.tolist() == ["invariant closed curve"] * 3
    assert radius.min() == pytest.approx(0.570, abs=1e-3)
    assert radius.max() == pytest.approx(0.598, abs=1e-3)


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


@pytest.mark.parametrize(
    "eigenvalues, step",
    [([-1, -4], 0.5), ([-0.15 + 2j, -0.15 - 2j, -50], 0.04), ([-1, 0], 2.0), ([1, -1], 0.0), ([2j, -2j], 0.0)],
)
def test_critical_step(eigenvalues, step):
    found = critical_step(eigenvalues)[0]
    assert found == pytest.approx(step, rel=1e-12)
    moduli = [np.abs(1 + factor * found * np.array(eigenvalues)).max() for factor in (0.999, 1.001)]
    assert step == 0 or (moduli[0] <= 1 < moduli[1])


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"starts": [[1.0, 2.0, 3.0]]}, "pairs"),
        ({"starts": [[np.nan, 0.0]]}, "finite"),
        ({"steps": 0}, "1 to 1,000,000 steps, got steps=0"),
        ({"matrix": [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]}, "not the system's Jacobian"),
    ],
)
def test_misuse(settings, words):
    with pytest.raises(UserError, match=words):
        phase_plane(planar_system(planar_matrix("diff")), **settings)


@pytest.mark.parametrize("scale", ["1e-5", "1e5"])
def test_a_flow_of_any_speed_is_drawn_at_its_own_step_and_too_long_an_orbit_refused(scale):
    """W₀ × scale: linear, a rotation by 2 × scale radians a second."""
    speed = float(scale)
    flow = create("linear", matrix=[[0.0, -2 * speed], [2 * speed, 0.0]])
    states = phase_plane(flow, starts=STARTS, steps=50, step_size=0.1 / speed)["trajectory"].values
    assert np.allclose(np.linalg.norm(states, axis=-1), np.linalg.norm(STARTS, axis=-1)[:, None], rtol=1e-8)
    with pytest.raises(UserError, match=r"10,000 times the flow's own time scale .* take fewer steps, smaller ones"):
        phase_plane(flow, steps=50, step_size=100 / speed)


@pytest.mark.parametrize(
    "matrix, steps, said",
    [
        ("diff", [0.05, 0.08], "Euler's map loses its stability between frames 1 and 2 (ε = 0.0746)."),
        ("diff", [0.08, 0.07], "Euler's map becomes stable between frames 1 and 2 (ε = 0.0746)."),
        ("diff", [0.05, 0.06], "no stability changes."),
    ],
)
def test_between_which_portraits_stability_changes(matrix, steps, said):
    portraits = [phase_plane(planar_system(planar_matrix(matrix), step_size=step), steps=2) for step in steps]
    told = changes(portraits, "step_size", steps)
    assert told == f"step_size from {steps[0]:g} to {steps[-1]:g}, {len(steps)} frames: {said}"


class Planar(Flow):
    """h' = f(h)."""

    def __init__(self, f):
        super().__init__(2, 0)
        self.f = f

    def velocity(self, state, input, t=0):
        return self.f(state)


@pytest.mark.parametrize("extent, count", [(7, 25)])
def test_every_equilibrium_of_a_grid_of_them_is_in_the_window(extent, count):
    """sin vanishes at the multiples of π: (2 ⌊extent/π⌋ + 1)² are in the window."""
    ds = phase_plane(Planar(torch.sin), window=extent)
    states = ds["equilibrium"].values / np.pi
    assert len(states) == count == len(np.unique(states.round(), axis=0))
    assert np.abs(states - states.round()).max() < 1e-12
    assert f"The window holds {count} equilibria" in ds.attrs["verdict"]


def test_the_equation_is_told_of_those_systems_alone_whose_it_is():
    W = [[0.0, 1.0], [-1.0, 0.0]]
    said = [equation(planar_system(W, kind)) for kind in KINDS]
    assert said == ["h′ = tanh(W h)", "h ← tanh(W h)", "h ← W h", "h′ = tanh(W h)"]
    others = [create("feedback", input_size=1, state_size=2), create("vanilla", input_size=0, state_size=2)]
    others.append(create("vanilla", input_size=0, state_size=2, bias=False, activation="relu"))
    assert [equation(each) for each in others] == [""] * 3


@pytest.mark.parametrize(
    "matrix, step_size",
    [("-0.7,3.2;-3.2,-0.7", 1.5), ("diff", 0.1)],
)
def test_a_closed_curve_is_told_from_a_periodic_orbit(matrix, step_size):
    """After 20,000 steps what is periodic repeats to 1e-9, and what is on a curve to no less than 1e-6."""
    ds = phase_plane(planar_system(planar_matrix(matrix), step_size=step_size))
    h = ds["trajectory"].values[:, 0].T
    W = np.array(planar_matrix(matrix), dtype=float)
    for _ in range(20_000):
        h = h + step_size * np.tanh(W @ h)
    later, periods = h, np.zeros(h.shape[1], dtype=int)
    for period in range(1, 201):
        later = later + step_size * np.tanh(W @ later)
        periods = np.where((periods == 0) & (np.linalg.norm(later - h, axis=0) < 1e-9), period, periods)
    for outcome, told, period in zip(ds["outcome"].values, ds["orbit_period"].values, periods.tolist(), strict=True):
        assert outcome in {"undecided", "periodic orbit" if period else "invariant closed curve"}
        assert outcome == "undecided" or told == period


@pytest.mark.parametrize(
    "velocity, continuum",
    [
        (lambda h: torch.stack([h[..., 1], 0 * h[..., 0]], -1), [1]),
        (lambda h: torch.stack([h[..., 1], 0 * h[..., 0] + 1], -1), []),
        (lambda h: 0 * h, [1]),
        (lambda h: torch.stack([h[..., 0], h[..., 1] ** 3], -1), [0]),
    ],
)
def test_what_is_not_isolated_is_a_continuum_or_one_degenerate_equilibrium(velocity, continuum):
    assert phase_plane(Planar(velocity), steps=40)["continuum"].values.tolist() == continuum
