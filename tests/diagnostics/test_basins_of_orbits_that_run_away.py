"""Orbits that move outward without bound are told from all that is bounded, by maps whose truth is known."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.diagnostics.basins.outward import ways
from dynlab.matrices import planar_matrix
from dynlab.systems.planar import planar_system

OUTWARD = -3


def directions(ds):
    """The signs of each direction in which some start runs away."""
    steps = ds["outward_step"].values[:, ds["basin"].values <= OUTWARD]
    return {tuple(each) for each in np.sign(np.round(steps, 6)).astype(int).T.tolist()}


def test_a_focus_that_repels_leads_away_in_four_directions():
    """h + 0.1 tanh(W h): far out tanh is ±1, and the signs that W h keeps are those of the direction."""
    ds = dl.basins(planar_system([[2, -1], [1, 2]]), grid=20)
    assert (ds["basin"].values <= OUTWARD).all()
    assert directions(ds) == {(1, 1), (1, -1), (-1, 1), (-1, -1)}
    np.testing.assert_allclose(np.abs(ds["outward_step"]), 0.1)
    assert ds.sizes["attractor"] == 0
    assert "all run away in 4 directions, still moving outward at a steady speed" in ds.attrs["verdict"]
    assert "volume" not in ds.attrs["verdict"]
    assert float(ds["leaving_share"]) == 1


def test_away_from_a_line_of_fixed_points_the_side_tells_the_direction():
    """W = (1, 2; 2, 4): at rest where h₁ + 2 h₂ = 0, along (1, 1) or back on the sides of it."""
    ds = dl.basins(planar_system([[1, 2], [2, 4]]), grid=31)
    x, y = np.meshgrid(ds["x"], ds["y"])
    side = np.sign(np.round(x + 2 * y, 9))
    np.testing.assert_array_equal(ds["basin"].values >= 0, side == 0)
    np.testing.assert_array_equal(ds["basin"].values <= OUTWARD, side != 0)
    steps = ds["outward_step"].values[:, side != 0]
    np.testing.assert_allclose(steps, 0.1 * np.stack([side[side != 0]] * 2))
    assert ds["attractor_class"].values.tolist() == ["unstable line of fixed points"]


def test_what_runs_away_and_what_still_bends_on_its_way():
    """W₊ = (2, −2; 0, 2): h₂ grows by 0.1 where it is positive, and so h₁ − h₂ falls below 0 some day.

    Where that is large, it takes e^{4 (h₁ − h₂)} steps: until then an orbit moves along (1, 1).
    """
    ds = dl.basins(planar_system(planar_matrix("plus")), grid=40)
    x, y = np.meshgrid(ds["x"], ds["y"])
    away = ds["basin"].values <= OUTWARD
    np.testing.assert_array_equal(np.sign(ds["outward_step"].values[1][away]), np.sign(y[away]))
    early = (np.sign(y) * (x - y) < 1.5) & (np.abs(y) > 0.5)  # h₁ − h₂ grows while h₂ is small
    assert away[early].all()
    np.testing.assert_array_equal(np.sign(ds["outward_step"].values[0][early]), -np.sign(y[early]))
    assert ds.sizes["attractor"] == 0
    assert "(they move outward, but their direction or speed changes farther out)" in ds.attrs["verdict"]


@pytest.mark.parametrize("speed", [0.5, 1e-4])
def test_a_translation_runs_away(speed):
    ds = dl.basins(dl.from_function(lambda h, x: h + speed, state_size=2), grid=4)
    assert (ds["basin"].values == OUTWARD).all()
    np.testing.assert_allclose(ds["outward_step"], speed, rtol=1e-6)


def polar(turn, radius):
    """z → e^{i turn} radius(|z|) z/|z|."""

    def step(h, x):
        z = torch.complex(h[..., 0], h[..., 1])
        size = z.abs().clamp(min=1e-300)
        return torch.view_as_real(np.exp(1j * turn) * radius(size) * z / size)

    return dl.from_function(step, state_size=2)


def intermittent(h, x):
    """Pomeau and Manneville's x + x² mod 1, which passes 0 ever so slowly, beside a unit that decays."""
    first = h[..., 0] % 1
    return torch.stack([(first + first**2 + 1e-7) % 1, h[..., 1] / 2], -1)


@pytest.mark.parametrize(
    "system",
    [
        polar(1.0, lambda r: r),  # circles
        polar(1e-5, lambda r: r),  # the same, so slowly that an orbit looks straight
        polar(0.3, lambda r: r + 1e-3 * torch.tanh(100 - r)),  # spirals out to a cycle of radius 100
        polar(1e-6, lambda r: r + 0.1 * torch.tanh(1000 - r)),  # straight out to a circle of radius 1,000
        polar(0.0, lambda r: 3 + (1 - 1e-6) * (r - 3)),  # a millionth nearer a step
        polar(0.0, lambda r: r + 0.1 * torch.tanh(1e5 - r)),  # comes to rest, after a million steps
        planar_system(planar_matrix("diff")),
        planar_system(planar_matrix("zero")),  # turns for ever, though it drifts outward
        dl.from_function(intermittent, state_size=2),
        dl.create("henon"),
        dl.from_function(lambda h, x: (h + 0.1) % 1, state_size=2),
    ],
    ids=["circle", "slow circle", "spiral", "far circle", "slow", "far rest", "diff", "zero", "mod", "henon", "torus"],
)
def test_what_is_bounded_or_turns_is_not_said_to_run_away(system):
    ds = dl.basins(system, grid=3, extent=0.9, follow=False)
    assert (ds["basin"].values > OUTWARD).all()
    assert "run away" not in ds.attrs["verdict"]
    assert np.isnan(ds["outward_step"]).all()


@pytest.mark.parametrize("turns, count", [(8, 8), (9, 1)])
def test_directions_are_numbered_by_how_many_there_are_unless_they_are_too_many(turns, count):
    angles = np.repeat(2 * np.pi * np.arange(turns) / turns, np.arange(1, turns + 1))
    found = ways(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert len(np.unique(found)) == count
    np.testing.assert_array_equal(
        found, turns - np.repeat(np.arange(1, turns + 1), np.arange(1, turns + 1)) if count > 1 else 0
    )


def test_which_starts_no_orbit_is_left_for_is_said_with_whose_limit_it_is():
    """h + 0.1 tanh(W₀ h) drifts outward on curves of its own for each start."""
    ds = dl.basins(planar_system(planar_matrix("zero")), grid=12, steps=500)
    assert "(they still move, and are near none of the 6 orbits that are followed for longer; " in ds.attrs["verdict"]
