"""The pictures of the ERNN and of two networks: distances, manifolds, eigenvalues and relabelled runs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from pictures import labelled
from small_results import first_call

import dynlab as dl
from dynlab.diagnostics.ernn.manifold import random_planar_networks
from dynlab.plots.ernn_convergence import NEAR, PREDICTED
from problems import made


@pytest.mark.parametrize("settled, begins", [(1, PREDICTED), (0, NEAR)])
def test_lines_are_distances_and_the_dashed_one_is_the_prediction(settled, begins):
    system = made("ernn", input_size=1, state_size=6, length=8, activation="tanh", rank=None)
    inputs = np.random.default_rng(0).standard_normal((1, 8, 1))
    ds = dl.ernn_convergence(system, inputs, eta=0.5, iterations=30, times=2)
    ds["settled"].values[:] = settled
    *drawn, prediction = dl.plot_ernn_convergence(ds).lines
    np.testing.assert_array_equal([line.get_ydata() for line in drawn], ds["distance"].values[0])
    rate = np.median(ds["predicted_rate"].values)
    np.testing.assert_allclose(np.diff(np.log(prediction.get_ydata())), np.log(rate), rtol=1e-9)
    assert prediction.get_label() == f"{begins}: {rate:.4f} per iteration (median)"


def test_the_ernn_and_its_manifold():
    example = random_planar_networks(steps=60)
    ds = dl.ernn_manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)
    drawn = labelled(dl.plot_ernn_manifold(ds, ax=plt.subplots()[1]))
    shown = {"equilibrium manifold": ds["curve"].values, "$h_k + h_{k-1}$": ds["pair_sum"].values[0, 0, 1:]}
    for part, expected in shown.items():
        line = next(line for name, line in drawn.items() if part in name)
        np.testing.assert_array_equal(line.get_xydata(), expected)


def test_two_networks_have_markers_at_their_eigenvalues_and_bars_that_count_relabellings():
    ds = first_call({}, "compare")[0]
    plane, bars = dl.plot_compare(ds).figure.axes
    values = [ds[name].values[network].ravel() for network in (0, 1) for name in ("run_eigenvalue", "eigenvalue")]
    for marks, expected in zip(plane.collections, values, strict=True):
        np.testing.assert_array_equal(marks.get_offsets().data @ [1, 1j], expected)
    nearer, far = bars.containers
    as_far = int((ds["relabelled_distance"].values >= float(ds["between_runs"]) * (1 - 1e-9)).sum())
    assert sum(bar.get_height() for bar in far) == as_far == round(float(ds["p_value"]) * ds.sizes["relabelling"])
    assert sum(bar.get_height() for bar in nearer) == ds.sizes["relabelling"] - as_far
