"""The picture of two networks: their eigenvalues, and the distances of relabelled runs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from small_results import first_call

import dynlab as dl
from dynlab.plots.compare import plot_compare


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
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["vanilla", "ernn", "small: of single runs"]
    plt.close("all")


def test_bars_count_all_relabellings_and_lines_stand_at_the_distances(ds):
    ax = plot_compare(ds).figure.axes[1]
    assert sum(bar.get_height() for bar in ax.patches) == ds.sizes["relabelling"]
    lines = [line.get_xdata()[0] for line in ax.lines]
    np.testing.assert_allclose(lines, [float(ds["between_runs"]), *ds["within_runs"].values])
    plt.close("all")


def test_a_network_compared_with_itself_is_drawn():
    """All distances are equal up to rounding: there is nothing to make 12 bins of."""
    torch.manual_seed(0)
    system = dl.from_module(torch.nn.LSTM(2, 8))
    inputs = np.random.default_rng(0).standard_normal((8, 100, 2))
    plot_compare(dl.compare(system, system, inputs)).figure.draw_without_rendering()
