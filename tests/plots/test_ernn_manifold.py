"""The picture of the equilibrium manifold: the points on it are those of the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from dynlab.diagnostics.ernn.manifold import ernn_manifold
from dynlab.diagnostics.ernn.manifold_example import random_planar_networks
from dynlab.plots.ernn_manifold import plot_ernn_manifold
from dynlab.systems import create

SUM = "$h_k + h_{k-1}$"


@pytest.fixture(scope="module")
def ds():
    example = random_planar_networks(steps=60)
    return ernn_manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)


def drawn(ax, part):
    return next(line for line in ax.get_lines() if part in str(line.get_label())).get_xydata()


def test_the_ernn_and_its_manifold(ds):
    ax = plot_ernn_manifold(ds, ax=plt.subplots()[1])
    np.testing.assert_array_equal(drawn(ax, "equilibrium manifold"), ds["curve"].values)
    np.testing.assert_array_equal(drawn(ax, SUM), ds["pair_sum"].values[0, 0, 1:])
    np.testing.assert_array_equal(drawn(ax, "initial state"), [[-0.6, -0.8]])
    np.testing.assert_array_equal(drawn(ax, "end of that iteration"), ds["inner_path"].values[0, -1:])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("h₁", "h₂")
    plt.close("all")


@pytest.mark.parametrize("size", [1, 6])
def test_a_larger_network_is_drawn_by_the_two_states_that_vary_most_and_one_state_over_time(size):
    """Of a ReLU network the first two may never leave 0."""
    torch.manual_seed(0)
    system = create("ernn", input_size=2, state_size=size, length=30, inner_steps=2, rank=1, activation="relu")
    if size > 1:
        with torch.no_grad():
            system.W[:2] = 0
            system.b.fill_(-10)
            system.b[3], system.b[5] = 1, 2
    ds = ernn_manifold(system, np.ones((30, 2)))
    ax = plot_ernn_manifold(ds)
    chosen = np.sort(np.argsort(ds["trajectory"].values[0, 0].std(axis=0))[-2:])
    sums = ds["pair_sum"].values[0, 0, 1:][:, chosen]
    np.testing.assert_array_equal(drawn(ax, SUM)[:, -sums.shape[1] :], sums)
    assert not set(chosen) & {0, 1} or size == 1
    plt.close("all")
