"""Fixed points that lie nearer to each other than the search's tolerance on residuals, or nearly meet."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems import from_function

AT = 0.3


def listed(step, size=1):
    ds = fixed_points(from_function(step, state_size=size))
    return ds, ds["fixed_point_state"].values[ds["status"].values == "fixed point"]


@pytest.mark.parametrize("apart, steep", [(1e-11, 1e10), (1e-12, 1e12), (1e-10, 1e10)])
def test_of_two_steep_roots_each_is_listed_once(apart, steep):
    """h + k (h − a)(h − a − d): between the roots the residual is k d²/4, below the tolerance, and J − I is 0."""
    ds, states = listed(lambda h, x: h + steep * (h - AT) * (h - AT - apart))
    assert np.abs(np.sort(states[:, 0]) - [AT, AT + apart]).max() < 1e-15
    order = np.argsort(ds["fixed_point_state"].values[:, 0])
    wrong = np.abs(ds["eigenvalue"].values[order, 0] - [1 - steep * apart, 1 + steep * apart])
    assert (wrong <= ds["eigenvalue_error"].values[order, 0]).all()
    assert ds["stable"].values[order].tolist() == [1, 0]


@pytest.mark.parametrize("steep, least", [(1e10, 9e-14), (1e12, 1e-14)])
def test_a_steep_parabola_above_zero_has_no_root(steep, least):
    assert len(listed(lambda h, x: h + steep * (h - AT) ** 2 + least)[1]) == 0


@pytest.mark.parametrize("least, roots", [(-1e-13, 2), (1e-15, 0), (1e-13, 0), (0.0, 1)])
def test_the_tip_of_a_wedge_is_no_root_unless_it_is_zero(least, roots):
    _, states = listed(lambda h, x: h + (h - AT).abs() / 2 + least)
    assert len(states) == roots
    assert (np.abs(np.abs(states - AT) - max(0.0, -2 * least)) < 1e-15).all()


@pytest.mark.parametrize("steep", [1e5, 1e7])
def test_a_steep_smooth_unit_is_at_no_kink(steep):
    ds, states = listed(lambda h, x: AT + torch.tanh(steep * (h - AT)) / 2)
    assert np.abs(np.sort(states[:, 0]) - [AT - 0.5, AT, AT + 0.5]).max() < 1e-12
    assert sorted(ds["stable"].values.tolist()) == [0, 1, 1]
    assert not any("kink" in str(kind) for kind in ds["kind"].values)


BUMPS = {  # h/2 and what is added to it, and the points that the sum has: from where it crosses h/2
    "wide 0.1 at 0.7": (lambda h: 0.42 * torch.exp(-(((h - 0.7) / 0.1) ** 2)), 3),
    "wide 0.001 at 0.7": (lambda h: 0.42 * torch.exp(-(((h - 0.7) / 0.001) ** 2)), 3),
    "wide 1 at 30": (lambda h: 18 * torch.exp(-((h - 30) ** 2)), 3),
    "a kink at 1e7": (lambda h: torch.relu(h - 1e7), 2),
}


@pytest.mark.parametrize("name", BUMPS)
def test_a_function_that_is_affine_but_for_a_bump_is_not_affine(name):
    bump, count = BUMPS[name]
    found = fixed_points(from_function(lambda h, x: h / 2 + bump(h), state_size=1))
    state = torch.tensor(found["fixed_point_state"].values)
    assert len(state) == count
    assert (
        float((state / 2 + bump(state) - state).abs().max()) <= 1e-8
    )  # a slope of up to 700 times a rounding of 1e-12


def test_a_function_is_affine_where_it_was_looked_at_and_a_linear_map_is_so():
    assert "affine wherever it was looked at" in fixed_points(from_function(lambda h, x: h / 2 + 1, 1)).attrs["verdict"]


def test_a_small_offset_of_an_affine_map_is_no_unit():
    """1e-22 beside a slope of 1/2: what bends does so at 1."""
    found = fixed_points(
        from_function(lambda h, x: torch.where(h.abs() < 0.5, h / 2, 2 * h - 0.75 * h.sign()) + 1e-22, 1)
    )
    assert found["fixed_point_state"].values[:, 0] == pytest.approx([0, -0.75, 0.75], abs=1e-9)
