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
    assert ax.get_ylabel() == "Lyapunov exponent $Λ_i$ (nat/step)"


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


def test_a_map_of_one_state_has_a_cobweb_of_its_steps():
    ds = lyapunov(create("logistic", r=3.7), steps=300, initial_state=[0.3])
    step = next(line for line in plot_attractor(ds, ax=plt.subplots()[1]).lines if line.get_label() == "one step")
    np.testing.assert_allclose(step.get_ydata(), 3.7 * step.get_xdata() * (1 - step.get_xdata()))
    plt.close("all")
