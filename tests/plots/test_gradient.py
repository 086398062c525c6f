"""The pictures of gradients show the Dataset's norms, what is exactly 0 in words, and factors at the right."""

import re

import numpy as np
import pytest

from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.gradient import gradient
from dynlab.plots.gradient import FLOOR, STATE, plot_end_to_end, plot_gradient
from dynlab.systems import from_function


@pytest.fixture
def shrinking():
    """Three samples that multiply both states by 1/2, 1/4 and 1/8, one of the two once more by 1/4."""
    system = from_function(lambda h, x: h * x * h.new_tensor([1.0, 0.25]), state_size=2, input_size=1)
    return system, np.stack([np.full((6, 1), scale) for scale in (0.5, 0.25, 0.125)])


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_the_gradient_falls_back_from_the_last_step(shrinking):
    ax = plot_gradient(gradient(*shrinking))
    median = lines(ax)["median of the samples"]
    assert median.get_xdata() == pytest.approx(np.arange(7))
    assert median.get_ydata() == pytest.approx(np.log(0.25) * np.arange(6, -1, -1))
    assert ax.get_ylabel() == STATE
    assert "T = 6" in ax.get_title() + ax.get_title(loc="left")


def test_samples_that_are_exactly_0_are_told_at_the_bottom_and_take_the_median_with_them():
    """Three samples of four multiply by 0 at step 3: from any earlier time nothing is left."""
    system = from_function(lambda h, x: h * x, state_size=1, input_size=1)
    inputs = np.full((4, 6, 1), 0.5)
    inputs[1:, 2] = 0
    ax = plot_gradient(gradient(system, inputs))
    drawn = lines(ax)
    (mark,) = [line for line in ax.lines if line.get_marker() == "v" and len(line.get_xdata())]
    assert mark.get_xdata().tolist() == [0, 1, 2]
    assert "0: 3 samples of 4" in [text.get_text() for text in ax.texts]
    assert "exactly 0: 3 samples of 4" in drawn
    median = drawn["median of the samples"].get_ydata()
    assert np.isnan(median[:3]).all()
    assert median[3:] == pytest.approx(np.log(0.5) * np.arange(3, -1, -1))


def test_singular_values_of_the_growing_product(shrinking):
    ax = plot_end_to_end(end_to_end(*shrinking))
    drawn = lines(ax)
    assert drawn["largest σ"].get_ydata() == pytest.approx(np.log(0.25) * np.arange(1, 7))
    assert drawn["median σ"].get_ydata() == pytest.approx(np.log(0.125) * np.arange(1, 7))
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(6 * np.log(0.0625))


@pytest.mark.parametrize(
    "slopes, said",
    [
        ((0.9, 0.5, 0.4), ""),
        ((0.9, 0.5, 1e-4), "the smallest σ at $e^{−276}$"),  # 30 ln 1e-4 = −276.3
        ((1e-4, 1e-5, 1e-6), ""),
    ],
)
def test_the_axis_ends_where_sizes_are_rounding_and_what_lies_below_is_said(slopes, said):
    system = from_function(lambda h, x: h * h.new_tensor(slopes), state_size=3)
    ax = plot_end_to_end(end_to_end(system, np.zeros((1, 30, 0))))
    bottom, largest = ax.get_ylim()[0], 30 * np.log(slopes[0])
    assert bottom < largest
    assert [text.get_text() for text in ax.texts] == [f"↓ cut off: {said}"] * bool(said)
    if said:
        assert 2 * FLOOR < bottom < FLOOR
    else:
        assert bottom < 30 * np.log(slopes[-1])


@pytest.mark.parametrize("slope", [0.5, 1 - 1e-7])
def test_the_axis_at_the_right_is_the_exponential_of_that_at_the_left(slope):
    ds = gradient(from_function(lambda h, x: slope * h, 1), np.zeros((40, 0)))
    ax = plot_gradient(ds)
    (right,) = ax.child_axes
    low, high = ax.get_ylim()
    assert low <= -0.005 < 0.005 <= high  # what keeps its size is drawn flat
    ax.figure.canvas.draw()
    texts = {at: text.get_text() for at, text in zip(right.get_yticks(), right.get_yticklabels(), strict=True)}
    texts = {at: text for at, text in texts.items() if low <= at <= high}
    for at, text in texts.items():
        power = re.fullmatch(r"\$10\^\{(.*)\}\$", text)
        told = 10.0 ** int(power[1]) if power else float(text.replace(",", "").replace("−", "-"))
        assert told == pytest.approx(np.exp(at), rel=1e-9 if power else 0.005)
    assert 3 <= len(texts) <= 14
