"""The picture of the equilibrium manifold: the points on it are those of the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab.diagnostics.inner.manifold_example import random_planar_networks
from dynlab.diagnostics.manifold import manifold
from dynlab.plots.manifold import plot_manifold


@pytest.fixture(scope="module")
def ds():
    example = random_planar_networks(steps=60)
    return manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(ax, part):
    return next(line for line in ax.get_lines() if part in str(line.get_label())).get_xydata()


def test_the_ernn_and_its_manifold(ds):
    ax = plot_manifold(ds, ax=plt.subplots()[1])
    np.testing.assert_array_equal(drawn(ax, "equilibrium manifold"), ds["curve"].values)
    np.testing.assert_array_equal(drawn(ax, "on it at equilibrium"), ds["pair_sum"].values[0, 0, 1:])
    np.testing.assert_array_equal(drawn(ax, "initial state"), [[-0.6, -0.8]])
    np.testing.assert_array_equal(drawn(ax, "where that ends"), ds["inner_path"].values[0, -1:])


def test_all_networks_side_by_side_and_the_rnn_scaled(ds):
    figure = plot_manifold(ds).figure
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    scale = ds["scale"].sel(network="rnn").item()
    assert titles[:4] == [
        f"RNN (states scaled by {scale:.2f})",
        "FastRNN",
        "ERNN, K = 40, η = 0.6",
        "ERNN, K = 5, η = 0.01",
    ]
    states = ds["trajectory"].sel(network="rnn").values[0]
    np.testing.assert_allclose(drawn(figure.axes[0], "state h of RNN"), scale * states)
    assert figure.axes[4].get_yscale() == "log"
