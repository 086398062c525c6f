"""The pictures of branches and of a parameter plane show the numbers of the Datasets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.diagnostics.bifurcation.parameter_plane import parameter_plane
from dynlab.plots.bifurcation import LINES, plot_bifurcation
from dynlab.plots.parameter_plane import plot_parameter_plane
from dynlab.systems import create


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
    plt.close("all")


def test_every_bifurcation_has_its_marker_and_its_words(logistic):
    figure = plot_bifurcation(logistic).figure
    top, bottom = figure.axes
    markers = [line for line in top.lines if line.get_marker() == "s"]
    assert sorted({line.get_xdata()[0] for line in markers}) == sorted(logistic["bifurcation_parameter"].values)
    said = " ".join(text.get_text().replace("\n", " ") for text in figure.legends[0].get_texts())
    assert "flip (period doubling) at 3, 3.44949" in said
    assert bottom.get_ylabel() == "largest multiplier |μ|"
    plt.close("all")


def test_the_plane_has_the_border_of_stability_and_the_periods_by_their_words():
    ds = parameter_plane(create("henon"), parameters=("a", "b"), lowest=(0.2, 0.1), highest=(1.2, 0.3), grid=21)
    left = plot_parameter_plane(ds)
    mesh = left.collections[0]
    np.testing.assert_allclose(np.ma.getdata(mesh.get_array()).ravel(), ds["leading"].values.ravel())
    (border,) = [path for one in left.collections[1:] for path in one.get_paths() if len(path.vertices) > 5][:1]
    a, b = border.vertices[:, 0], border.vertices[:, 1]
    np.testing.assert_allclose(a, 3 * (1 - b) ** 2 / 4, atol=0.02)  # where period 1 doubles, between points of the grid
    right = next(ax for ax in left.figure.axes if ax.get_legend())
    words = [text.get_text() for text in right.get_legend().get_texts()]
    assert words[:3] == ["at rest", "period 2", "period 4"]
    assert (left.get_xlabel(), left.get_ylabel()) == ("a", "b")
    plt.close("all")
