"""The picture of two networks: their eigenvalues, and the distances of relabelled runs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from small_results import first_call

from dynlab.plots.compare import plot_compare
from dynlab.words import number


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
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["vanilla", "ernn"]
    plt.close("all")


def test_bars_count_all_relabellings_and_those_at_least_as_far(ds):
    ax = plot_compare(ds).figure.axes[1]
    nearer, far = ax.containers
    own = float(ds["between_runs"])
    as_far = int((ds["relabelled_distance"].values >= own * (1 - 1e-9)).sum())
    assert sum(bar.get_height() for bar in far) == as_far == round(float(ds["p_value"]) * ds.sizes["relabelling"])
    assert sum(bar.get_height() for bar in nearer) == ds.sizes["relabelling"] - as_far
    lines = {line.get_label(): line.get_xdata()[0] for line in ax.lines}
    assert lines[f"runs not exchanged: {number(own, 3)}"] == own
    within = float(ds["within_runs"][0])
    assert lines[f"two runs of vanilla: {number(within, 3)}"] == within
    plt.close("all")


def test_of_a_network_and_itself_it_is_said_and_no_histogram_of_rounding_drawn(ds):
    own = float(ds["between_runs"])
    noise = 1 + 1e-9 * np.random.default_rng(0).normal(size=ds.sizes["relabelling"])
    ax = plot_compare(ds.assign(relabelled_distance=ds["relabelled_distance"].copy(data=own * noise))).figure.axes[1]
    assert not ax.containers
    assert "the two run alike" in ax.texts[0].get_text()
    plt.close("all")
