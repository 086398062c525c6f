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
    assert {text.get_text(): text.xy[0] for text in ax.texts if hasattr(text, "xy")} == pytest.approx(
        {"0.5": -1.0, "3": 2 / 3, "bound 2": 0.0}
    )
    said = {label.get_text(): float(place) for place, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)}
    assert said["2"] == 0  # the bound
    assert len(said) > 2
    assert said == pytest.approx({words: (float(words) - 2) / 1.5 for words in said})


def test_the_inside_of_a_lower_bound_is_to_the_left_too():
    half = dl.from_function(lambda h, x: h / 2, state_size=1)
    ds = dl.eigenvalue_bounds(half, np.zeros((5, 0)), min_log_gradient=-20.0, max_log_gradient=-1.0)
    ax = dl.plot_eigenvalue_bounds(ds)
    assert [float(bar.lines[0].get_xdata()[0]) for bar in ax.containers] == pytest.approx([-1.0, -1.0])


@pytest.mark.parametrize("limit, side", [(1.5001, "right"), (1.4999, "left")])
def test_a_number_next_to_the_bound_stands_on_its_own_side_of_the_line(limit, side):
    system = dl.from_function(lambda h, x: h * x, state_size=1, input_size=1)
    ax = dl.plot_eigenvalue_bounds(dl.eigenvalue_bounds(system, np.linspace(0.5, 1.5, 9)[:, None], max_modulus=limit))
    (number,) = [text for text in ax.texts if text.get_text() == "1.5"]
    assert number.get_ha() == side
    ax.figure.canvas.draw()
    line = ax.transData.transform((0, 0))[0]
    box = number.get_window_extent()
    assert box.x1 < line if side == "right" else box.x0 > line


def test_the_numbers_of_many_rows_stand_at_their_bars_alone():
    half = dl.from_function(lambda h, x: h / 2, state_size=1)
    ds = dl.eigenvalue_bounds(half, np.zeros((5, 0)), min_log_gradient=-20.0, max_log_gradient=-1.0)
    assert [label.get_text() for label in dl.plot_eigenvalue_bounds(ds).get_xticklabels()] == ["bound"]


def test_every_outcome_has_its_own_mark():
    assert len({mark for _, mark in LOOK.values()}) == len(LOOK) == 4


def test_what_is_known_only_from_above_is_drawn_as_an_arrow():
    ds = dl.eigenvalue_bounds(dl.from_function(lambda h, x: h / 2, state_size=1), np.zeros((5, 0)), max_modulus=0.9)
    assert ds["only_above"].values.tolist() == [0]
    shapes = [
        {line.get_marker() for line in dl.plot_eigenvalue_bounds(ds.assign(only_above=("bound", [only]))).lines}
        for only in (0, 1)
    ]
    assert "<" not in shapes[0]
    assert "<" in shapes[1]
