"""Phase portraits against the step-50 oracle, closed forms of planar systems and exact identities."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.phase_plane import phase_plane
from dynlab.matrices import planar_matrix
from dynlab.numerics.critical_step import critical_step
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
    ds = portrait("zero")
    assert ds["flow_kind"].values.tolist() == ["center"]
    assert ds["map_kind"].values.tolist() == ["unstable focus"]
    assert ds["critical_step"].item() == 0
    assert set(ds["outcome"].values.tolist()) == {"still moving outward"}
    assert np.abs(ds["divergence"].values).max() == 0
    expected = np.log(np.cosh(2 * ds["y"].values[:, None])) + np.log(np.cosh(2 * ds["x"].values))
    assert np.allclose(ds["conserved"].values, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "eigenvalues, step",
    [([-1, -4], 0.5), ([-0.15 + 2j, -0.15 - 2j, -50], 0.04), ([-1, 0], 2.0), ([1, -1], 0.0), ([2j, -2j], 0.0)],
)
def test_critical_step(eigenvalues, step):
    found = critical_step(eigenvalues)[0]
    assert found == pytest.approx(step, rel=1e-12)
    moduli = [np.abs(1 + factor * found * np.array(eigenvalues)).max() for factor in (0.999, 1.001)]
    assert step == 0 or (moduli[0] <= 1 < moduli[1])


@pytest.mark.parametrize("matrix, step_size", [("-0.7,3.2;-3.2,-0.7", 1.5), ("diff", 0.1)])
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
