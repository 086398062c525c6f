"""The picture of the equilibrium manifold: the points on it are those of the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from dynlab.diagnostics.ernn.manifold import ernn_manifold
from dynlab.diagnostics.ernn.manifold_example import random_planar_networks
from dynlab.plots.ernn_manifold import plot_ernn_manifold
from dynlab.systems import create


@pytest.fixture(scope="module")
def ds():
    example = random_planar_networks(steps=60)
    return ernn_manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)


def drawn(ax, part):
    return next(line for line in ax.get_lines() if part in str(line.get_label())).get_xydata()


def test_the_ernn_and_its_manifold(ds):
    ax = plot_ernn_manifold(ds, ax=plt.subplots()[1])
    np.testing.assert_array_equal(drawn(ax, "equilibrium manifold"), ds["curve"].values)
    np.testing.assert_array_equal(drawn(ax, "$h_k + h_{k-1}$"), ds["pair_sum"].values[0, 0, 1:])
    np.testing.assert_array_equal(drawn(ax, "initial state"), [[-0.6, -0.8]])
    np.testing.assert_array_equal(drawn(ax, "end of that iteration"), ds["inner_path"].values[0, -1:])


def test_all_networks_side_by_side(ds):
    figure = plot_ernn_manifold(ds).figure
    titles = [" ".join(ax.get_title(loc="left").split()) for ax in figure.axes]
    assert titles[:4] == [
        "RNN",
        "FastRNN",
        "ERNN, K = 40, η = 0.6",
        "ERNN, K = 5, η = 0.01",
    ]
    states = ds["trajectory"].sel(network="rnn").values[0]
    np.testing.assert_allclose(drawn(figure.axes[0], "state h of RNN"), states)
    assert figure.axes[4].get_yscale() == "log"


def test_an_ernn_has_one_colour_in_all_panels(ds):
    figure = plot_ernn_manifold(ds).figure
    colours = [
        next(line for line in ax.get_lines() if "$h_k + h_{k-1}$" in str(line.get_label())).get_color()
        for ax in figure.axes[2:4]
    ]
    assert [line.get_color() for line in figure.axes[4].lines if len(line.get_xdata()) > 2] == colours
    assert len(set(colours)) == 2


def test_axes_name_what_is_drawn_along_them(ds):
    names = [(ax.get_xlabel(), ax.get_ylabel()) for ax in plot_ernn_manifold(ds).figure.axes[:4]]
    both = "$h_k$ or $h_k + h_{k-1}$: entry"
    assert names == [("state h₁", "state h₂")] * 2 + [(f"{both} 1", f"{both} 2")] * 2


def test_a_line_names_rounding_where_a_distance_is_near_it(ds):
    far = ds.assign(distance=ds["distance"] + 1e-3)
    for one, named in ((ds, True), (far, False)):
        ax = plot_ernn_manifold(one).figure.axes[4]
        assert ("rounding" in [text.get_text() for text in ax.texts]) == named
        assert any(set(line.get_ydata()) == {2.0**-52} for line in ax.lines) == named
        plt.close("all")


def test_every_panel_is_filled_by_its_own_network(ds):
    for ax, name in zip(plot_ernn_manifold(ds).figure.axes, ["rnn", "fastrnn"], strict=False):
        reach = max(np.abs(ds["trajectory"].sel(network=name)).max().item(), np.abs(ds["curve"]).max().item())
        np.testing.assert_allclose(ax.get_xlim(), [-1.05 * reach, 1.05 * reach])


def test_equilibria_far_away_do_not_squeeze_the_motion_and_are_counted(ds):
    alone = ds.sel(network=["ernn"]).drop_vars("curve")
    near = np.tile(alone["pair_sum"].values[0, 0, 1:2], (61, 1))
    near[:3] = 1e3
    far = alone.assign(equilibrium=(alone["equilibrium"].dims, near[None, None]))
    ax = plot_ernn_manifold(far)
    assert ax.get_xlim()[1] < 10
    assert " ".join(ax.get_title(loc="left").split()).endswith("; of 61 equilibria 3 lie outside")


def test_equilibria_at_0_are_counted_and_an_iteration_that_stays_at_the_start_is_said_to(ds):
    """They lie under each other: of a ReLU network most entries of most equilibria are 0."""
    alone = ds.sel(network=["ernn"]).drop_vars("curve")
    near = np.tile(alone["pair_sum"].values[0, 0, 1:2], (61, 1))
    near[:40] = 1e-20
    start = np.tile(alone["trajectory"].values[0, 0, 0], (*alone["inner_path"].shape[:2], 1))
    stays = alone.assign(
        equilibrium=(alone["equilibrium"].dims, near[None, None]), inner_path=(alone["inner_path"].dims, start)
    )
    ax = plot_ernn_manifold(stays)
    assert " ".join(ax.get_title(loc="left").split()).endswith("; of 61 equilibria 40 are 0 in both entries")
    labels = [str(line.get_label()) for line in ax.get_lines()]
    assert "initial state h₀; step 1 ends within this ring" in labels
    assert not any("that iteration" in label for label in labels)


def test_steps_at_which_no_equilibrium_was_found_are_marked_and_named(ds):
    gaps = ds.copy(deep=True)
    gaps["distance"].loc[{"network": "ernn", "sample": 0, "time": gaps["time"][5:9]}] = np.nan
    figure = plot_ernn_manifold(gaps).figure
    below = figure.axes[-1]
    (ticks,) = [line for line in below.lines if line.get_marker() == "|"]
    np.testing.assert_array_equal(ticks.get_xdata(), gaps["time"].values[5:9])
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert "step at which z*(x) was not found" in words


def test_a_larger_network_is_drawn_by_the_two_states_that_vary_most_and_whole():
    """Of a ReLU network the first two may never leave 0."""
    torch.manual_seed(0)
    system = create("ernn", input_size=2, state_size=6, length=30, inner_steps=2, rank=2, activation="relu")
    with torch.no_grad():
        system.W[:2] = 0
        system.b.fill_(-10)
        system.b[3], system.b[5] = 1, 2
    ds = ernn_manifold(system, np.ones((30, 2)))
    ax = plot_ernn_manifold(ds)
    spread = ds["trajectory"].values[0, 0].std(axis=0)
    first, second = np.sort(np.argsort(spread)[-2:])
    assert spread[[0, 1]].max() < spread[[first, second]].min()
    assert ax.get_xlabel() == f"$h_k$ or $h_k + h_{{k-1}}$: entry {first + 1}"
    assert ax.get_ylabel() == f"$h_k$ or $h_k + h_{{k-1}}$: entry {second + 1}"
    sums = ds["pair_sum"].values[0, 0, 1:][:, [first, second]]
    np.testing.assert_array_equal(drawn(ax, "$h_k + h_{k-1}$"), sums)
    for values, (low, high) in zip(sums.T, (ax.get_xlim(), ax.get_ylim()), strict=True):
        assert low < values.min()
        assert values.max() < high


def test_a_single_state_is_drawn_over_time():
    torch.manual_seed(0)
    system = create("ernn", input_size=2, state_size=1, length=30, inner_steps=2, rank=1)
    ds = ernn_manifold(system, np.random.default_rng(0).standard_normal((30, 2)))
    ax = plot_ernn_manifold(ds)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step k", "$h_k$ or $h_k + h_{k-1}$: entry 1")
    expected = np.stack([np.arange(1, 31), ds["pair_sum"].values[0, 0, 1:, 0]], axis=1)
    np.testing.assert_array_equal(drawn(ax, "$h_k + h_{k-1}$"), expected)


def test_where_no_equilibrium_exists_the_picture_says_so():
    """z = ReLU(z + b) has no solution for b > 0."""
    system = create("ernn", input_size=1, state_size=2, length=5, rank=1, activation="relu")
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.zero_()
        system.b.fill_(1)
        system.eta.fill_(0.1)
    ds = ernn_manifold(system, np.zeros((5, 1)))
    assert np.isnan(ds["distance"].values).all()
    texts = [text.get_text() for ax in plot_ernn_manifold(ds).figure.axes for text in ax.texts]
    assert "no equilibrium was found" in texts
