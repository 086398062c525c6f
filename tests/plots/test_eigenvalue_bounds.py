"""Bounds: a number stands as far from its bound as its margin says, the inside always to the left."""

import numpy as np
import pytest

import dynlab as dl
from dynlab.plots.eigenvalue_bounds import LOOK


def test_a_number_stands_as_far_from_the_bound_as_its_margin_says():
    """|λ| = |x_t| between 0.5 and 3, the bound at 2: 1 outside, 1.5 inside, and 1.5 is the row's whole scale."""
    system = dl.from_function(lambda h, x: h * x, state_size=1, input_size=1)
    inputs = np.full((9, 1), 0.5)
    inputs[4] = 3.0
    ax = dl.plot_eigenvalue_bounds(dl.eigenvalue_bounds(system, inputs, max_modulus=2.0))
    whole = next(line for line in ax.lines if line.get_label() == "all that was measured")
    np.testing.assert_allclose(whole.get_xdata(), [-1.0, 2 / 3])
    (bar,) = ax.containers
    assert bar.get_label() == "violated"
    assert bar.lines[0].get_xdata()[0] == pytest.approx(2 / 3)
    assert {text.get_text(): text.xy[0] for text in ax.texts if hasattr(text, "xy")} == pytest.approx(
        {"0.5": -1.0, "3": 2 / 3}
    )


def test_every_outcome_has_its_own_mark_and_what_is_known_only_from_above_is_an_arrow():
    assert len({mark for _, mark in LOOK.values()}) == len(LOOK) == 4
    ds = dl.eigenvalue_bounds(dl.from_function(lambda h, x: h / 2, state_size=1), np.zeros((5, 0)), max_modulus=0.9)
    shapes = [
        {line.get_marker() for line in dl.plot_eigenvalue_bounds(ds.assign(only_above=("bound", [only]))).lines}
        for only in (0, 1)
    ]
    assert ["<" in each for each in shapes] == [False, True]
