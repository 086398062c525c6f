"""The pictures of gradients, exponents, trainings, the ERNN and two networks: norms, errors, exact zeros, bands."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import PolyCollection
from pictures import labelled, legend_words
from products import driven_by
from small_results import first_call

import dynlab as dl
from dynlab.diagnostics.ernn.manifold import random_planar_networks
from dynlab.plots import style
from dynlab.plots.ernn_convergence import NEAR, PREDICTED
from dynlab.plots.lyapunov import plot_attractor
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap
from problems import made

# Three samples that multiply both states by 1/2, 1/4 and 1/8, one of the two once more by 1/4.
SHRINKING = dl.from_function(lambda h, x: h * x * h.new_tensor([1.0, 0.25]), state_size=2, input_size=1)
SCALES = np.stack([np.full((6, 1), scale) for scale in (0.5, 0.25, 0.125)])


def gains(*values):
    """h ← h·x under inputs g: the modulus of sample s is exactly |g_s|, at every step of training the next g."""
    inputs = np.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None, None] * np.ones((5, 4, 1))
    run = {k: dl.from_function(lambda h, x, g=g: g * h * x, state_size=1, input_size=1) for k, g in enumerate(values)}
    return dl.over_training("spectrum", run, inputs, times=1)


LINES = [  # a picture, the label of one of its lines, and the line
    (lambda: dl.plot_gradient(dl.gradient(SHRINKING, SCALES)), "median of the samples", np.log(0.25) * np.r_[6:-1:-1]),
    (lambda: dl.plot_end_to_end(dl.end_to_end(SHRINKING, SCALES)), "largest σ", np.log(0.25) * np.arange(1, 7)),
    (lambda: dl.plot_end_to_end(dl.end_to_end(SHRINKING, SCALES)), "median σ", np.log(0.125) * np.arange(1, 7)),
    (lambda: dl.plot_over_training(gains(1.0, 10.0)), "median", [3.0, 30.0]),
]


@pytest.mark.parametrize("draw, label, expected", LINES)
def test_a_line_is_what_its_label_says(draw, label, expected):
    np.testing.assert_allclose(labelled(draw())[label].get_ydata(), expected, atol=1e-12)


def test_samples_that_are_exactly_0_are_told_at_the_bottom_and_take_the_median_with_them():
    """Three samples of four multiply by 0 at step 3: from any earlier time nothing is left."""
    inputs = np.full((4, 6, 1), 0.5)
    inputs[1:, 2] = 0
    drawn = labelled(dl.plot_gradient(dl.gradient(dl.from_function(lambda h, x: h * x, 1, 1), inputs)))
    assert drawn["exactly 0: 3 samples of 4"].get_marker() == "v"
    expected = [np.nan] * 3 + np.log([0.125, 0.25, 0.5, 1]).tolist()
    np.testing.assert_allclose(drawn["median of the samples"].get_ydata(), expected, atol=1e-14)


@pytest.mark.parametrize("slope", [0.5, 1 - 1e-7])
def test_the_axis_at_the_right_is_the_exponential_of_that_at_the_left(slope):
    ax = dl.plot_gradient(dl.gradient(dl.from_function(lambda h, x: slope * h, 1), np.zeros((40, 0))))
    (right,) = ax.child_axes
    low, high = ax.get_ylim()
    assert low <= -0.005 < 0.005 <= high  # what keeps its size is drawn flat
    ax.figure.canvas.draw()
    ticks = [(at, text.get_text()) for at, text in zip(right.get_yticks(), right.get_yticklabels(), strict=True)]
    ticks = [(at, text) for at, text in ticks if low <= at <= high]
    for at, text in ticks:
        power = re.fullmatch(r"\$10\^\{(.*)\}\$", text)
        told = 10.0 ** int(power[1]) if power else float(text.replace(",", "").replace("−", "-"))
        assert told == pytest.approx(np.exp(at), rel=1e-9 if power else 0.005)
    assert 3 <= len(ticks) <= 14


def assert_bars(ax, values, errors):
    (bars,) = ax.containers
    points, _, (segments,) = bars
    np.testing.assert_allclose(points.get_ydata(), values)
    np.testing.assert_allclose([np.ptp(segment[:, 1]) for segment in segments.get_segments()], 2 * errors)


def test_exponents_have_their_errors_beside_running_estimates_and_the_attractor():
    ds = dl.lyapunov(create("henon"), steps=500, initial_state=[0.1, 0.1])
    exponents, running, attractor = dl.plot_lyapunov(ds).figure.axes
    assert_bars(exponents, ds["exponent"][0], ds["exponent_error"][0])
    np.testing.assert_array_equal(attractor.lines[0].get_xydata(), ds["visited"])
    for mode in (0, 1):
        line = labelled(running)[f"$\\Lambda_{{{mode + 1}}}$"]
        np.testing.assert_allclose(line.get_ydata(), ds["running_exponent"][0, :, mode])
    cobweb = plot_attractor(dl.lyapunov(dl.EquationMap("3.7*x*(1 - x)"), steps=300, initial_state=[0.3]))
    assert (attractor.get_xlabel(), cobweb.get_xlabel()) == ("state x", "state $x_t$")
    step = labelled(cobweb)["one step"]
    np.testing.assert_allclose(step.get_ydata(), 3.7 * step.get_xdata() * (1 - step.get_xdata()))


def test_an_exponent_that_is_exactly_0_has_a_place_on_the_logarithmic_axis():
    ds = dl.lyapunov(LinearMap([[1.0, 0.0], [0.0, 0.01]]), steps=50, initial_state=[1.0, 1.0])
    ax = dl.plot_lyapunov(ds, ax=plt.subplots()[1])
    assert (ds["exponent"][0, 0], ax.get_yscale()) == (0.0, "symlog")
    points = ax.containers[0][0].get_xydata()
    np.testing.assert_allclose(points, [(1, 0.0), (2, np.log(0.01))], atol=1e-15)
    heights = ax.transAxes.inverted().transform(ax.transData.transform(points))[:, 1]
    assert 0 < heights[1] < heights[0] < 1


def test_of_several_samples_the_mean_has_its_error_and_what_is_not_drawn_is_counted():
    matrices = np.random.default_rng(1).standard_normal((2, 60, 3, 3))
    ds = driven_by(dl.lyapunov, matrices)
    assert_bars(dl.plot_lyapunov(ds, ax=plt.subplots()[1]), ds["mean_exponent"], ds["mean_exponent_error"])
    matrices[:, 30, 0] = 0
    matrices[1, 30, 1] = 0
    marks = labelled(dl.plot_lyapunov(driven_by(dl.lyapunov, matrices), ax=plt.subplots()[1]))
    assert list(marks["1 of 3: −∞ for some samples"].get_xdata()) == [2]
    assert list(marks["1 of 3: −∞, a Jacobian is singular"].get_xdata()) == [3]


def test_angles_have_their_errors_and_vectors_that_are_not_determined_are_hollow():
    ds = dl.covariant_vectors(create("henon"), steps=300, initial_state=[0.1, 0.1])
    ds["angle_error"][0, 3] = np.radians(7.0)
    ax = dl.plot_covariant_vectors(ds, ax=plt.subplots()[1])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.degrees(ds["angle"].values[0]))
    ((bar,),) = (part.get_segments() for part in ax.collections)
    middle = np.degrees(float(ds["angle"][0, 3]))
    np.testing.assert_allclose(bar[:, 1], np.clip([middle - 7, middle + 7], 0, 90))
    rates = dl.plot_covariant_vectors(dl.covariant_vectors(LinearMap([[0.5, 0.5], [-0.5, 0.5]]), steps=200))
    assert rates.figure.axes == [rates]  # without an unstable subspace no empty panel beside them
    np.testing.assert_allclose(labelled(rates)["vector not determined"].get_ydata(), np.log(np.sqrt(0.5)))


def test_over_a_training_bands_are_quartiles_and_range_and_what_is_not_finite_is_left_out():
    ax = dl.plot_over_training(gains(1.0, 10.0))
    bands = {band.get_label(): band.get_paths()[0].vertices[:, 1] for band in ax.collections}
    for name, ends in (("range of 5 values", [1, 50]), ("middle half", [2, 40])):
        np.testing.assert_allclose([bands[name].min(), bands[name].max()], ends)
    dl.plot_over_training(gains(3.0, 4.0), ax=ax, label="other", color=style.VERMILION)
    assert labelled(ax)["other"].get_color() == style.VERMILION
    run = {k: dl.from_function(lambda h, x, k=k: k * h * x, state_size=1, input_size=1) for k in (0, 1)}
    ax = dl.plot_over_training(dl.over_training("gradient", run, np.ones((2, 4, 1))))
    assert np.isnan(ax.lines[0].get_ydata()[0])  # −∞ at step 0
    assert "2 of 4 not finite: left out" in legend_words(ax)


def test_over_a_training_points_have_their_stability_attractors_their_shares_and_bifurcations_their_kinds():
    run = {k: dl.from_function(lambda h, x, g=g: torch.tanh(g * h), state_size=2) for k, g in enumerate((0.5, 2.0))}
    drawn = labelled(dl.plot_over_training(dl.over_training("fixed-points", run, starts=32)))
    assert len(drawn["stable fixed point"].get_xdata()) == len(drawn["unstable fixed point"].get_xdata()) == 5
    ax = dl.plot_over_training(dl.over_training("basins", run, grid=10, steps=400))
    corners = [each.get_paths()[0].vertices for each in ax.collections if isinstance(each, PolyCollection)]
    assert [area[:, 1].max() for area in corners] == pytest.approx([1, 1, 1, 1])  # at k = 0 the largest is all of it
    np.testing.assert_allclose([area[area[:, 0] == 1, 1].min() for area in corners], [0, 0.25, 0.5, 0.75])
    held = {k: dl.from_function(lambda h, x, w=w: torch.tanh(x * h / w), 1, 1) for k, w in enumerate((2.0, 1.95))}
    asked = {"parameter": "input[0]", "lowest": 1.9, "highest": 2.05, "values": 0, "starts": 4, "max_period": 1}
    points = labelled(dl.plot_over_training(dl.over_training("bifurcation", held, **asked)))["pitchfork"]
    np.testing.assert_allclose(points.get_xydata(), [[0, 2.0], [1, 1.95]], atol=1e-8)


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
    system, inputs, options = random_planar_networks(steps=60)
    ds = dl.ernn_manifold(system, inputs, **options)
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
