import matplotlib.pyplot as plt
import numpy as np
import torch

import dynlab as dl
from dynlab.plots import style


def gains(*values):
    """h ← h·x under inputs g: the modulus of sample s is exactly |g_s|, at every step of training the next g."""
    inputs = np.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None, None] * np.ones((5, 4, 1))
    run = {k: dl.from_function(lambda h, x, g=g: g * h * x, state_size=1, input_size=1) for k, g in enumerate(values)}
    return dl.over_training("spectrum", run, inputs, times=1)


def test_median_quartiles_and_range_are_those_of_the_samples():
    ax = dl.plot_over_training(gains(1.0, 10.0))
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata(), [3.0, 30.0])
    bands = {band.get_label(): band.get_paths()[0].vertices[:, 1] for band in ax.collections}
    np.testing.assert_allclose([bands["range of 5 values"].min(), bands["range of 5 values"].max()], [1, 50])
    np.testing.assert_allclose([bands["middle half"].min(), bands["middle half"].max()], [2, 40])


def test_two_runs_on_the_same_axes_keep_their_names_and_colours():
    _, ax = plt.subplots()
    dl.plot_over_training(gains(1.0, 2.0), ax=ax, label="one", color=style.BLUE)
    dl.plot_over_training(gains(3.0, 4.0), ax=ax, label="other", color=style.VERMILION)
    assert [line.get_label() for line in ax.lines] == ["one: median", "other: median"]
    assert [line.get_color() for line in ax.lines] == [style.BLUE, style.VERMILION]


def test_another_variable_can_be_drawn():
    ax = dl.plot_over_training(gains(1.0, 10.0), variable="condition")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1.0, 1.0])
    assert ax.get_ylabel() == "condition of the eigenvalue"


def test_what_is_not_finite_is_counted_and_left_out():
    ds = dl.over_training(
        "gradient",
        {k: dl.from_function(lambda h, x, k=k: k * h * x, state_size=1, input_size=1) for k in (0, 1)},
        np.ones((2, 4, 1)),
    )
    ax = dl.plot_over_training(ds)
    assert np.isnan(ax.lines[0].get_ydata()[0])  # −∞ at step 0
    assert "2 of 4 not finite, left out" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_fixed_points_are_drawn_by_their_stability():
    run = {k: dl.from_function(lambda h, x, g=g: torch.tanh(g * h), state_size=1) for k, g in enumerate((0.5, 2.0))}
    ax = dl.plot_over_training(dl.over_training("fixed-points", run, starts=32))
    drawn = {line.get_label(): len(line.get_xdata()) for line in ax.lines}
    assert drawn["stable fixed point"] == 3
    assert drawn["unstable fixed point"] == 1
