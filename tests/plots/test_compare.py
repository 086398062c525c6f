"""The picture of two networks: their eigenvalues, and the distances of relabelled runs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from pictures import overlapping
from small_results import first_call

import dynlab as dl
from dynlab.plots.compare import plot_compare
from dynlab.wording import number


@pytest.fixture(scope="module")
def ds():
    return first_call({}, "compare")[0]


def test_markers_stand_at_the_eigenvalues(ds):
    _, ax = plt.subplots()
    plot_compare(ds, ax=ax)
    drawn = [marks.get_offsets().data for marks in ax.collections]
    for network in (0, 1):
        for place, name in enumerate(("run_eigenvalue", "eigenvalue")):
            values = ds[name].values[network].ravel()
            np.testing.assert_array_equal(drawn[2 * network + place], np.stack([values.real, values.imag], axis=1))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "vanilla",
        "ernn",
        "unit circle: |μ| = 1",
        "small: of single runs",
    ]
    plt.close("all")


def distances_panel(ds):
    """The panel of the distances, its bars of all and of those at least as far, and its lines by their labels."""
    ax = plot_compare(ds).figure.axes[1]
    every, far = ax.containers
    return ax, every, far, {line.get_label(): line.get_xdata()[0] for line in ax.lines}


def test_bars_count_all_relabellings_and_those_at_least_as_far_from_the_line_on(ds):
    ax, every, far, lines = distances_panel(ds)
    own = float(ds["between_runs"])
    assert sum(bar.get_height() for bar in every) == ds.sizes["relabelling"]
    as_far = int((ds["relabelled_distance"].values >= own * (1 - 1e-9)).sum())
    assert sum(bar.get_height() for bar in far) == as_far == round(float(ds["p_value"]) * ds.sizes["relabelling"])
    filled = [bar.get_x() for bar in far if bar.get_height()]
    widths = [bar.get_width() for bar in far]
    distances = ds["relabelled_distance"].values
    assert distances[distances < own * (1 - 1e-9)].max() < min(filled) < own < min(filled) + max(widths)
    assert lines[f"without an exchange: {number(own, 3)}"] == own
    low, high = ax.get_xlim()
    assert low < ds["relabelled_distance"].values.min() < ds["relabelled_distance"].values.max() < high
    plt.close("all")


@pytest.mark.parametrize("spread", [1.0, 0.01])
@pytest.mark.parametrize("factor, arrow", [(0.1, "← {}"), (1.0, ""), (10.0, "{} →")])
def test_the_distance_within_a_network_is_a_line_or_an_arrow_to_it(ds, factor, arrow, spread):
    own = float(ds["between_runs"])
    distances = own + spread * (ds["relabelled_distance"] - own)
    if factor < 1 and spread == 1:  # then it is as near to the bars as they reach
        arrow = ""
    within = ds["within_runs"].copy(data=[factor * own] * 2)
    ax, _, _, lines = distances_panel(ds.assign(within_runs=within, relabelled_distance=distances))
    words = f"two runs of vanilla: {number(float(within[0]), 3)}"
    assert (lines.get(words) == float(within[0])) == (not arrow)
    assert (arrow.format(words) in [text.get_text() for text in ax.texts]) == bool(arrow)
    assert overlapping(ax.figure) == []
    plt.close("all")


def test_eigenvalues_that_lie_in_a_strip_have_a_window_as_narrow(ds):
    strip = ds.assign(
        {name: 1 + 1e-3 * ds[name].real + 0.2j * ds[name].imag for name in ("eigenvalue", "run_eigenvalue")}
    )
    _, ax = plt.subplots()
    plot_compare(strip, ax=ax)
    points = np.concatenate([marks.get_offsets().data for marks in ax.collections])
    for ends, places in zip((ax.get_xlim(), ax.get_ylim()), points.T, strict=True):
        assert ends[0] < places.min() <= places.max() < ends[1]
    assert np.ptp(ax.get_xlim()) < 0.1 * np.ptp(ax.get_ylim())
    plt.close("all")


def test_a_network_compared_with_itself_is_drawn():
    """All distances are equal up to rounding: there is nothing to make 12 bins of."""
    torch.manual_seed(0)
    system = dl.from_module(torch.nn.LSTM(2, 8))
    inputs = np.random.default_rng(0).standard_normal((8, 100, 2))
    plot_compare(dl.compare(system, system, inputs)).figure.draw_without_rendering()
