"""Eigenvectors, separatrices and backward orbits of the plane, against closed forms and the step itself."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.phase_plane import phase_plane
from dynlab.matrices import planar_matrix
from dynlab.systems import Flow, create, from_function
from dynlab.systems.planar import planar_system
from problems import Field

# its saddle at 0 has the stable manifold y = x²/3
BENT = Field(2, lambda s, x, y: (-x, y - x**2))


def bent_map(first):
    """(x, y) ↦ (a x, 2y − x²), whose saddle at 0 has the stable manifold y = c x²: c a² = 2c − 1."""
    return from_function(lambda h, x: torch.stack([first * h[..., 0], 2 * h[..., 1] - h[..., 0] ** 2], -1), 2)


@pytest.mark.parametrize(
    "system, c", [(BENT, 1 / 3), *[(bent_map(first), 1 / (2 - first**2)) for first in (0.5, -0.98)]]
)
def test_a_separatrix_is_the_stable_manifold_on_both_sides_and_to_the_window_s_edge(system, c):
    found = phase_plane(system, starts=[[0.3, 0.2]], window=1.0, steps=5)["separatrix"].values
    (curves,) = found[np.isfinite(found).all(axis=(1, 2, 3))]
    x, y = np.moveaxis(curves, -1, 0)
    # it starts at a hundredth of the window, or of a map at a thousandth, on the eigenvector
    assert np.abs(y - c * x**2).max() < (2e-3 if isinstance(system, Flow) else 2e-4)
    assert x[0].max() > 0.9
    assert x[1].min() < -0.9
    assert np.abs(curves[:, 0]).max() == 0.0


@pytest.mark.parametrize(
    "system, extent",
    [
        (create("henon"), 1.5),  # whose curve has bends
        (planar_system(planar_matrix("3,-1;0.5,2.5"), "vanilla"), 1.1),
    ],
)
def test_orbits_of_a_map_from_all_of_a_separatrix_come_to_its_saddle(system, extent):
    ds = phase_plane(system, starts=[[0.1, 0.1]], window=extent, steps=5)
    curves, saddles = ds["separatrix"].values, ds["equilibrium"].values
    known = np.isfinite(curves).all(axis=(1, 2, 3))
    assert known.any()
    for saddle, both in zip(saddles[known], curves[known], strict=True):
        h = torch.as_tensor(both)
        nearest = torch.full(h.shape[:-1], torch.inf, dtype=h.dtype)
        for _ in range(300):
            nearest = torch.minimum(nearest, (h - torch.as_tensor(saddle)).norm(dim=-1))
            h = system.double().step(h, h.new_zeros(*h.shape[:-1], 0)).detach().clamp(-1e6, 1e6)
        # what joins two of its states is straight, and at a sharp bend it is led away by as much as the saddle repels
        assert (nearest.nan_to_num(np.inf) < 0.02 * extent).sum(dim=-1).min() >= both.shape[1] - 1


@pytest.mark.parametrize("system", [create("henon"), bent_map(0.5)])
def test_steps_lead_from_a_backward_orbit_to_the_start_and_along_it(system):
    starts = [[0.1, 0.1], [-0.3, 0.2]]
    before = phase_plane(system, starts=starts, window=1.5, steps=20)["backward_orbit"].values
    np.testing.assert_array_equal(before[:, 0], starts)
    known = torch.as_tensor(before)
    ahead = system.double().step(known[:, 1:], known.new_zeros(2, 20, 0)).detach().numpy()
    there = np.isfinite(before[:, 1:]).all(axis=-1)
    assert there.sum() >= 2
    np.testing.assert_allclose(ahead[there], before[:, :-1][there], atol=1e-11)


def test_a_flow_is_followed_against_its_velocity():
    """x(−t) = x e^t, and y − x²/3 shrinks backward in time."""
    ds = phase_plane(BENT, starts=[[0.2, 0.0]], window=2.0, steps=20, step_size=0.1)
    t = ds["time"].values
    x = 0.2 * np.exp(t)
    exact = np.stack([x, x**2 / 3 - 0.2**2 / 3 * np.exp(-t)], axis=-1)
    found = ds["backward_orbit"].values[0]
    there = np.isfinite(found).all(axis=-1)
    assert there.sum() > 15
    np.testing.assert_allclose(found[there], exact[there], atol=4e-3)  # a fiftieth of the window a step
