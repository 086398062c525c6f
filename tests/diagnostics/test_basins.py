"""Basins against systems whose basins, attractors and periods are known."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.diagnostics.basins.entropy import basin_entropy
from dynlab.diagnostics.basins.plane import plane_of
from dynlab.errors import UserError
from dynlab.jacobians import jacobian
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated
from dynlab.systems.planar import planar_matrix, planar_system


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
    assert "fractal" not in ds.attrs["verdict"]


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
    assert ("as only fractal borders have it" in ds.attrs["verdict"]) == told


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
    assert f"end on 1 invariant {'closed ' * (planes == 1)}{said} (all)" in ds.attrs["verdict"]


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


def test_an_orbit_that_still_drifts_is_undecided():
    ds = dl.basins(planar_system(planar_matrix("zero")), grid=6, steps=500)
    assert (ds["basin"].values == -2).all()
    assert "undecided" in ds.attrs["verdict"]


@pytest.mark.parametrize("rate, decided", [(0.998, True), (0.9985, False)])
def test_what_still_comes_to_rest_is_followed_on_up_to_ten_times_as_long(rate, decided):
    """h ← rate · h from |h| = 4.2 rests where it moves by 1e-9: after ln(1e-9/(4.2 (1 − rate)))/ln(rate) steps."""
    ds = dl.basins(dl.from_function(lambda h, x: rate * h, state_size=2), grid=2, steps=1000)
    assert (ds["basin"].values == (0 if decided else -2)).all()
    assert "up to" in ds.attrs["verdict"]
    longest = np.log(1e-9 / (3 * np.sqrt(2) * (1 - rate))) / np.log(rate)
    assert int(ds["steps"].max()) == (np.ceil(longest) + 1 if decided else 10_000)
    assert (longest < 10_000) == decided


def test_what_circles_or_drifts_is_followed_no_longer_than_said():
    for matrix in ("zero", "diff"):
        assert (dl.basins(planar_system(planar_matrix(matrix)), grid=4, steps=400)["steps"].values == 400).all()


def test_shares_are_never_rounded_to_none_or_all():
    ds = dl.basins(planar_system(planar_matrix("diff")), grid=51)
    assert "(more than 99.9 %) and 1 unstable fixed point (less than 0.1 %)" in ds.attrs["verdict"]


@pytest.mark.parametrize("change", [{"grid": 100_000}, {"grid": 200, "max_memory": 2**20}])
def test_a_grid_too_large_for_memory_is_refused_with_the_number(change):
    with pytest.raises(UserError, match=r"holds [\d,]+ MiB, more than [\d,]+ MiB"):
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


@pytest.mark.parametrize("name, sentence", [("lorenz", "wrap it in Euler"), ("logistic", "at least two states")])
def test_systems_without_a_plane_of_starts(name, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.basins(dl.create(name))


def test_one_unit_has_no_plane_whatever_states_are_given():
    with pytest.raises(UserError, match="at least two states"):
        dl.basins(dl.create("logistic"), states=np.zeros((4, 1)))
