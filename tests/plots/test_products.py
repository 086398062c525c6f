"""The pictures of gradients, exponents, energies and trainings: norms with errors, what is exactly 0, bands."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import PolyCollection
from pictures import labelled, legend_words
from products import driven_by

import dynlab as dl
from dynlab.matrices import planar_matrix
from dynlab.plots import style
from dynlab.plots.lyapunov import plot_attractor
from dynlab.systems import create
from dynlab.systems.planar import planar_system
from dynlab.systems.textbook import LinearMap

# Three samples that multiply both states by 1/2, 1/4 and 1/8, one of the two once more by 1/4.
SHRINKING = dl.from_function(lambda h, x: h * x * h.new_tensor([1.0, 0.25]), state_size=2, input_size=1)
SCALES = np.stack([np.full((6, 1), scale) for scale in (0.5, 0.25, 0.125)])


def test_the_gradient_falls_back_from_the_last_step():
    median = labelled(dl.plot_gradient(dl.gradient(SHRINKING, SCALES)))["median of the samples"]
    assert median.get_xdata() == pytest.approx(np.arange(7))
    assert median.get_ydata() == pytest.approx(np.log(0.25) * np.arange(6, -1, -1))


def test_samples_that_are_exactly_0_are_told_at_the_bottom_and_take_the_median_with_them():
    """Three samples of four multiply by 0 at step 3: from any earlier time nothing is left."""
    inputs = np.full((4, 6, 1), 0.5)
    inputs[1:, 2] = 0
    drawn = labelled(dl.plot_gradient(dl.gradient(dl.from_function(lambda h, x: h * x, 1, 1), inputs)))
    assert drawn["exactly 0: 3 samples of 4"].get_marker() == "v"
    median = drawn["median of the samples"].get_ydata()
    assert median == pytest.approx(
        np.log([0, 0, 0, 0.125, 0.25, 0.5, 1], where=np.arange(7) > 2, out=np.full(7, np.nan)), nan_ok=True
    )


def test_singular_values_of_the_growing_product():
    ax = dl.plot_end_to_end(dl.end_to_end(SHRINKING, SCALES))
    assert labelled(ax)["largest σ"].get_ydata() == pytest.approx(np.log(0.25) * np.arange(1, 7))
    assert labelled(ax)["median σ"].get_ydata() == pytest.approx(np.log(0.125) * np.arange(1, 7))
    assert ax.collections[0].get_paths()[0].vertices[:, 1].min() == pytest.approx(6 * np.log(0.0625))


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


def test_one_samples_exponents_with_errors_running_estimates_and_its_attractor():
    ds = dl.lyapunov(create("henon"), steps=500, initial_state=[0.1, 0.1])
    exponents, running, attractor = dl.plot_lyapunov(ds).figure.axes
    assert_bars(exponents, ds["exponent"][0], ds["exponent_error"][0])
    np.testing.assert_array_equal(attractor.lines[0].get_xydata(), ds["visited"])
    for mode in (0, 1):
        line = labelled(running)[f"$\\Lambda_{{{mode + 1}}}$"]
        np.testing.assert_allclose(line.get_ydata(), ds["running_exponent"][0, :, mode])
        np.testing.assert_array_equal(line.get_xdata(), ds["time"])


def test_of_several_samples_the_mean_with_its_error_and_each():
    ds = driven_by(dl.lyapunov, np.random.default_rng(0).standard_normal((4, 60, 3, 3)))
    ax = dl.plot_lyapunov(ds, ax=plt.subplots()[1])
    values = ds["finite_time_exponent"].values
    assert_bars(ax, values.mean(axis=0), ds["mean_exponent_error"])
    each = [line.get_ydata() for line in ax.lines if line.get_marker() == "."]
    np.testing.assert_allclose([y for y in each if len(y)], values)


def test_exponents_that_are_not_drawn_are_counted():
    matrices = np.random.default_rng(1).standard_normal((2, 60, 3, 3))
    matrices[:, 30, 0] = 0
    matrices[1, 30, 1] = 0
    marks = labelled(dl.plot_lyapunov(driven_by(dl.lyapunov, matrices), ax=plt.subplots()[1]))
    assert list(marks["1 of 3: −∞ for some samples"].get_xdata()) == [2]
    assert list(marks["1 of 3: −∞, a Jacobian is singular"].get_xdata()) == [3]


def test_a_map_of_one_state_has_a_cobweb_of_its_steps():
    ds = dl.lyapunov(create("logistic", r=3.7), steps=300, initial_state=[0.3])
    step = labelled(plot_attractor(ds, ax=plt.subplots()[1]))["one step"]
    np.testing.assert_allclose(step.get_ydata(), 3.7 * step.get_xdata() * (1 - step.get_xdata()))


def test_angles_have_their_errors_and_a_star_the_smallest():
    ds = dl.covariant_vectors(create("henon"), steps=300, initial_state=[0.1, 0.1])
    ds["angle_error"][0, 3] = np.radians(7.0)
    ax = dl.plot_covariant_vectors(ds, ax=plt.subplots()[1])
    dots, star = ax.lines
    np.testing.assert_allclose(dots.get_ydata(), np.degrees(ds["angle"].values[0]))
    np.testing.assert_allclose(star.get_ydata(), np.degrees(ds["angle"].values.min()))
    ((bar,),) = (part.get_segments() for part in ax.collections)
    middle = np.degrees(float(ds["angle"][0, 3]))
    np.testing.assert_allclose(bar[:, 1], np.clip([middle - 7, middle + 7], 0, 90))


def test_vectors_that_are_determined_nowhere_or_in_some_samples_are_hollow_or_half_filled():
    rates = dl.plot_covariant_vectors(dl.covariant_vectors(LinearMap([[0.5, 0.5], [-0.5, 0.5]]), steps=200))
    assert rates.figure.axes == [rates]  # without an unstable subspace no empty panel beside them
    hollow = labelled(rates)["vector not determined"]
    assert hollow.get_markeredgecolor() == style.GREY
    np.testing.assert_allclose(hollow.get_ydata(), np.log(np.sqrt(0.5)))
    starts = [[0.1, 0.1], [0.2, 0.1]]
    ds = dl.covariant_vectors(LinearMap([[0.9, 0.0], [0.0, 0.3]]), steps=200, initial_state=starts)
    ds["determined"][1, 1] = 0
    lines = labelled(dl.plot_covariant_vectors(ds))
    assert lines["determined in 2 samples"].get_xdata().tolist() == [1]
    assert lines["in some samples"].get_fillstyle() == "left"
    assert lines["in some samples"].get_xdata().tolist() == [2]


def test_the_drift_is_the_error_of_the_integrators_energy():
    ds = dl.energy(planar_system(planar_matrix("minus")), initial_state=[0.5, -0.5], steps=200, integrators=["euler"])
    drift = labelled(dl.plot_energy(ds).figure.axes[1])["Euler"].get_ydata()
    error = np.abs(ds["energy"].values - ds["exact_energy"].values)[0, 0]
    np.testing.assert_allclose(drift[np.isfinite(drift)], error[np.isfinite(drift)])


def gains(*values):
    """h ← h·x under inputs g: the modulus of sample s is exactly |g_s|, at every step of training the next g."""
    inputs = np.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None, None] * np.ones((5, 4, 1))
    run = {k: dl.from_function(lambda h, x, g=g: g * h * x, state_size=1, input_size=1) for k, g in enumerate(values)}
    return dl.over_training("spectrum", run, inputs, times=1)


def test_over_a_training_median_quartiles_and_range_are_those_of_the_samples():
    ax = dl.plot_over_training(gains(1.0, 10.0))
    np.testing.assert_allclose(labelled(ax)["median"].get_ydata(), [3.0, 30.0])
    bands = {band.get_label(): band.get_paths()[0].vertices[:, 1] for band in ax.collections}
    for name, ends in (("range of 5 values", [1, 50]), ("middle half", [2, 40])):
        np.testing.assert_allclose([bands[name].min(), bands[name].max()], ends)
    dl.plot_over_training(gains(3.0, 4.0), ax=ax, label="other", color=style.VERMILION)
    assert labelled(ax)["other: median"].get_color() == style.VERMILION


def test_what_is_not_finite_over_a_training_is_counted_and_left_out():
    run = {k: dl.from_function(lambda h, x, k=k: k * h * x, state_size=1, input_size=1) for k in (0, 1)}
    ax = dl.plot_over_training(dl.over_training("gradient", run, np.ones((2, 4, 1))))
    assert np.isnan(ax.lines[0].get_ydata()[0])  # −∞ at step 0
    assert "2 of 4 not finite: left out" in legend_words(ax)


def test_over_a_training_fixed_points_by_their_stability_and_shares_of_attractors_that_add_up_to_1():
    run = {k: dl.from_function(lambda h, x, g=g: torch.tanh(g * h), state_size=2) for k, g in enumerate((0.5, 2.0))}
    drawn = labelled(dl.plot_over_training(dl.over_training("fixed-points", run, starts=32)))
    assert len(drawn["stable fixed point"].get_xdata()) == 5
    assert len(drawn["unstable fixed point"].get_xdata()) == 5
    ax = dl.plot_over_training(dl.over_training("basins", run, grid=10, steps=400))
    corners = [each.get_paths()[0].vertices for each in ax.collections if isinstance(each, PolyCollection)]
    assert [area[:, 1].max() for area in corners] == pytest.approx([1, 1, 1, 1])  # at k = 0 the largest is all of it
    np.testing.assert_allclose([area[area[:, 0] == 1, 1].min() for area in corners], [0, 0.25, 0.5, 0.75])


def test_bifurcations_over_a_training_by_their_kind():
    systems = {k: create("vanilla", input_size=1, state_size=1).double() for k in (0, 1)}
    for system, weight in zip(systems.values(), (0.5, 0.8), strict=True):
        system.requires_grad_(False).W.fill_(weight)
        system.b.fill_(0.0)
    ds = dl.over_training("bifurcation", systems, parameter="W*", lowest=0.5, highest=3.0, values=0, starts=4)
    points = labelled(dl.plot_over_training(ds))["pitchfork"]
    np.testing.assert_allclose(points.get_xydata(), [[0, 2.0], [1, 1.25]], atol=1e-8)
