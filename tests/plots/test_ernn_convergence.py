"""The picture of convergence: its lines are the Dataset's distances, its dashed line has the predicted slope."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from dynlab.diagnostics.ernn.convergence import ernn_convergence
from dynlab.plots import style
from dynlab.plots.ernn_convergence import NEAR, PREDICTED, plot_ernn_convergence
from dynlab.systems import create


def measured(activation, seed=0, sequences=1, **settings):
    torch.manual_seed(seed)
    system = create("ernn", input_size=1, state_size=6, length=8, activation=activation, **settings)
    inputs = np.random.default_rng(0).standard_normal((sequences, 8, 1))
    return ernn_convergence(system, inputs, eta=0.5, iterations=30, times=2)


@pytest.mark.parametrize("settled, begins, colour", [(1, PREDICTED, style.BLACK), (0, NEAR, style.GREY)])
def test_lines_are_distances_and_the_dashed_one_is_the_prediction(settled, begins, colour):
    ds = measured("tanh", rank=None)
    assert (ds["outcome"].values == "converges").all()
    ds["settled"].values[:] = settled
    ax = plot_ernn_convergence(ds)
    *drawn, prediction = ax.lines
    np.testing.assert_array_equal([line.get_ydata() for line in drawn], ds["distance"].values[0])
    rate = np.median(ds["predicted_rate"].values)
    np.testing.assert_allclose(np.diff(np.log(prediction.get_ydata())), np.log(rate), rtol=1e-9)
    assert prediction.get_label() == f"{begins}: {rate:.4f} per iteration (median)"
    assert prediction.get_color() == colour
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == ds["distance"].attrs["long_name"]
    assert "2 steps: converges" in [text.get_text() for text in ax.get_legend().get_texts()]
    plt.close("all")
