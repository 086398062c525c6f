"""The plane of two parameters against closed forms on all of it."""

import numpy as np
import torch

from dynlab.diagnostics.bifurcation.parameter_plane import parameter_plane
from dynlab.systems import create
from problems import Rule

EDGE = 0.02  # from a boundary, where orbits take longer than they are followed


def test_periods_of_henon():
    spans = {"parameters": ("a", "b"), "lowest": (-0.2, 0.1), "highest": (0.9, 0.4), "grid": 13}
    henon = parameter_plane(create("henon"), **spans)
    a, b = np.meshgrid(henon["x"].values, henon["y"].values)
    first, second = 3 * (1 - b) ** 2 / 4, (1 - b) ** 2 + (1 + b) ** 2 / 4
    period = henon["period"].values
    fixed = (a > -((1 - b) ** 2) / 4 + EDGE) & (a < first - EDGE)
    assert (period[fixed] == 1).all()
    doubled = (a > first + EDGE) & (a < second - EDGE)
    assert (period[doubled] == 2).all()
    gone = a < -((1 - b) ** 2) / 4 - 1e-9  # beyond the fold there is nothing
    assert (period[gone] == -1).all()
    assert np.isnan(henon["leading"].values[gone]).all()
    assert (henon["stable"].values[fixed] == 1).all()
    assert (henon["stable"].values[doubled] == 0).all()
    root = np.sqrt(np.maximum((1 - b) ** 2 + 4 * a, 0))
    x = np.where(np.abs(a) > 1e-9, (b - 1 + root) / (2 * np.where(a == 0, 1, a)), 1 / (1 - b))
    moduli = np.abs(-a * x + np.array([1, -1])[:, None, None] * np.sqrt((a * x) ** 2 + b + 0j)).max(axis=0)
    np.testing.assert_allclose(henon["leading"].values[fixed], moduli[fixed], rtol=1e-9)


def test_one_fixed_point_is_followed_over_the_plane():
    """h ↦ h e^(r (1 − h/K)): the multiplier at h = K is 1 − r, at 0 it is e^r."""
    unit, ricker = 1e5, Rule(1, lambda s, h: (h * torch.exp(s.r * (1 - h / s.K)),), r=2.0, K=1.0)
    spans = {"parameters": ("r", "K"), "lowest": (0.5, 0.5 * unit), "highest": (2.5, 10.0 * unit)}
    ds = parameter_plane(ricker, **spans, grid=11, state=[unit])
    r, K = np.meshgrid(ds["x"].values, ds["y"].values)
    np.testing.assert_allclose(ds["fixed_point_state"][..., 0], K, rtol=1e-8)
    np.testing.assert_allclose(ds["leading"], np.abs(1 - r), atol=1e-7)
    told = np.abs(r - 2) > 1e-6
    np.testing.assert_array_equal(ds["stable"].values[told] == 1, (r < 2)[told])


def test_a_fixed_point_is_followed_around_a_cusp_and_not_over_its_fold():
    """h = tanh(w h + b): from the upper one of three, and where there is one alone to that."""
    unit = Rule(1, lambda s, h: (torch.tanh(s.w * h + s.b),), w=2.0, b=0.0)
    spans = {"parameters": ("b", "w"), "lowest": (-1.0, 0.5), "highest": (1.0, 3.0), "grid": 15}
    ds = parameter_plane(unit, **spans, state=[1.0])
    b, w = np.meshgrid(ds["x"].values, ds["y"].values)
    h = ds["fixed_point_state"].values[..., 0]
    known = ds["converged"].values
    np.testing.assert_allclose(np.tanh(w * h + b)[known], h[known], atol=1e-10)
    with np.errstate(invalid="ignore"):
        fold = np.sqrt(w * np.maximum(w - 1, 0)) - np.arccosh(np.sqrt(np.maximum(w, 1)))  # three points at smaller |b|
    upper = known & (w > 1) & (b > -fold + 0.2)
    assert upper.sum() > 50
    assert (h[upper] > 0).all()
