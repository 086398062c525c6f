"""The one search for fixed points: known lists, near-degenerate roots, far memories, what is unseen."""

import mpmath
import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.rounds import share_bound, unseen_share
from dynlab.diagnostics.modes import modes
from dynlab.systems import from_function


def scalar(f):
    return from_function(f, state_size=1)


def listed(ds):
    return np.sort(ds["fixed_point_state"].values[ds["status"].values == "fixed point"][:, 0])


@pytest.mark.parametrize("beyond", [3e-9, 1e-3])
def test_beside_a_pitchfork_there_are_three_points_however_close(beyond):
    ds = fixed_points(scalar(lambda h, x: torch.tanh((1 + beyond) * h)), starts=32)
    with mpmath.workdps(40):
        slope = 1 + mpmath.mpf(1 + beyond) - 1
        root = float(mpmath.findroot(lambda h: mpmath.tanh(slope * h) - h, mpmath.sqrt(3 * beyond)))
    np.testing.assert_allclose(listed(ds), [-root, 0, root], atol=1e-4 * root)


@pytest.mark.parametrize("gap", [1e-11, 1e-5])
def test_before_a_fold_there_is_no_point_however_small_the_residual(gap):
    ds = fixed_points(scalar(lambda h, x: h + 0.1 * ((h - 0.3).square() + gap)), starts=32)
    assert ds.sizes["fixed_point"] == 0


def test_the_flip_flop_has_27_points_for_every_command():
    system = dl.load("gru-flipflop")
    ds = fixed_points(system)
    assert ds.sizes["fixed_point"] == 27
    assert (ds["stable"].values == 1).sum() == 8
    assert float(ds["unseen_share_bound"]) < 0.03
    np.testing.assert_array_equal(modes(system)["fixed_point_state"], ds["fixed_point_state"])


def test_the_bound_on_what_is_unseen_covers():
    """Starts that end outside the list with a known probability: the bound fails in at most 5 % of the trials."""
    generator = np.random.default_rng(0)
    for share in (0.002, 0.2):
        ended = generator.binomial(256, share, 500)
        assert np.mean([share_bound(int(new), 256, 1) < share for new in ended]) <= 0.05
    assert unseen_share(np.array([1, 1, 5, 0]), 10) == 0.2


@pytest.mark.parametrize("apart, steep", [(1e-6, 1e4), (1e-8, 1e6)])
def test_of_two_steep_roots_each_is_listed_once(apart, steep):
    """h + k (h − a)(h − a − d): between the roots the residual is k d²/4, below the tolerance, and J − I is 0."""
    ds = fixed_points(scalar(lambda h, x: h + steep * (h - 0.3) * (h - 0.3 - apart)))
    assert np.abs(listed(ds) - [0.3, 0.3 + apart]).max() < 1e-14
    order = np.argsort(ds["fixed_point_state"].values[:, 0])
    wrong = np.abs(ds["eigenvalue"].values[order, 0] - [1 - steep * apart, 1 + steep * apart])
    assert (wrong <= ds["eigenvalue_error"].values[order, 0]).all()
    assert ds["stable"].values[order].tolist() == [1, 0]
