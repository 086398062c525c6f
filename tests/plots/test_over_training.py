"""Bands over a training are the samples' quantiles; shares add up to 1; points stand by their kind."""

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.collections import PolyCollection

import dynlab as dl
from dynlab.plots import style
from dynlab.systems import create


def gains(*values):
    """h ← h·x under inputs g: the modulus of sample s is exactly |g_s|, at every step of training the next g."""
    inputs = np.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None, None] * np.ones((5, 4, 1))
    run = {k: dl.from_function(lambda h, x, g=g: g * h * x, state_size=1, input_size=1) for k, g in enumerate(values)}
    return dl.over_training("spectrum", run, inputs, times=1)


def test_median_quartiles_and_range_are_those_of_the_samples():
    ax = dl.plot_over_training(gains(1.0, 10.0))
    line, border = ax.lines
    np.testing.assert_allclose(line.get_ydata(), [3.0, 30.0])
    assert (border.get_label(), set(border.get_ydata())) == ("modulus 1", {1.0})
    bands = {band.get_label(): band.get_paths()[0].vertices[:, 1] for band in ax.collections}
    np.testing.assert_allclose([bands["range of 5 values"].min(), bands["range of 5 values"].max()], [1, 50])
    np.testing.assert_allclose([bands["middle half"].min(), bands["middle half"].max()], [2, 40])


def test_two_runs_on_the_same_axes_keep_their_names_and_colours():
    _, ax = plt.subplots()
    dl.plot_over_training(gains(1.0, 2.0), ax=ax, label="one", color=style.BLUE)
    dl.plot_over_training(gains(3.0, 4.0), ax=ax, label="other", color=style.VERMILION)
    assert [line.get_label() for line in ax.lines] == ["one: median", "modulus 1", "other: median"]
    assert [line.get_color() for line in ax.lines] == [style.BLUE, style.BLACK, style.VERMILION]


def test_what_is_not_finite_is_counted_and_left_out():
    ds = dl.over_training(
        "gradient",
        {k: dl.from_function(lambda h, x, k=k: k * h * x, state_size=1, input_size=1) for k in (0, 1)},
        np.ones((2, 4, 1)),
    )
    ax = dl.plot_over_training(ds)
    assert np.isnan(ax.lines[0].get_ydata()[0])  # −∞ at step 0
    assert "2 of 4 not finite: left out" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_fixed_points_are_drawn_by_their_stability():
    run = {k: dl.from_function(lambda h, x, g=g: torch.tanh(g * h), state_size=1) for k, g in enumerate((0.5, 2.0))}
    ax = dl.plot_over_training(dl.over_training("fixed-points", run, starts=32))
    drawn = {line.get_label(): len(line.get_xdata()) for line in ax.lines}
    assert drawn["stable fixed point"] == 3
    assert drawn["unstable fixed point"] == 1


def named(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_shares_of_attractors_are_stacked_to_one():
    run = {k: dl.from_function(lambda h, x, g=g: torch.tanh(g * h), state_size=2) for k, g in enumerate((0.5, 2.0))}
    ax = dl.plot_over_training(dl.over_training("basins", run, grid=10, steps=400))
    areas = [each for each in ax.collections if isinstance(each, PolyCollection)]
    tops = [max(path.vertices[:, 1]) for area in areas for path in area.get_paths()]
    np.testing.assert_allclose(sorted(tops), [1, 1, 1, 1])  # at k = 0 the largest is all of it, at 1 a quarter
    bottoms = [area.get_paths()[0].vertices[area.get_paths()[0].vertices[:, 0] == 1, 1].min() for area in areas]
    np.testing.assert_allclose(bottoms, [0, 0.25, 0.5, 0.75])
    assert named(ax) == ["stable fixed point"]
    assert "basin entropy on borders, 2 of 2 not finite: left out" in named(ax.figure.axes[1])


def test_bifurcations_by_their_kind_and_where_the_network_is():
    systems = {}
    for k, weight in enumerate((0.5, 0.8)):
        systems[k] = create("vanilla", input_size=1, state_size=1).double().requires_grad_(False)
        systems[k].W.fill_(weight)
        systems[k].b.fill_(0.0)
    ds = dl.over_training("bifurcation", systems, parameter="W*", lowest=0.5, highest=3.0, values=0, starts=4)
    ax = dl.plot_over_training(ds)
    points, border = ax.lines
    assert points.get_label() == "pitchfork"
    np.testing.assert_array_equal(points.get_xdata(), [0, 1])
    np.testing.assert_allclose(points.get_ydata(), [2.0, 1.25], atol=1e-8)
    assert border.get_label() == "as trained"
    assert ax.get_ylim() == (0.5, 3.0)
