"""The pictures of branches and of a parameter plane show the numbers of the Datasets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.diagnostics.bifurcation.parameter_plane import parameter_plane
from dynlab.matrices import planar_matrix
from dynlab.plots import style
from dynlab.plots.bifurcation import LINES, plot_bifurcation
from dynlab.plots.parameter_plane import plot_parameter_plane
from dynlab.systems import create
from dynlab.systems.planar import planar_system


@pytest.fixture(scope="module")
def logistic():
    return bifurcation(create("logistic"), parameter="r", lowest=2.5, highest=3.5, max_period=2, values=20)


def lines_of(ax, stable):
    return [line for line in ax.lines if line.get_color() == LINES[stable]["color"] and len(line.get_xdata()) > 1]


def test_solid_is_stable_and_dashed_is_not(logistic):
    ax = plot_bifurcation(logistic, ax=plt.subplots()[1])
    for stable, look in ((1, "-"), (0, "--")):
        (drawn,) = {line.get_linestyle() for line in lines_of(ax, stable)}
        assert drawn == look
        points = logistic["stable"].values == stable
        orbit = logistic["branch_orbit"].values[points]
        expected = {round(p, 12) for p in logistic["branch_parameter"].values[points][np.isfinite(orbit[:, 0])]}
        shown = {round(p, 12) for line in lines_of(ax, stable) for p in line.get_xdata()}
        assert expected <= shown
        # what is more are the bifurcations, which end a line of either kind
        flips = {round(p, 12) for p in logistic["bifurcation_parameter"].values}
        assert shown - expected <= flips


def test_every_bifurcation_has_its_marker_and_its_words(logistic):
    figure = plot_bifurcation(logistic).figure
    top, bottom = figure.axes
    markers = [line for line in top.lines if line.get_marker() == "s"]
    assert sorted({line.get_xdata()[0] for line in markers}) == sorted(logistic["bifurcation_parameter"].values)
    said = " ".join(text.get_text().replace("\n", " ") for text in figure.legends[0].get_texts())
    assert "flip (period doubling) at 3, 3.44949" in said
    assert bottom.get_ylabel() == "largest multiplier |μ|"
    assert "loses stability at r = 3" in " ".join(figure.texts[-1].get_text().split())


def test_what_orbits_visit_lies_behind(logistic):
    ax = plot_bifurcation(logistic, ax=plt.subplots()[1])
    (cloud,) = [line for line in ax.lines if line.get_marker() == "." and line.get_color() == style.BLACK]
    visited = logistic["visited"].values[logistic["settled"].values != 0]
    np.testing.assert_array_equal(np.sort(cloud.get_ydata()), np.sort(visited.ravel()))
    assert len(visited)
    assert cloud.get_zorder() < min(line.get_zorder() for line in lines_of(ax, 1))


def test_where_every_orbit_ends_on_a_stable_branch_the_line_says_so_and_no_point_hides_under_it():
    ds = bifurcation(create("logistic"), parameter="r", lowest=2.5, highest=3.4, max_period=2, values=20)
    beside = ds.assign(visited=ds["visited"] + 0.02)
    for one, ends, title in (
        (ds, ": every orbit that was followed ends there", ""),
        (beside, "", " and what orbits visit"),
    ):
        figure = plot_bifurcation(one).figure
        assert figure.legends[0].get_texts()[0].get_text() == f"stable{ends}"
        assert figure.axes[0].get_title(loc="left") == f"Branches{title}"
        assert sum(line.get_marker() == "." for line in figure.axes[0].lines) == (not ends)


def test_the_values_in_the_legend_are_those_at_which_something_stable_changes():
    """Here the flip at 3.449 is made one of what is unstable before and after."""
    ds = bifurcation(create("logistic"), parameter="r", lowest=2.5, highest=3.5, max_period=2, values=20)
    second = ds["point_bifurcation"].values == 1
    stable = ds["stable"].values.copy()
    for row in np.flatnonzero(second):
        stable[[side for side in (row - 1, row + 1) if 0 <= side < len(stable)]] = 0
    figure = plot_bifurcation(ds.assign(stable=(ds["stable"].dims, stable))).figure
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "flip (period doubling) at 3" in words
    assert "small: unstable on both sides of it" in words


def test_orbits_that_have_not_settled_are_open_and_named(logistic):
    moving = logistic.copy(deep=True)
    moving["settled"][3] = 0
    figure = plot_bifurcation(moving).figure
    (cloud,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(cloud.get_ydata(), moving["visited"].values[3].ravel())
    assert cloud.get_markerfacecolor() == "white"
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[2:4] == ["what settled orbits visit, darker where more often", "orbits that have not settled"]


def test_the_axis_of_a_step_size_has_its_letter_and_its_unit():
    ds = bifurcation(planar_system(planar_matrix("diff")), parameter="step_size", lowest=0.05, highest=0.1, values=5)
    figure = plot_bifurcation(ds).figure
    assert figure.axes[-1].get_xlabel() == "step size ε (s)"
    plt.close("all")


def test_the_plane_has_the_border_of_stability_and_the_periods_by_their_words():
    ds = parameter_plane(create("henon"), parameters=("a", "b"), lowest=(0.2, 0.1), highest=(1.2, 0.3), grid=21)
    left = plot_parameter_plane(ds)
    mesh = left.collections[0]
    np.testing.assert_allclose(np.ma.getdata(mesh.get_array()).ravel(), ds["leading"].values.ravel())
    (border,) = [path for one in left.collections[1:] for path in one.get_paths() if len(path.vertices) > 5][:1]
    a, b = border.vertices[:, 0], border.vertices[:, 1]
    np.testing.assert_allclose(a, 3 * (1 - b) ** 2 / 4, atol=0.02)  # where period 1 doubles, between points of the grid
    right = left.figure.axes[1]
    words = [text.get_text() for text in right.get_legend().get_texts()]
    assert words[:3] == ["at rest", "period 2", "period 4"]
    assert (left.get_xlabel(), left.get_ylabel()) == ("a", "b")


def test_branches_that_mirror_each_other_are_one_line_below():
    """x ← tanh(w x) has a pitchfork at w = 1: both branches have the same multiplier, and dashes would fill gaps."""
    system = create("vanilla", input_size=1, state_size=1).double()
    for parameter in system.parameters():
        parameter.data *= 0
    ds = bifurcation(system, parameter="W[0,0]", lowest=0.5, highest=2.0, values=0)
    top, bottom = plot_bifurcation(ds).figure.axes[:2]
    assert [sum(line.get_xdata().min() > 0.99 for line in lines_of(ax, 1)) for ax in (top, bottom)] == [2, 1]
    plt.close("all")
