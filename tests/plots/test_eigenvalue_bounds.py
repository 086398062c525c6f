import numpy as np
import pytest

import dynlab as dl
from dynlab.plots.eigenvalue_bounds import LOOK


def test_a_number_stands_as_far_from_the_bound_as_its_margin_says():
    """|λ| = |x_t| between 0.5 and 3, the bound at 2: 1 outside, 1.5 inside, and 1.5 is the row's whole scale."""
    system = dl.from_function(lambda h, x: h * x, state_size=1, input_size=1)
    inputs = np.full((9, 1), 0.5)
    inputs[4] = 3.0
    ds = dl.eigenvalue_bounds(system, inputs, max_modulus=2.0)
    ax = dl.plot_eigenvalue_bounds(ds)
    whole = next(line for line in ax.lines if line.get_label() == "all that was measured")
    np.testing.assert_allclose(whole.get_xdata(), [-1.0, 2 / 3])
    (bar,) = ax.containers
    assert bar.get_label() == "violated"
    assert bar.lines[0].get_xdata()[0] == pytest.approx(2 / 3)


def test_the_inside_of_a_lower_bound_is_to_the_left_too():
    half = dl.from_function(lambda h, x: h / 2, state_size=1)
    ds = dl.eigenvalue_bounds(half, np.zeros((5, 0)), min_log_gradient=-20.0, max_log_gradient=-1.0)
    ax = dl.plot_eigenvalue_bounds(ds)
    assert [float(bar.lines[0].get_xdata()[0]) for bar in ax.containers] == pytest.approx([-1.0, -1.0])


def test_every_outcome_has_its_own_mark():
    assert len({mark for _, mark in LOOK.values()}) == len(LOOK) == 4
