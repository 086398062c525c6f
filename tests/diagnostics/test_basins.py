"""Basins against systems whose basins, attractors and periods are known."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import dynlab as dl
from dynlab.cli.main import run
from dynlab.diagnostics.basins.variables import basin_entropy
from problems import Field, vanilla

ROOT = brentq(lambda h: np.tanh(2 * h) - h, 0.5, 1, xtol=1e-15)


def newton_of_cube(h, x):
    """Newton's method for z³ = 1, whose three basins have one fractal border and are each other's rotations."""
    z = torch.complex(h[..., 0], h[..., 1])
    z = z - (z**3 - 1) / (3 * z**2)
    return torch.stack([z.real, z.imag], dim=-1)


BISTABLE = [
    (vanilla(2 * np.eye(2)), ROOT, np.log(2 * (1 - ROOT**2))),
    (Field(2, lambda s, u, v: (u - u**3, v - v**3)), 1.0, -2.0),
]


@pytest.mark.parametrize("system, root, exponent", BISTABLE)
def test_of_uncoupled_bistable_units_the_basins_are_the_quadrants(system, root, exponent):
    ds = dl.basins(system, grid=20)
    x, y = np.meshgrid(ds["x"], ds["y"])
    states = ds["attractor_state"].values[ds["basin"].values]
    np.testing.assert_allclose(states, root * np.sign(np.stack([x, y], axis=-1)), atol=1e-12)
    assert ds["stable"].values.tolist() == [1] * 4
    np.testing.assert_allclose(ds["largest_exponent"], exponent, atol=1e-9)
    np.testing.assert_allclose(ds["share_error"], np.sqrt(0.25 * 0.75 / 400))
    # 4 × 4 boxes of 5 × 5 starts; the axes run between boxes
    assert (float(ds["basin_entropy"]), int(ds["boundary_boxes"])) == (0, 0)


def test_newtons_method_for_the_cube_roots_of_one():
    ds = dl.basins(dl.from_function(newton_of_cube, state_size=2), grid=600, extent=2.0)
    np.testing.assert_allclose((ds["attractor_state"].values @ [1, 1j]) ** 3, 1, atol=1e-12)
    x, y = np.meshgrid(ds["x"], ds["y"])
    inside = ds["basin"].values[np.hypot(x, y) < 2]
    np.testing.assert_allclose(np.bincount(inside, minlength=3) / inside.size, 1 / 3, atol=0.01)
    border, error = (float(ds[f"boundary_basin_entropy{end}"]) for end in ("", "_error"))
    assert border > np.log(2) + 3 * error


def test_all_stable_points_are_listed_and_starts_come_from_the_box_that_is_asked_for():
    """Each coordinate of u ← u + 0.2 (u − u³) goes to ±1: 2³ stable points, of which a plane meets a few."""
    system = dl.from_function(lambda h, x: h + 0.2 * (h - h**3), state_size=3)
    for box, inside in ((None, 8), ([[-2, 0.1, 0.1], [2, 2, 2]], 2)):
        ds = dl.basins(system, grid=10, box=box)
        stable = ds["stable"].values == 1
        states, shares = ds["attractor_state"].values[stable], ds["box_share"].values[stable]
        corners = {tuple(state) for state in np.sign(states).astype(int)}
        assert box or corners == set(itertools.product((-1, 1), repeat=3))
        assert int(ds["missed_attractors"]) == (ds["share"].values[stable] == 0).sum()
        assert (shares > 0).sum() == inside
        errors = ds["box_share_error"].values[stable]
        assert (np.abs(shares[shares > 0] - 1 / inside) <= 4 * errors[shares > 0]).all()


@pytest.mark.parametrize("text", ["y, -x", "y, -sin(x)"])
def test_closed_orbits_around_a_center_are_one_continuum(text):
    ds = dl.basins(dl.EquationFlow(text), grid=6, extent=1.2)
    assert ds["kind"].values.tolist() == ["continuum of closed orbits around a center"]
    assert (ds["share"].item(), ds["stable"].item()) == (1.0, -1)


def test_basin_entropy():
    mixed = -(0.4 * np.log(0.4) + 0.6 * np.log(0.6))
    np.testing.assert_allclose(basin_entropy(np.tile([0, 1], (10, 5))), (mixed, mixed, 0, 4))


def test_the_command_takes_a_box_and_prints_a_row_for_each_attractor(capsys):
    asked = ["basins", "--system", "henon", "--set", "a=0.2", "--grid", "4", "--no-figure"]
    assert run([*asked, "--box", "-1:1,0:0.2"]) == 0
    assert "stable flip node" in capsys.readouterr().out
