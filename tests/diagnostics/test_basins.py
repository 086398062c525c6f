"""Basins against systems whose basins, attractors and periods are known."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import dynlab as dl
from dynlab import schema
from dynlab.diagnostics.basins.basins import usual_grid
from dynlab.diagnostics.basins.plane import plane_of
from dynlab.diagnostics.basins.entropy import basin_entropy
from dynlab.errors import UserError
from dynlab.jacobians import jacobian
from dynlab.matrices import planar_matrix
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated
from dynlab.systems.planar import planar_system


def newton_of_cube(h, x):
    """Newton's method for z³ = 1, whose three basins have one fractal border and are each other's rotations."""
    z = torch.complex(h[..., 0], h[..., 1])
    z = z - (z**3 - 1) / (3 * z**2)
    return torch.stack([z.real, z.imag], dim=-1)


def test_of_uncoupled_bistable_units_the_basins_are_the_quadrants():
    ds = dl.basins(dl.from_function(lambda h, x: torch.tanh(2 * h), state_size=2), grid=50)
    x, y = np.meshgrid(ds["x"], ds["y"])
    states = ds["attractor_state"].values[ds["basin"].values]
    root = 0.9575040240772687  # of h = tanh(2 h)
    np.testing.assert_allclose(states, root * np.sign(np.stack([x, y], axis=-1)), atol=1e-12)
    assert ds["stable"].values.tolist() == [1] * 4
    np.testing.assert_allclose(ds["largest_exponent"], np.log(2 * (1 - root**2)), atol=1e-9)
    # 10 × 10 boxes of 5 × 5 starts; the axes run between boxes
    assert float(ds["basin_entropy"]) == 0
    assert int(ds["boundary_boxes"]) == 0


@pytest.mark.parametrize("grid", [61, 63, 65])
def test_smooth_borders_are_not_called_fractal_wherever_boxes_lie_on_them(grid):
    """An odd grid has starts on the borders themselves, which end on the saddles."""
    ds = dl.basins(dl.from_function(lambda h, x: torch.tanh(2 * h), state_size=2), grid=grid)
    assert ds["stable"].values.tolist() == [1] * 4 + [0] * 5
    assert "as on fractal borders" not in ds.attrs["verdict"]


def test_two_basins_do_not_decide_whether_their_border_is_smooth():
    """A box of two basins has ln 2 at most, whatever parts them."""
    ds = dl.basins(
        dl.from_function(lambda h, x: torch.stack([torch.tanh(2 * h[..., 0]), 0 * h[..., 1]], -1), 2), grid=13
    )
    assert float(ds["boundary_basin_entropy"]) <= np.log(2)
    assert "it is at most ln 2 = 0.693 nat, and so leaves open whether their border is fractal" in ds.attrs["verdict"]


@pytest.mark.parametrize("grid, boxed", [(4, False), (10, False), (11, False), (13, True)])
def test_borders_cross_a_window_that_holds_two_basins_wherever_boxes_end(grid, boxed):
    """The axes run between the boxes of 10 × 10 starts, on the row that 11 × 11 leave over, and through a box of 13."""
    ds = dl.basins(dl.from_function(lambda h, x: torch.tanh(2 * h), state_size=2), grid=grid)
    assert (ds["boundary_boxes"].item() > 0) == boxed
    assert ("Borders between 4 basins cross this window. They lie between the boxes" in ds.attrs["verdict"]) != boxed


def test_one_basin_has_no_border():
    ds = dl.basins(dl.from_function(lambda h, x: h / 2, state_size=2), grid=5, steps=100)
    assert ds.attrs["verdict"].endswith("No border between two basins is seen in this window.")


def test_newtons_method_for_the_cube_roots_of_one():
    ds = dl.basins(dl.from_function(newton_of_cube, state_size=2), grid=150, extent=2.0)
    z = ds["attractor_state"].values @ [1, 1j]
    np.testing.assert_allclose(z**3, 1, atol=1e-12)
    assert float(ds["boundary_basin_entropy"]) > np.log(2)
    x, y = np.meshgrid(ds["x"], ds["y"])
    inside = ds["basin"].values[np.hypot(x, y) < 2]
    shares = np.bincount(inside, minlength=3) / inside.size
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)


@pytest.mark.parametrize("grid, told", [(150, False), (600, True)])
def test_a_fractal_border_is_called_so_where_the_error_lets_it(grid, told):
    """It touches all three basins everywhere: 0.716, 0.725 and standard errors of 0.022, 0.008 beside ln 2 = 0.693."""
    ds = dl.basins(dl.from_function(newton_of_cube, state_size=2), grid=grid, extent=2.0)
    border, error = (float(ds[f"boundary_basin_entropy{end}"]) for end in ("", "_error"))
    assert (border > np.log(2) + 3 * error) == told
    assert ("as on fractal borders" in ds.attrs["verdict"]) == told
    limit = f"{np.log(2) + 3 * error:.3g}"
    assert (
        f"This leaves open whether a border is fractal: above {limit} nat, ln 2 and three standard errors, one surely"
        in ds.attrs["verdict"]
    ) != told


def test_w_diff_at_the_papers_step_ends_on_an_invariant_curve():
    ds = dl.basins(planar_system(planar_matrix("diff")), grid=21)
    assert ds["kind"].values.tolist() == ["invariant closed curve", "unstable focus"]
    radius = np.hypot(ds["attractor_x"], ds["attractor_y"]).values[0]
    assert 0.5695 < radius.min() < radius.max() < 0.5985
    assert ds["share"].values.tolist() == [440 / 441, 1 / 441]  # the origin itself stays where it is


@pytest.mark.parametrize("step", [0.08, 0.12, 0.3])
def test_one_curve_is_one_where_it_is_nearly_resonant_and_where_it_is_born(step):
    """At 0.12 the orbit nearly closes after 1,645 steps and leaves holes; at 0.08 it is neared by 0.15 % a step."""
    ds = dl.basins(planar_system(planar_matrix("diff"), step_size=step), grid=21)
    assert ds["kind"].values.tolist() == ["invariant closed curve", "unstable focus"]
    assert np.isnan(ds["boundary_basin_entropy"].item())


@pytest.mark.parametrize(
    "planes, kind, said", [(1, "invariant closed curve", "curve"), (2, "invariant torus", "torus")]
)
def test_circles_and_their_product(planes, kind, said):
    """In each plane r -> r + r (1 - r²)/5, turned by an angle of its own: a circle, and a torus of two."""
    turns = torch.exp(1j * torch.tensor([np.sqrt(2), np.sqrt(3)][:planes], dtype=torch.float64))

    def step(h, x):
        z = torch.view_as_complex(h.unflatten(-1, (planes, 2)).contiguous())
        z = turns * z * (1 + (1 - z.abs().square()) / 5)
        return torch.view_as_real(z).flatten(-2)

    plane = 0.4 * np.random.default_rng(0).normal(size=(4, 2 * planes))
    ds = dl.basins(dl.from_function(step, state_size=2 * planes), states=plane, grid=4, steps=400)
    assert ds["kind"].values.tolist() == [kind]
    assert f"all end on 1 invariant {'closed ' * (planes == 1)}{said}" in ds.attrs["verdict"]


@pytest.mark.parametrize("a, period", [(0.2, 1), (0.5, 2), (1.0, 4)])
def test_henons_cycles(a, period):
    system = dl.create("henon", a=a)
    ds = dl.basins(system, grid=31, extent=2.0)
    assert ds["period"].values.tolist() == [period]
    point = torch.from_numpy(ds["attractor_state"].values[0])
    map = Iterated(Held(system, torch.zeros(0)), period)
    np.testing.assert_allclose(map.step(point, torch.zeros(0)), point, atol=1e-12)
    multipliers = np.linalg.eigvals(jacobian(map, point, torch.zeros(0).double()).dense().numpy())
    assert float(ds["largest_exponent"][0]) == pytest.approx(np.log(np.abs(multipliers).max()) / period, abs=1e-9)
    assert np.prod(multipliers) == pytest.approx((-0.3) ** period, rel=1e-9)
    cycle = np.stack([ds["attractor_x"].values[0], ds["attractor_y"].values[0]], axis=-1)
    assert np.isfinite(cycle).all(axis=-1).sum() == period


def test_henons_strange_attractor():
    ds = dl.basins(dl.create("henon"), grid=31, extent=2.0)
    assert ds["kind"].values.tolist() == ["chaotic attractor"]
    assert abs(float(ds["largest_exponent"][0]) - 0.4192) < float(ds["largest_exponent_error"][0]) + 0.01
    assert set(np.unique(ds["basin"])) == {-1, 0}


@pytest.mark.parametrize("unit", [1e9, 1e12])
def test_what_moves_is_told_in_units_in_which_it_is_large(unit):
    """Hénon's strange attractor, and the circle of radius 1 that a rotation with (1 − |h|²)/10 of growth comes to."""

    def circle(h, x):
        z = torch.view_as_complex(h.contiguous()) / unit
        return unit * torch.view_as_real(z * np.exp(1j) * (1 + (1 - z.abs() ** 2) / 10))

    def henon(h, x):
        first, second = (h / unit).unbind(-1)
        return unit * torch.stack([1 - 1.4 * first**2 + 0.3 * second, first], dim=-1)

    for step, kind in ((circle, "invariant closed curve"), (henon, "chaotic attractor")):
        ds = dl.basins(
            dl.from_function(step, state_size=2), grid=9, extent=1.1 * unit, steps=500, largest_state=1e4 * unit
        )
        kinds = ds["kind"].values[ds["basin"].values[ds["basin"].values >= 0]]
        assert (kinds == kind).mean() > 0.9


def test_an_orbit_that_still_drifts_is_undecided():
    ds = dl.basins(planar_system(planar_matrix("zero")), grid=6, steps=500)
    assert (ds["basin"].values == -2).all()
    assert "(the orbits have not come yet to where they stay)" in ds.attrs["verdict"]


def one_unit(f):
    """A map of one unit beside a unit that decays."""
    return dl.from_function(lambda h, x: torch.stack([f(h[..., 0]), 0.3 * h[..., 1]], -1), state_size=2)


def logistic(r):
    return one_unit(lambda h: r * h * (1 - h))


INSIDE = np.array([[0.1, 0.2], [0.9, -0.2]])  # states that span a window of starts which stay in [0, 1] for the most


@pytest.mark.parametrize(
    "r, kind",
    [
        (3.5697, "stable period-64 orbit"),
        (3.5699, "stable period-128 orbit"),
        (3.569944, "stable period-512 orbit"),
        (3.57, "chaotic attractor"),
        (3.849, "stable period-12 orbit"),
        (3.85, "chaotic attractor"),
    ],
)
def test_long_periods_and_weak_chaos_of_the_logistic_map_are_told_apart(r, kind):
    """Periods 2^k up to r = 3.569945672, and 3 · 2^k up to 3.849452; beyond, the exponents are 0.009 and 0.006."""
    ds = dl.basins(logistic(r), states=INSIDE, extent=0.98, grid=5)
    assert ds["kind"].values[0] == kind
    if ds["period"][0]:
        h, slopes = ds["attractor_state"].values[0, 0], []
        for _ in range(int(ds["period"][0])):
            slopes.append(r * (1 - 2 * h))
            h = r * h * (1 - h)
        assert h == pytest.approx(ds["attractor_state"].values[0, 0], abs=1e-12)
        assert float(ds["largest_exponent"][0]) == pytest.approx(np.mean(np.log(np.abs(slopes))), abs=1e-8)


@pytest.mark.parametrize("turned", [0.0, 1.0])
@pytest.mark.parametrize("beyond, kind", [(0.0, "undecided period-3 orbit"), (1e-3, "stable period-3 orbit")])
def test_a_cycle_where_it_is_born_in_a_fold_is_undecided(beyond, kind, turned):
    """x → 1 − a x² has its period 3 from a = 7/4 on: a double root of F³(x) = x, with the multiplier 1 there."""
    turn = torch.tensor([[np.cos(turned), np.sin(turned)], [-np.sin(turned), np.cos(turned)]])

    def step(h, x):
        own = h @ turn.T
        return torch.stack([1 - (1.75 + beyond) * own[..., 0] ** 2, 0.5 * own[..., 1]], dim=-1) @ turn

    ds = dl.basins(dl.from_function(step, state_size=2), grid=2, extent=0.5)
    assert ds["kind"].values.tolist() == [kind]
    assert ds["stable"].values.tolist() == [int(beyond > 0) or -1]
    assert ("No basin was found" in ds.attrs["verdict"]) == (not beyond)


def test_a_cantor_set_is_neither_a_curve_nor_chaos():
    """At the accumulation of period doublings the exponent is 0."""
    ds = dl.basins(logistic(3.569945671870945), states=INSIDE, extent=0.98, grid=3)
    assert not any("curve" in kind or "chao" in kind for kind in ds["kind"].values)
    assert float(ds["undecided_share"]) > 0


def forced(strength):
    """Grebogi's map, forced with the golden mean: for strength > 2 its attractor is strange and not chaotic."""
    golden = (np.sqrt(5) - 1) / 2

    def step(h, x):
        return torch.stack(
            [strength * torch.tanh(h[..., 0]) * torch.cos(2 * torch.pi * h[..., 1]), (h[..., 1] + golden) % 1], dim=-1
        )

    return dl.from_function(step, state_size=2)


def test_a_strange_nonchaotic_attractor_is_undecided_with_the_reason():
    ds = dl.basins(forced(3.0), states=[[0.5, 0.3], [0.2, 0.7]], extent=0.4, grid=3)
    assert ds.sizes["attractor"] == 0
    assert "no exponent is told to be positive, and the orbits trace no closed curve" in ds.attrs["verdict"]


def circle_map(turn, strength, waves=1):
    """θ → θ + 2π turn − (strength / waves) sin(waves θ) on the unit circle, which attracts."""

    def step(h, x):
        angle = torch.atan2(h[..., 1], h[..., 0])
        angle = angle + 2 * torch.pi * turn - strength / waves * torch.sin(waves * angle)
        radius = 1 + 0.3 * (h.norm(dim=-1) - 1)
        return radius.unsqueeze(-1) * torch.stack([angle.cos(), angle.sin()], dim=-1)

    return dl.from_function(step, state_size=2)


@pytest.mark.parametrize(
    "turn, strength, waves, kind",
    [
        ((np.sqrt(5) - 1) / 2, 0.9, 1, "invariant closed curve"),
        (0.3, 2.5, 1, None),
        (0.5, 0.5, 1, "stable period-2 orbit"),
        (1 / 3, 0.9, 3, "stable period-3 orbit"),
        (0.4, 0.0, 1, "continuum of period-5 orbits"),
        (0.1, 0.9, 1, "stable fixed point"),
    ],
)
def test_circle_maps_that_turn_or_are_locked(turn, strength, waves, kind):
    """Locked to 0 where 2π turn < strength, to 1/q with q waves; beyond strength 1 the circle's map has no inverse."""
    ds = dl.basins(circle_map(turn, strength, waves), grid=4, extent=1.5)
    if kind is None:
        assert not any("curve" in one for one in ds["kind"].values)
    elif kind == "stable fixed point":
        assert ds["attractor_class"].values.tolist() == [kind]
    else:
        assert ds["kind"].values.tolist() == [kind]


@pytest.mark.parametrize("part", [1 / 64, 1 / 65, 29 / 72, 3 / 128])
def test_a_circle_of_neutral_cycles_is_one_continuum_however_long_they_are(part):
    """r → r (1.3 − 0.3 r²) leads to the circle, whose points come back after as many steps as `part` says."""
    turn = torch.exp(torch.tensor(2j * np.pi * part, dtype=torch.complex128))

    def step(h, x):
        z = torch.view_as_complex(h.contiguous())
        return torch.view_as_real(turn * z * (1.3 - 0.3 * z.abs().square()))

    ds = dl.basins(dl.from_function(step, state_size=2), grid=6, extent=0.9, steps=400)
    period = Fraction(part).limit_denominator(1000).denominator
    assert ds["kind"].values.tolist() == [f"continuum of period-{period} orbits"]
    assert ds["share"].values.tolist() == [1]
    assert "entropy" not in ds.attrs["verdict"]


@pytest.mark.parametrize("period", [1, 2, 5, 64])
def test_circles_of_neutral_cycles_that_no_cycle_joins_are_as_many_continua(period):
    """Orbits come to the circles of radius 1 and 2, on which all of them repeat, and leave that of radius 1.5."""
    turn = torch.exp(torch.tensor(2j * np.pi / period, dtype=torch.complex128))

    def step(h, x):
        z = torch.view_as_complex(h.contiguous())
        r = z.abs()
        return torch.view_as_real(turn * z * (1 - 0.4 * (r - 1) * (r - 1.5) * (r - 2)))

    ds = dl.basins(dl.from_function(step, state_size=2), grid=9, extent=1.7, steps=800)
    rings = np.arange(2) + 1.0
    said = "continuum" if period == 1 else f"continuum of period-{period} orbits"
    assert [kind.startswith(said) for kind in ds["kind"].values if kind.startswith("continuum")] == [True] * 2
    x, y = np.meshgrid(ds["x"], ds["y"])
    start = np.hypot(x, y)
    ends = np.where(start < 1.5, rings[0], rings[1])
    for number, (kind, state) in enumerate(zip(ds["kind"].values, ds["attractor_state"].values, strict=True)):
        there = ds["basin"].values == number
        if kind.startswith("continuum"):
            np.testing.assert_allclose(ends[there], np.linalg.norm(state), atol=1e-6)
        else:
            assert start[there].max() < 1e-9


@pytest.mark.parametrize("a, kind", [(2.1, "invariant closed curve"), (2.27, "chaotic attractor")])
def test_the_delayed_logistic_map_beyond_its_neimark_sacker_point(a, kind):
    system = dl.from_function(lambda h, x: torch.stack([h[..., 1], a * h[..., 1] * (1 - h[..., 0])], -1), state_size=2)
    ds = dl.basins(system, states=[[0.4, 0.4], [0.6, 0.5]], extent=0.2, grid=4)
    assert ds["kind"].values[0] == kind


def test_two_coupled_logistic_maps_turn_on_two_curves():
    def step(h, x):
        moved = 3.4 * h * (1 - h)
        return 0.9 * moved + 0.1 * moved.flip(-1)

    ds = dl.basins(dl.from_function(step, state_size=2), states=[[0.4, 0.7], [0.8, 0.5]], extent=0.2, grid=4)
    assert "period-2" in ds["kind"].values[0]


def rotation(*angles, sizes=None):
    """Each plane turned by an angle of its own, and shrunk."""

    def step(h, x):
        turn = torch.exp(1j * torch.tensor(angles, dtype=torch.float64)) * torch.tensor(sizes or [1.0] * len(angles))
        z = torch.view_as_complex(h.unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(turn * z).flatten(-2)

    return dl.from_function(step, state_size=2 * len(angles))


@pytest.mark.parametrize(
    "system, kind",
    [
        (rotation(2 * np.pi / 5), "family of volume-preserving orbits"),
        (rotation(1.0), "family of volume-preserving orbits"),
        (rotation(1.0, np.sqrt(2)), "family of volume-preserving orbits"),
        (rotation(1.0, 1.0, sizes=[1.0, 0.6]), "family of neutral orbits"),
        (rotation(2 * np.pi / 5, 1.0, sizes=[1.0, 0.6]), "family of neutral orbits"),
    ],
)
def test_orbits_that_nothing_attracts_are_one_family_without_basins(system, kind):
    ds = dl.basins(system, grid=5)
    assert ds["kind"].values.tolist() == [kind]
    assert "as on fractal borders" not in ds.attrs["verdict"]
    assert np.isnan(ds["boundary_basin_entropy"])


def test_arnolds_cat_map_is_chaotic_and_preserves_volume():
    matrix = torch.tensor([[2.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    ds = dl.basins(dl.from_function(lambda h, x: (h @ matrix) % 1, state_size=2), grid=4, extent=0.9)
    assert ds["kind"].values.tolist() == ["family of chaotic volume-preserving orbits"]
    assert float(ds["largest_exponent"][0]) == pytest.approx(np.log((3 + np.sqrt(5)) / 2), abs=1e-9)


def test_the_standard_map_has_no_attractor():
    def step(h, x):
        p = h[..., 0] + 0.9 * torch.sin(h[..., 1])
        return torch.stack([p % (2 * torch.pi), (h[..., 1] + p) % (2 * torch.pi)], -1)

    ds = dl.basins(dl.from_function(step, state_size=2), grid=6)
    assert all("volume-preserving" in kind for kind in ds["kind"].values)
    assert float(ds["undecided_share"]) == 0


def test_a_curve_that_repels_across_is_unstable():
    """In the third direction h grows from 0 to ±√0.5; starts with 0 there stay with 0."""

    def step(h, x):
        z = torch.complex(h[..., 0], h[..., 1])
        z = np.exp(1j) * z * (1 + (1 - z.abs().square()) / 5)
        up = h[..., 2:] * (1.5 - h[..., 2:].square())
        return torch.cat([torch.stack([z.real, z.imag], -1), up], dim=-1)

    plane = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    ds = dl.basins(dl.from_function(step, state_size=3), states=plane, grid=4)
    assert ds["kind"].values.tolist() == ["unstable invariant closed curve"]
    assert ds["stable"].values.tolist() == [0]


@pytest.mark.parametrize("rate, in_time", [(0.998, True), (0.9985, False)])
def test_what_still_comes_to_rest_is_followed_on_up_to_ten_times_as_long(rate, in_time):
    """h ← rate · h from |h| = 4.2 rests where it moves by 1e-9: after ln(1e-9/(4.2 (1 − rate)))/ln(rate) steps.

    What does not rest in time is near the point that one of these orbits comes to.
    """
    ds = dl.basins(dl.from_function(lambda h, x: rate * h, state_size=2), grid=2, steps=1000)
    assert (ds["basin"].values == 0).all()
    assert "up to" in ds.attrs["verdict"]
    longest = np.log(1e-9 / (3 * np.sqrt(2) * (1 - rate))) / np.log(rate)
    assert int(ds["steps"].max()) == (np.ceil(longest) + 1 if in_time else 10_000)
    assert (longest < 10_000) == in_time


def test_what_circles_or_drifts_is_followed_no_longer_than_said():
    for matrix in ("zero", "diff"):
        assert (dl.basins(planar_system(planar_matrix(matrix)), grid=4, steps=400)["steps"].values == 400).all()


@pytest.mark.parametrize(
    "given, spanned", [({}, "states on orbits from random starts"), ({"states": np.eye(3)}, "the states given")]
)
def test_the_verdict_says_which_plane_and_how_far_ends_lie_off_it(given, spanned):
    """h ← h/2 + 1 ends at (2, 2, 2), wherever it starts."""
    ds = dl.basins(dl.from_function(lambda h, x: h / 2 + 1, state_size=3), grid=5, **given)
    assert ds.attrs["verdict"].startswith("Of 25 starts ")  # what was found comes first, as a report's summary has it
    assert f" The starts lie in the plane of the two leading principal components of {spanned}. " in ds.attrs["verdict"]
    away = np.full(3, 2.0) - ds["origin"].values
    away -= away @ ds["direction"].values.T @ ds["direction"].values
    distance = np.linalg.norm(away)
    off = (
        f" The points they end on lie at distances of up to {distance:.3g} from the plane."
        if distance > 1e-5
        else f" {spanned}."
    )
    missing = (
        "2 of the states that the plane was made from were followed too, and reach no other attractor. What is reached "
    )
    missing += "from elsewhere alone is missing here."
    assert ds.attrs["verdict"].endswith(f"{off.removeprefix(' ')} {missing}")


def test_attractors_beside_the_plane_are_counted():
    """tanh(2 h) in each of three units has 8 attractors; a plane at h_3 = 0.2 leads to the 4 with h_3 > 0."""
    corners = np.array(list(itertools.product((-2, 2), (-2, 2), (0.3, 0.3, 0.3, -0.1))))
    ds = dl.basins(dl.from_function(lambda h, x: torch.tanh(2 * h), state_size=3), states=corners, grid=20)
    assert ds["origin"].values[2] == pytest.approx(0.2)
    assert (ds["attractor_state"].values[ds["stable"].values == 1, 2] > 0.9).all()
    assert int(ds["missed_attractors"]) == 4
    missing = "4 further attractors are not reached from this plane. 16 of the states that the plane was made from"
    assert ds.attrs["verdict"].endswith(f"{missing} were followed too, and reach them.")


def test_the_plane_holds_as_much_variance_as_geometry_says():
    torch.manual_seed(0)
    system, driving = dl.create("gru", input_size=2, hidden_size=5), np.random.default_rng(0).normal(size=(3, 20, 2))
    plane = dl.basins(system, driving, grid=4, steps=50)
    held = dl.geometry(system, driving, starts=8)["explained_variance"].values[:2].sum()
    assert schema.settings(plane)["plane_share"] == pytest.approx(held, rel=1e-9)


def test_shares_are_never_rounded_to_none_or_all():
    ds = dl.basins(planar_system(planar_matrix("diff")), grid=51)
    assert (
        "of Euler's map at ε = 0.1, all but 1 end on 1 invariant closed curve; 1 start ends on 1 unstable"
        in ds.attrs["verdict"]
    )


@pytest.mark.parametrize("change", [{"grid": 100_000}, {"grid": 200, "max_memory": 2**20}])
def test_a_grid_too_large_for_memory_is_refused_with_the_number(change):
    with pytest.raises(
        UserError, match=r"(is too fine: take a --grid of at most 4,096|holds [\d,]+ MiB, more than [\d,]+ MiB)"
    ):
        dl.basins(dl.create("henon"), **change)


def test_a_line_of_fixed_points_is_one_continuum():
    ds = dl.basins(dl.from_function(lambda h, x: h * torch.tensor([1.0, 0.5]), state_size=2), grid=8)
    assert ds.sizes["attractor"] == 1
    assert str(ds["kind"].values[0]).startswith("continuum")
    assert (ds["basin"].values == 0).all()


@pytest.mark.parametrize("memory", [4.7e4, 1e6, 1e9])
def test_blocks_do_not_change_the_basins(memory):
    system = dl.from_function(newton_of_cube, state_size=2)
    ds = dl.basins(system, grid=24, extent=2.0, max_memory=memory)
    xr_all = dl.basins(system, grid=24, extent=2.0)
    np.testing.assert_array_equal(ds["basin"], xr_all["basin"])


def test_the_plane_of_the_principal_components():
    generator = np.random.default_rng(0)
    axes = np.linalg.qr(generator.standard_normal((7, 2)))[0].T
    states = 3 + generator.standard_normal((400, 2)) * [5, 2] @ axes
    plane, half = plane_of(states)
    assert plane.share == pytest.approx(1)
    np.testing.assert_allclose(plane.directions @ plane.directions.T, np.eye(2), atol=1e-14)
    there = plane.coordinates(states)
    np.testing.assert_allclose(plane.origin + there @ plane.directions, states, atol=1e-12)
    assert np.abs(there).max() < half


def test_a_network_and_its_held_input():
    torch.manual_seed(3)
    system = dl.create("vanilla", input_size=2, state_size=6).double()
    with torch.no_grad():
        system.W.mul_(2.5)
    ds = dl.basins(system, at=[0.3, -0.1], grid=11, steps=3000)
    known = np.flatnonzero(ds["period"].values == 1)
    for number in known:
        point = torch.from_numpy(ds["attractor_state"].values[number])
        moved = system.step(point, torch.tensor([0.3, -0.1]).double()) - point
        assert moved.norm() < 1e-11
    assert ds["basin"].shape == (11, 11)


@pytest.mark.parametrize(
    "grid, expected",
    [
        (np.zeros((10, 10)), (0.0, np.nan, np.nan, 0)),
        (np.tile([0, 1], (10, 5)), (-(0.4 * np.log(0.4) + 0.6 * np.log(0.6)),) * 2 + (0.0, 4)),
    ],
)
def test_basin_entropy(grid, expected):
    np.testing.assert_allclose(basin_entropy(grid.astype(int)), expected)


def test_held_maps_and_iterated_ones_have_the_right_jacobians():
    torch.manual_seed(0)
    system = dl.create("gru", input_size=2, hidden_size=4).double()
    held = Held(system, torch.tensor([0.5, -1.0]).double())
    state = torch.randn(3, 4, dtype=torch.float64)
    twice = Iterated(held, 3)
    found = jacobian(twice, state, state[:, :0]).dense()
    exact = torch.stack([torch.func.jacrev(lambda h: twice.step(h, h[:0]))(row) for row in state])
    torch.testing.assert_close(found.detach(), exact.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"grid": 1}, "at least 2"),
        ({"steps": 0}, "at least 1"),
        ({"extent": 0.0}, "positive"),
        ({"at": [1.0]}, "0 finite values"),
        ({"states": np.zeros((4, 3))}, r"shape \(\.\.\., 2\)"),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.basins(dl.create("henon"), **change)


@pytest.mark.parametrize(
    "name, sentence", [("lorenz", "take the step dynlab.Euler"), ("logistic", "at least two states")]
)
def test_systems_without_a_plane_of_starts(name, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.basins(dl.create(name))


def test_one_unit_has_no_plane_whatever_states_are_given():
    with pytest.raises(UserError, match="at least two states"):
        dl.basins(dl.create("logistic"), states=np.zeros((4, 1)))


@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-4])
def test_attractors_near_each_other_are_told_apart(size):
    """1 + s tanh(2 (h − 1)/s) in each unit: four stable points, 1 ± 0.9575 s, whose basins meet at 1."""
    step = dl.from_function(lambda h, x: 1 + size * torch.tanh(2 * (h - 1) / size), state_size=2)
    ds = dl.basins(step, grid=10, extent=2.0)
    points = ds["attractor_state"].values[ds["stable"].values == 1]
    assert sorted(np.round((points - 1) / size, 6).tolist()) == sorted(
        [[x, y] for x in (-0.957504, 0.957504) for y in (-0.957504, 0.957504)]
    )


def pitchforks(*sizes):
    """s tanh(2 h/s) for each coordinate: stable points at ±0.9575 s."""
    s = torch.tensor(sizes, dtype=torch.float64)
    return dl.from_function(lambda h, x: s * torch.tanh(2 * h / s), state_size=len(sizes))


@pytest.mark.parametrize(
    "sizes, extent", [((1e-6, 1e-6), 1.5e-6), ((1e8, 1e8), 1.5e8), ((1e8, 1e-6), 1.5e-6), ((1e-6, 1.0), 2.0)]
)
def test_attractors_are_told_apart_whatever_the_size_of_each_coordinate(sizes, extent):
    ds = dl.basins(pitchforks(*sizes), grid=12, extent=extent, largest_state=1e10)
    root = brentq(lambda h: np.tanh(2 * h) - h, 0.5, 1)
    expected = np.array(list(itertools.product((-root, root), repeat=2))) * sizes
    np.testing.assert_allclose(ds["attractor_state"].values, expected, rtol=1e-12)
    assert ds["stable"].values.tolist() == [1] * 4
    np.testing.assert_allclose(ds["share"].values, 0.25)


def test_near_attractors_and_far_ones_in_a_wide_window():
    """h ← h + 0.4 h (1 − (h/a)²), bounded, where abs(h) < 1/2, and half way to ±1 beyond: ±a and ±1 attract."""
    a = 1e-6

    def step(h, x):
        near = h + 0.4 * h * (1 - (h / a) ** 2).clamp_min(-1.5)
        return torch.where(h.abs() < 0.5, near, 0.5 * (h + h.sign()))

    for extent, values in ((1.5e-6, (-a, a)), (2.0, (-1, -a, a, 1))):
        ds = dl.basins(dl.from_function(step, state_size=2), grid=12, extent=extent)
        found = ds["attractor_state"].values
        expected = np.array(list(itertools.product(values, repeat=2)))
        order = np.lexsort(found.T[::-1])
        np.testing.assert_allclose(found[order], expected, rtol=1e-9)


def test_what_is_not_followed_is_said_with_the_option_that_brings_it_back():
    system = planar_system(planar_matrix("diff"), step_size=0.1)
    ds = dl.basins(system, grid=3, steps=50, follow=False)
    assert (ds["basin"].values == -2).sum() == 8  # all but the origin, which stays
    assert "(--follow, in Python follow=True, brings it back)" in ds.attrs["verdict"]


@pytest.mark.parametrize("each, expected", [(4, 151), (1_357_824, 7), (10**9, 4)])
def test_the_grid_follows_the_networks_size(each, expected):
    assert usual_grid(each * 2000) == expected


def test_more_ends_than_are_refined_at_a_time_are_all_found():
    """h + 0.075 sin 4πh in two coordinates: stable points (2k + 1)/4, 12 × 12 within ±3, and straight borders."""
    system = dl.from_function(lambda h, x: h + 0.075 * torch.sin(4 * torch.pi * h), state_size=2)
    ds = dl.basins(system, grid=49, extent=2.95)
    assert "144 stable fixed points" in ds.attrs["verdict"]
    assert "as only fractal" not in ds.attrs["verdict"]


@pytest.mark.parametrize("small, count", [((1e-8, 1.0), 4), ((1e-8, 1e-8), 4), ((1e-5, 1.0), 4)])
def test_attractors_that_are_near_each_other_in_some_coordinates_are_told_apart(small, count):
    """s tanh(2 h/s) in each coordinate, with two stable points ±0.9575 s: four in the plane, seen in a window of 1."""
    s = torch.tensor(small, dtype=torch.float64)
    system = dl.from_function(lambda h, x: s * torch.tanh(2 * h / s), state_size=2)
    assert f"{count} stable fixed points" in dl.basins(system, grid=10, extent=0.9).attrs["verdict"]


def rotation(z, angle):
    turned = torch.stack([torch.cos(angle) * z[..., 0] - torch.sin(angle) * z[..., 1]], -1)
    return torch.cat([turned, (torch.sin(angle) * z[..., 0] + torch.cos(angle) * z[..., 1])[..., None]], -1)


def two_rotors(h, x):
    """Each pair of states is turned, and drawn to the unit circle; from a modulus of about 2.4 on it diverges."""
    pairs = [(h[..., :2], torch.tensor(1.0)), (h[..., 2:], torch.tensor(2.0).sqrt())]
    return torch.cat([rotation(z, a) * (1 + 0.3 * (1 - z.square().sum(-1, keepdim=True))) for z, a in pairs], -1)


def test_orbits_that_leave_do_not_choose_the_plane():
    ds = dl.basins(dl.from_function(two_rotors, state_size=4), grid=4)
    assert "invariant torus" in ds.attrs["verdict"]
    assert np.abs(ds["origin"].values).max() < 1


def test_a_system_whose_orbits_all_leave_is_drawn_on_the_plane_of_its_starts():
    ds = dl.basins(dl.from_function(lambda h, x: 3 * h + 1e9, state_size=3), grid=4)
    assert ds.attrs["verdict"].startswith("Of 16 starts followed for 2,000 steps, all leave ‖h‖ ≤ 1e+06. The starts ")
    assert np.isfinite(ds["origin"].values).all()


def test_orbits_that_become_no_number_are_not_said_to_leave():
    """√(h − 0.1) in each unit, so that half of the window has no step at all."""
    ds = dl.basins(dl.from_function(lambda h, x: torch.sqrt(h - 0.1) * 0 + h / 2 + 0.2, state_size=2), grid=4)
    assert ds.attrs["verdict"].startswith("Of 16 starts followed for 2,000 steps, 25 % end on 1 stable fixed point; ")
    assert "75 % come to where the step or its derivative is no number" in ds.attrs["verdict"]


def test_driven_orbits_that_leave_do_not_choose_the_plane():
    pushed = dl.from_function(lambda h, x: 0.5 * h + torch.exp(x), state_size=3, input_size=3)
    inputs = np.zeros((2, 6, 3))
    inputs[1] = 100.0
    ds = dl.basins(pushed, inputs, at=[0.0, 0.0, 0.0], grid=4)
    np.testing.assert_allclose(ds["attractor_state"].values[0], np.full(3, 2.0))


def test_chaos_on_an_attracting_circle_is_chaos():
    """The angle doubles and r → 0.7 + 0.3 r²: the circle r = 1 attracts, and on it Λ₁ = ln 2."""

    def doubled(h, x):
        z = torch.complex(h[..., 0], h[..., 1])
        w = (z / z.abs()) ** 2 * (0.7 + 0.3 * z.abs() ** 2)
        return torch.stack([w.real, w.imag], dim=-1)

    found = dl.basins(dl.from_function(doubled, state_size=2), grid=6, extent=1.3)
    chaos = found["attractor_class"].values.tolist().index("chaotic attractor")
    assert abs(float(found["largest_exponent"][chaos]) - np.log(2)) < 1e-9
    assert (found["basin"].values == chaos).mean() > 0.5


def in_two(f):
    """f of the first unit, and half of the second."""
    return dl.from_function(lambda h, x: torch.stack([f(h[..., 0]), h[..., 1] / 2], -1), state_size=2)


@pytest.mark.parametrize(
    "without_a_fixed_point",
    [
        lambda x: x + torch.exp(-10 * x),  # so slow that rounding hides that it moves at all
        lambda x: x + 0.1 * x**2 + 1e-6,  # through a narrow passage, and away for ever
        lambda x: x + 1,
    ],
)
def test_nothing_is_said_to_end_where_there_is_no_fixed_point(without_a_fixed_point):
    ds = dl.basins(in_two(without_a_fixed_point), grid=9)
    assert ds.sizes["attractor"] == 0
    assert "end on" not in ds.attrs["verdict"]


@pytest.mark.parametrize("unit", [1e7, 1e9, 1e12])
def test_orbits_that_come_to_rest_far_away_have_not_left(unit):
    ds = dl.basins(dl.from_function(lambda h, x: unit * torch.tanh(2 * h / unit), state_size=2), grid=10)
    assert sorted(ds["stable"].values.tolist()) == [1, 1, 1, 1]
    np.testing.assert_allclose(np.abs(ds["attractor_state"].values), 0.9575040240772687 * unit, rtol=1e-9)


def test_orbits_of_a_translation_end_on_nothing():
    turned = torch.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    along = torch.tensor([0.0, 0.0, 0.5], dtype=torch.float64)
    for system in (
        dl.from_function(lambda h, x: h + 0.5, state_size=2),
        dl.from_function(lambda h, x: h @ turned.to(h).T + along.to(h), state_size=3),
    ):
        ds = dl.basins(system, grid=8, extent=0.9)
        assert ds.sizes["attractor"] == 0
        assert "end on" not in ds.attrs["verdict"]


@pytest.mark.parametrize("r", [5.0, 6.0])
def test_an_orbit_that_one_step_leads_beside_an_unstable_point_does_not_end_there(r):
    """Ricker's map: its highest state e^(r − 1)/r is led to some 1e-20 or 1e-60, and grows from there again."""
    ds = dl.basins(in_two(lambda x: x * torch.exp(r * (1 - x))), states=np.array([[0.0, 0.0], [3.0, 1.0]]), grid=8)
    assert not (np.abs(ds["attractor_state"].values[:, 0]) < 1e-9).any()


@pytest.mark.parametrize("beyond, lasts", [(1e-4, False), (2e-6, False), (-0.1, True)])
def test_chaos_that_orbits_leave_late_is_a_transient(beyond, lasts):
    """The tent of slope 2 + b maps [0, 1] onto [0, 1 + b/2]: an orbit leaves with a probability of some b/2 a step."""
    tent = in_two(lambda x: (2 + beyond) * torch.minimum(x, 1 - x))
    ds = dl.basins(tent, states=np.array([[0.1, 0.1], [0.9, -0.1]]), grid=6, extent=0.9, largest_state=10.0)
    kinds = ds["attractor_class"].values.tolist()
    assert ("chaotic attractor" in kinds) is lasts
    assert ("transient" in ds.attrs["verdict"]) is not lasts


@pytest.mark.parametrize("unit", [1.0, 1e5, 1e9])
def test_a_window_is_as_wide_as_it_is_asked_for(unit):
    ds = dl.basins(
        dl.from_function(lambda h, x: unit * torch.tanh(2 * h / unit), state_size=2), grid=8, extent=2 * unit
    )
    assert ds["stable"].values.tolist() == [1, 1, 1, 1]
    assert ds["share"].values.tolist() == [0.25, 0.25, 0.25, 0.25]


def test_a_point_without_a_derivative_has_no_exponent():
    """‖h‖ has no derivative at 0, where torch says 0; neighbours leave at ln 1.3."""
    radial = dl.from_function(
        lambda h, x: 1.3 * torch.linalg.vector_norm(h, dim=-1, keepdim=True) * torch.ones_like(h), 2
    )
    ds = dl.basins(radial, grid=3, extent=1.0)
    assert np.isnan(ds["largest_exponent"].values).all()
    assert np.isposinf(ds["largest_exponent_error"].values).all()


KINKED_CYCLES = {
    # relu(1 − h): every orbit in [0, 1]² has period 2, and its neighbours keep their distance
    "relu(1 − h)": (lambda h: torch.relu(1 - h), 1.0),
    # slopes −2 on the left of 0 and −1 on the right: 0 → 1 → 0 is left at ln 2 in two steps from its left
    "1 + 2 |h| − 3 relu(h)": (lambda h: 1 + 2 * h.abs() - 3 * torch.relu(h), 3.0),
}


@pytest.mark.parametrize("name", KINKED_CYCLES)
def test_no_cycle_that_passes_a_kink_is_stable(name):
    f, extent = KINKED_CYCLES[name]
    ds = dl.basins(dl.from_function(lambda h, x: f(h), state_size=2), grid=9, extent=extent)
    assert not any("stable period-2" in kind and "un" not in kind for kind in ds["attractor_class"].values.tolist())


def test_a_cycle_beside_a_jump_is_undecided():
    """⌊2.5 sin h⌋: (−3, 0) → (−1, 0) → (−3, 0), and from (−3, −ε) the second coordinate goes to −1."""
    f = dl.from_function(lambda h, x: torch.floor(2.5 * torch.sin(h)), state_size=2)
    ds = dl.basins(f, grid=15, extent=3.0)
    for kind, state in zip(ds["attractor_class"].values.tolist(), ds["attractor_state"].values.tolist(), strict=True):
        assert not (0.0 in state and kind.startswith("stable"))
    said = dl.lyapunov(f, steps=2000, initial_state=[-3.0, 0.0]).attrs["verdict"]
    assert "It passes a point where the map has a kink or a jump" in said
    assert "stable cycle" not in said


def test_a_start_on_an_unstable_point_does_not_count_to_a_circle_of_points_around_it():
    """h (3/2 − ‖h‖²/2) is at rest on the unit circle, which attracts, and at 0, where it grows by 3/2."""
    system = dl.from_function(lambda h, x: h * (1.5 - 0.5 * (h**2).sum(-1, keepdim=True)), state_size=2)
    found = dl.basins(system, grid=31)
    middle = int(found["basin"].values[15, 15])
    assert middle >= 0
    np.testing.assert_array_equal(found["attractor_state"].values[middle], [0, 0])
    assert found["stable"].values[middle] == 0
    assert (found["basin"] == middle).sum() == 1
    assert "1 start ends on 1 unstable fixed point, which has no basin" in found.attrs["verdict"]


def test_unstable_lines_of_points_are_apart_from_the_lines_that_attract():
    """x + sin(x)/2 is at rest at the multiples of π; at 0 nearby orbits part, at ±π they meet."""
    system = dl.from_function(
        lambda h, x: torch.stack([h[..., 0] + 0.5 * torch.sin(h[..., 0]), h[..., 1]], -1), state_size=2
    )
    found = dl.basins(system, grid=31, extent=3.0)
    still = found["basin"].values == found["basin"].values[15, 15]
    assert still.sum() == 31
    assert "2 lines of fixed points; " in found.attrs["verdict"]
    assert "on 1 unstable line of fixed points, which has no basin" in found.attrs["verdict"]
