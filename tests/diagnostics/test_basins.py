"""Basins against systems whose basins, attractors and periods are known."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import dynlab as dl
from dynlab import schema
from dynlab.cli.main import run
from dynlab.diagnostics.basins.entropy import basin_entropy
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.systems import Flow
from dynlab.systems.planar import planar_system

ROOT = brentq(lambda h: np.tanh(2 * h) - h, 0.5, 1, xtol=1e-15)


def bistable(size):
    return dl.from_function(lambda h, x: torch.tanh(2 * h), state_size=size)


def newton_of_cube(h, x):
    """Newton's method for z³ = 1, whose three basins have one fractal border and are each other's rotations."""
    z = torch.complex(h[..., 0], h[..., 1])
    z = z - (z**3 - 1) / (3 * z**2)
    return torch.stack([z.real, z.imag], dim=-1)


def test_of_uncoupled_bistable_units_the_basins_are_the_quadrants():
    ds = dl.basins(bistable(2), grid=50)
    x, y = np.meshgrid(ds["x"], ds["y"])
    states = ds["attractor_state"].values[ds["basin"].values]
    np.testing.assert_allclose(states, ROOT * np.sign(np.stack([x, y], axis=-1)), atol=1e-12)
    assert ds["stable"].values.tolist() == [1] * 4
    np.testing.assert_allclose(ds["largest_exponent"], np.log(2 * (1 - ROOT**2)), atol=1e-9)
    np.testing.assert_allclose(ds["share_error"], np.sqrt(0.25 * 0.75 / 2500))
    # 10 × 10 boxes of 5 × 5 starts; the axes run between boxes
    assert float(ds["basin_entropy"]) == 0
    assert int(ds["boundary_boxes"]) == 0


def test_newtons_method_for_the_cube_roots_of_one():
    ds = dl.basins(dl.from_function(newton_of_cube, state_size=2), grid=600, extent=2.0)
    np.testing.assert_allclose((ds["attractor_state"].values @ [1, 1j]) ** 3, 1, atol=1e-12)
    x, y = np.meshgrid(ds["x"], ds["y"])
    inside = ds["basin"].values[np.hypot(x, y) < 2]
    np.testing.assert_allclose(np.bincount(inside, minlength=3) / inside.size, 1 / 3, atol=0.01)
    border, error = (float(ds[f"boundary_basin_entropy{end}"]) for end in ("", "_error"))
    assert border > np.log(2) + 3 * error
    assert "they are fractal" in ds.attrs["verdict"]


def test_w_diff_at_the_papers_step_ends_on_an_invariant_curve():
    ds = dl.basins(planar_system(planar_matrix("diff")), grid=21)
    assert ds["kind"].values.tolist() == ["invariant closed curve", "unstable focus"]
    radius = np.hypot(ds["attractor_x"], ds["attractor_y"]).values[0]
    assert 0.5695 < radius.min() < radius.max() < 0.5985
    assert ds["share"].values.tolist() == [440 / 441, 1 / 441]  # the origin itself stays where it is
    assert "all starts but one end on an invariant closed curve; one is the unstable fixed" in ds.attrs["verdict"]


def test_w_plus_drifts_along_the_signs_of_tanh():
    ds = dl.basins(planar_system(planar_matrix("plus")), grid=31)
    steps = ds["outward_step"].values[:, ds["basin"].values <= -3]
    drifts = np.round(np.unique(np.round(10 * steps, 2), axis=1)).astype(int)
    assert {(1, -1), (-1, 1)} <= set(zip(*drifts.tolist(), strict=True))
    assert float(ds["leaving_share"]) > 0.9


@pytest.mark.parametrize("wells", [3])
def test_all_stable_points_are_listed_whatever_the_plane_meets(wells):
    """Each coordinate of u ← u + 0.2 (u − u³) goes to ±1: 2^n stable points, of which a plane meets a few."""
    system = dl.from_function(lambda h, x: h + 0.2 * (h - h**3), state_size=wells)
    ds = dl.basins(system, grid=15)
    corners = {tuple(state) for state in np.sign(ds["attractor_state"].values[ds["stable"].values == 1]).astype(int)}
    assert corners == set(itertools.product((-1, 1), repeat=wells))
    unreached = int((ds["share"].values[ds["stable"].values == 1] == 0).sum())
    assert int(ds["missed_attractors"]) == unreached
    assert ("share" in schema.flags(ds)) == (unreached > 0)
    away = np.abs(ds["box_share"].values[ds["stable"].values == 1] - 2.0**-wells)
    assert (away <= 0.1).all()


def test_a_line_of_fixed_points_is_one_continuum():
    ds = dl.basins(dl.from_function(lambda h, x: h * torch.tensor([1.0, 0.5]), state_size=2), grid=8)
    assert ds["kind"].values.tolist() == ["continuum of fixed points"]
    assert (ds["basin"].values == 0).all()
    assert np.isnan(ds["boundary_basin_entropy"].item())


class Wells(Flow):
    """u' = u − u³, v' = −v."""

    name = "wells"

    def velocity(self, state, input, t=0):
        u, v = state.unbind(-1)
        return torch.stack([u - u**3, -v], dim=-1)


def test_a_flow_has_its_own_basins():
    ds = dl.basins(Wells(2, 0), grid=10)
    np.testing.assert_allclose(ds["attractor_state"].values, [[-1, 0], [1, 0]], atol=1e-12)
    np.testing.assert_allclose(ds["largest_exponent"], -1, atol=1e-9)
    assert ds["largest_exponent"].attrs["units"] == "nat/s"
    assert (ds["basin"].values == (np.meshgrid(ds["x"], ds["y"])[0] > 0)).all()
    assert "equilibria" in ds.attrs["verdict"]


def test_starts_come_from_the_box_that_is_asked_for():
    system = dl.from_function(lambda h, x: h + 0.2 * (h - h**3), state_size=3)
    ds = dl.basins(system, grid=8, box=[[-2, 0.1, 0.1], [2, 2, 2]])
    states, shares = ds["attractor_state"].values, ds["box_share"].values
    inside = (states[:, 1:] > 0).all(axis=1) & (ds["stable"].values == 1)
    assert inside.sum() == 2
    assert shares[inside].sum() == pytest.approx(1)
    assert (np.abs(shares[inside] - 0.5) <= 4 * ds["box_share_error"].values[inside]).all()
    window = dl.basins(dl.create("henon", a=0.2), grid=4, box=[[-1, 0], [1, 0.2]])
    assert window["x"].values[[0, -1]].tolist() == [-1, 1]
    assert window["y"].values[[0, -1]].tolist() == [0, 0.2]
    with pytest.raises(UserError, match="each coordinate with a range"):
        dl.basins(system, box=[[0, 0, 0], [1, 1, 0]])


@pytest.mark.parametrize("size", [1e-6, 1e8])
def test_attractors_are_told_apart_whatever_their_size(size):
    system = dl.from_function(lambda h, x: size * torch.tanh(2 * h / size), state_size=2)
    ds = dl.basins(system, grid=12, extent=1.5 * size)
    expected = np.array(list(itertools.product((-ROOT, ROOT), repeat=2))) * size
    found = ds["attractor_state"].values
    np.testing.assert_allclose(found[np.lexsort(np.sign(found).T[::-1])], expected, rtol=1e-12)
    np.testing.assert_allclose(ds["share"].values, 0.25)


def test_what_is_undecided_is_said():
    ds = dl.basins(planar_system(planar_matrix("diff")), grid=3, steps=50, follow=False)
    assert (ds["basin"].values == -2).sum() == 8  # all but the origin, which stays
    assert "All but 1 are undecided after 50 steps." in ds.attrs["verdict"]


@pytest.mark.parametrize(
    "grid, expected",
    [
        (np.zeros((10, 10)), (0.0, np.nan, np.nan, 0)),
        (np.tile([0, 1], (10, 5)), (-(0.4 * np.log(0.4) + 0.6 * np.log(0.6)),) * 2 + (0.0, 4)),
    ],
)
def test_basin_entropy(grid, expected):
    np.testing.assert_allclose(basin_entropy(grid.astype(int)), expected)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"grid": 100_000}, "is too fine: take a --grid of at most 4,096"),
        ({"grid": 200, "max_memory": 2**20}, r"holds [\d,]+ MiB, more than [\d,]+ MiB"),
        ({"states": np.zeros((4, 3))}, r"shape \(\.\.\., 2\)"),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.basins(dl.create("henon"), **change)


def test_the_command_takes_a_box_and_prints_a_row_for_each_attractor(capsys):
    asked = ["basins", "--system", "henon", "--set", "a=0.2", "--grid", "4", "--no-figure"]
    assert run([*asked, "--box", "-1:1,0:0.2"]) == 0
    said = capsys.readouterr().out
    assert all(word in said for word in ("attractor", "stable flip node"))
    assert run([*asked, "--box", "-1:1"]) == 2
    assert "--box takes a range LOW:HIGH for each of the 2 states" in capsys.readouterr().err
