"""Phase portraits, separatrices and backward orbits against closed forms and exact identities."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.phase_plane import phase_plane
from dynlab.matrices import planar_matrix
from dynlab.numerics.critical_step import critical_step
from dynlab.systems import Flow, create, from_function
from dynlab.systems.equations import EquationFlow
from dynlab.systems.planar import planar_system
from problems import Field


def portrait(text, **settings):
    matrix = planar_matrix(text)
    return phase_plane(planar_system(matrix), matrix=matrix, step_size=0.1, **settings)


def test_every_start_ends_on_the_invariant_curve_of_w_diff():
    ds = portrait("diff", starts=[(0.0, 0.5), (1e-3, 0.0), (3.0, -2.0)])
    radius = np.linalg.norm(ds["long_orbit"].values, axis=-1)
    assert ds["outcome"].values.tolist() == ["invariant closed curve"] * 3
    assert radius.min() == pytest.approx(0.570, abs=1e-3)
    assert radius.max() == pytest.approx(0.598, abs=1e-3)


def test_w_zero_drifts_outward_under_euler_although_its_flow_conserves_h():
    ds = portrait("zero", starts=[(0.5, -0.75)])
    assert ds["flow_kind"].values.tolist() == ["center"]
    assert ds["map_kind"].values.tolist() == ["unstable focus"]
    assert ds["critical_step"].item() == 0
    assert set(ds["outcome"].values.tolist()) == {"still moving outward"}
    assert np.abs(ds["divergence"].values).max() == 0
    expected = np.log(np.cosh(2 * ds["y"].values[:, None])) + np.log(np.cosh(2 * ds["x"].values))
    assert np.allclose(ds["conserved"].values, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "text, kind",
    [
        ("y - 1, -x", "center"),
        ("0.1*x + 0.2*x + y, x/3 - 4*x/3 - 0.3*y", "center"),  # in decimal numbers, as it was typed
        ("0.1*x + y, -x - 0.1000001*y", "stable focus"),
        ("x*y + y, -x", "undecided, near center"),
    ],
)
def test_a_linear_flow_that_was_typed_is_classified_exactly(text, kind):
    assert phase_plane(EquationFlow(text), steps=9)["flow_kind"].values.tolist() == [kind]


@pytest.mark.parametrize("system", [EquationFlow("y, -x"), planar_system(planar_matrix("zero"))])
def test_usual_starts_lie_in_the_window_that_is_given(system):
    starts = phase_plane(system, window=[[2, 4], [2, 5]], steps=5)["trajectory"].values[:, 0]
    assert ((starts > 2) & (starts < [4, 5])).all()


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
    "rates, continuum",
    [
        (lambda s, x, y: (y, 0 * x), [1]),
        (lambda s, x, y: (y, 0 * x + 1), []),
        (lambda s, x, y: (x, y**3), [0]),
    ],
)
def test_what_is_not_isolated_is_a_continuum_or_one_degenerate_equilibrium(rates, continuum):
    assert phase_plane(Field(2, rates), steps=40)["continuum"].values.tolist() == continuum


def test_every_equilibrium_of_a_grid_of_them_is_in_the_window():
    """sin vanishes at the multiples of π: of a window of half-width 7, (2 ⌊7/π⌋ + 1)² are inside."""
    states = phase_plane(Field(2, lambda s, x, y: (torch.sin(x), torch.sin(y))), window=7)["equilibrium"].values / np.pi
    assert len(states) == 25 == len(np.unique(states.round(), axis=0))
    assert np.abs(states - states.round()).max() < 1e-12


# its saddle at 0 has the stable manifold y = x²/3
BENT = Field(2, lambda s, x, y: (-x, y - x**2))


def bent_map(first):
    """(x, y) ↦ (a x, 2y − x²), whose saddle at 0 has the stable manifold y = c x²: c a² = 2c − 1."""
    return from_function(lambda h, x: torch.stack([first * h[..., 0], 2 * h[..., 1] - h[..., 0] ** 2], -1), 2)


@pytest.mark.parametrize(
    "system, c", [(BENT, 1 / 3), *[(bent_map(first), 1 / (2 - first**2)) for first in (0.5, -0.9)]]
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
