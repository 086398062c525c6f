"""The picture of Lyapunov exponents shows the numbers of the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from products import driven_by

from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.numerics.statistics import sure
from dynlab.plots.attractor import plot_attractor
from dynlab.plots.lyapunov import plot_lyapunov
from dynlab.systems import create


@pytest.fixture(scope="module")
def henon():
    return lyapunov(create("henon"), steps=500, initial_state=[0.1, 0.1])


def test_one_sample_is_drawn_with_its_errors(henon):
    ax = plot_lyapunov(henon, ax=plt.subplots()[1])
    (bars,) = ax.containers
    points, _, (segments,) = bars
    np.testing.assert_allclose(points.get_ydata(), henon["exponent"][0])
    heights = [np.ptp(segment[:, 1]) for segment in segments.get_segments()]
    np.testing.assert_allclose(heights, 2 * henon["exponent_error"][0])
    assert ax.get_ylabel() == "Lyapunov exponent $\\Lambda_i$ (nat/step)"


def test_of_several_samples_the_mean_with_its_error_and_each():
    ds = driven_by(lyapunov, np.random.default_rng(0).standard_normal((4, 60, 3, 3)))
    ax = plot_lyapunov(ds, ax=plt.subplots()[1])
    (bars,) = ax.containers
    points, _, (segments,) = bars
    values = ds["finite_time_exponent"].values
    np.testing.assert_allclose(points.get_ydata(), values.mean(axis=0))
    heights = [np.ptp(segment[:, 1]) for segment in segments.get_segments()]
    np.testing.assert_allclose(heights, 2 * ds["mean_exponent_error"])
    assert (ds["mean_exponent_error"] > sure(4) * values.std(axis=0, ddof=1) / 2).all()
    each = [line.get_ydata() for line in ax.lines if line.get_marker() == "."]
    np.testing.assert_allclose([y for y in each if len(y)], values)
    assert "finite-time exponent" in ax.get_ylabel()


def test_the_own_figure_follows_the_running_estimates(henon):
    figure = plot_lyapunov(henon).figure
    _, running, attractor = figure.axes
    np.testing.assert_array_equal(attractor.lines[0].get_xydata(), henon["visited"])
    drawn = {line.get_label(): line for line in running.lines}
    for mode in (0, 1):
        line = drawn[f"$\\Lambda_{{{mode + 1}}}$"]
        np.testing.assert_allclose(line.get_ydata(), henon["running_exponent"][0, :, mode])
        np.testing.assert_array_equal(line.get_xdata(), henon["time"])
    title, caption = (text.get_text() for text in figure.texts)
    assert title == "Lyapunov exponents: henon"
    assert caption.startswith("Over the last 450 of 500 steps")


def test_what_is_not_drawn_is_counted():
    matrices = np.random.default_rng(1).standard_normal((2, 60, 3, 3))
    matrices[:, 30, 0] = 0
    matrices[1, 30, 1] = 0
    ax = plot_lyapunov(driven_by(lyapunov, matrices), ax=plt.subplots()[1])
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "1 of 3: −∞ for some samples" in said
    assert "1 of 3: −∞, a Jacobian is singular" in said
    marks = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert marks["1 of 3: −∞ for some samples"] == [2]
    assert marks["1 of 3: −∞, a Jacobian is singular"] == [3]
    assert ax.get_xlim()[1] > 3
    plt.close("all")


def test_a_mark_that_stands_for_several_exponents_names_them():
    matrices = np.random.default_rng(1).standard_normal((2, 60, 6, 6))
    matrices[:, 30, 2:] = 0
    ax = plot_lyapunov(driven_by(lyapunov, matrices), ax=plt.subplots()[1])
    marks = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert marks["i = 3 to 6: −∞, a Jacobian is singular"] == [3]
    plt.close("all")


def test_the_title_counts_the_running_estimates_that_are_drawn():
    matrices = np.random.default_rng(1).standard_normal((2, 60, 3, 3))
    matrices[:, 30, 0] = 0
    running = plot_lyapunov(driven_by(lyapunov, matrices)).figure.axes[1]
    drawn = [line for line in running.lines if str(line.get_label()).startswith("$")]
    assert len(drawn) == 2
    assert running.get_title(loc="left").startswith("Running estimates of Λ₁ to Λ₂")
    plt.close("all")


def test_the_legend_lies_below_where_its_marker_is_no_exponent(henon):
    ax = plot_lyapunov(henon)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0


def test_an_orbit_that_stays_at_a_state_has_no_cobweb(henon):
    still = henon.assign(visited=henon["visited"] * 0)
    assert len(plot_lyapunov(still).figure.axes) == len(plot_lyapunov(henon).figure.axes) - 1
    _, ax = plt.subplots()
    plot_attractor(still, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["the orbit stays at h = (0, 0)"]
    plt.close("all")


def test_exponents_far_above_the_last_have_a_close_up_and_others_none(henon):
    rates = np.random.default_rng(0).normal([0.5, -0.2, -14.0], 0.1, (1, 60, 3))
    ds = driven_by(lyapunov, np.exp(rates)[..., None] * np.eye(3))
    first, running = plot_lyapunov(ds).figure.axes
    for ax in (first, running):
        (inset,) = ax.child_axes
        assert np.ptp(inset.get_ylim()) < 0.2 * np.ptp(ax.get_ylim())
    (bars,) = first.child_axes[0].containers
    np.testing.assert_allclose(bars.lines[0].get_ydata(), ds["mean_exponent"][:2])
    for mode in (0, 1):
        np.testing.assert_allclose(running.child_axes[0].lines[mode].get_ydata(), ds["running_exponent"][0, :, mode])
    assert all(not ax.child_axes for ax in plot_lyapunov(henon).figure.axes)
    plt.close("all")


def test_the_states_of_a_flow_lie_on_a_smooth_curve(henon):
    place = np.linspace(0, 6, 40)
    visited = np.stack([np.cos(place), np.sin(place)], axis=1)
    flow = henon.drop_vars("visited").assign(visited=(("iteration", "state"), visited))
    flow["time"].attrs["units"] = "s"
    curve = plot_attractor(flow, ax=plt.subplots()[1]).lines[0].get_xydata()
    np.testing.assert_allclose(curve[::8], visited, atol=1e-12)
    np.testing.assert_allclose(np.hypot(*curve.T), 1.0, atol=1e-3)
    plt.close("all")
