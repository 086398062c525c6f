import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib.collections import PathCollection, QuadMesh
from small_results import first_call

from dynlab.diagnostics.spectrum import spectrum
from dynlab.errors import UserError
from dynlab.plots.eigenvalues_over_time import plot_eigenvalues_over_time
from dynlab.plots.spectrum import plot_flow_spectrum, plot_spectral_radius, plot_spectrum
from dynlab.systems import Euler, create, from_function


@pytest.fixture(scope="module")
def rotating():
    # λ = −0.15 ± 2i per second, 1 + 0.1 λ per step
    return spectrum(Euler(create("linear", matrix=[[-0.15, -2], [2, -0.15]]), 0.1), np.zeros((9, 0)), times=3)


def points(ax):
    (found,) = [each for each in ax.collections if isinstance(each, PathCollection)]
    return np.ma.getdata(found.get_offsets()), np.asarray(found.get_array())


def test_every_eigenvalue_is_drawn_where_it_lies_and_when(rotating):
    ax = plot_spectrum(rotating, ax=plt.subplots()[1])
    places, times = points(ax)
    assert sorted(times) == [1, 1, 5, 5, 9, 9]
    assert np.unique(places.round(12), axis=0) == pytest.approx(np.array([[0.985, -0.2], [0.985, 0.2]]))
    (circle,) = ax.patches
    assert (circle.center, circle.radius) == ((0, 0), 1)


def test_of_very_many_eigenvalues_it_is_shown_how_many_lie_where():
    torch.manual_seed(0)
    system = from_function(lambda h, x: x * torch.tanh(h) * 0.9, state_size=200, input_size=200)
    ds = spectrum(system, np.random.default_rng(0).standard_normal((2, 15, 200)))
    ax = plot_spectrum(ds, ax=plt.subplots()[1])
    (mesh,) = [each for each in ax.collections if isinstance(each, QuadMesh)]
    assert mesh.get_array().sum() == ds["eigenvalue"].size == 6000
    assert "in a cell" in [other.get_title() for other in ax.figure.axes]
    plt.close("all")


def test_the_window_holds_every_eigenvalue(rotating):
    large = spectrum(from_function(lambda h, x: -3 * h, state_size=1), np.zeros((2, 0)))
    for ds, close_up in ((rotating, True), (large, False)):
        ax = plot_spectrum(ds, ax=plt.subplots()[1])
        places, _ = points(ax)
        assert (places[:, 0] > ax.get_xlim()[0]).all()
        assert (places[:, 0] < ax.get_xlim()[1]).all()
        assert (np.abs(places[:, 1]) < ax.get_ylim()[1]).all()
        assert ("near 1" in ax.get_title() + ax.get_title(loc="left")) == close_up


def test_eulers_disc_has_its_place_and_size(rotating):
    ax = plot_flow_spectrum(rotating)
    (disc,) = ax.patches
    assert disc.center == pytest.approx((-10, 0))
    assert disc.radius == pytest.approx(10)
    assert np.unique(points(ax)[0].round(12), axis=0) == pytest.approx(np.array([[-0.15, -2], [-0.15, 2]]))
    with pytest.raises(UserError, match="flow_eigenvalue"):
        plot_flow_spectrum(spectrum(from_function(lambda h, x: h, state_size=1), np.zeros((2, 0))))


@pytest.mark.parametrize("is_flow", [True, False])
def test_the_eigenvalues_of_few_modes_are_lines_over_time(rotating, is_flow):
    ds = rotating if is_flow else rotating.drop_vars(["flow_eigenvalue", "spectral_abscissa"])
    edge, *lines = plot_eigenvalues_over_time(ds).lines
    assert set(edge.get_ydata()) == {0.0 if is_flow else 1.0}
    expected = -0.15 if is_flow else np.hypot(0.985, 0.2)
    assert [line.get_ydata() for line in lines] == [pytest.approx([expected] * 3)] * 2
    assert list(lines[0].get_xdata()) == [1, 5, 9]


def test_the_own_figure_shows_the_flow_where_there_is_one(rotating):
    without = rotating.drop_vars(["flow_eigenvalue", "spectral_abscissa"])
    panels = [len([ax for ax in plot_spectrum(ds).figure.axes if ax.get_xlabel()]) for ds in (rotating, without)]
    assert panels == [4, 3]


def test_the_radius_over_time_with_its_median():
    system = from_function(lambda h, x: x * h, state_size=1, input_size=1)
    inputs = np.stack([np.full((4, 1), scale) for scale in (0.5, 0.7, 0.8)])
    ax = plot_spectral_radius(spectrum(system, inputs))
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert drawn["median of the samples"] == pytest.approx(np.full(4, 0.7))
    assert "each of 3 samples" in drawn
    assert list(drawn["|μ| = 1"]) == [1, 1]


def test_modes_that_a_step_forgets_hide_no_others():
    """Of a network of rectifiers most moduli are 0: the bands show the others, and the title says their share."""
    moduli = np.tile([0.9, 0.8, 0.7] + [0.0] * 7, (2, 5, 1))
    radius = (("sample", "time"), moduli.max(axis=-1))
    times = ("time", np.arange(1, 6), {"long_name": "step t"})
    ds = xr.Dataset(
        {"eigenvalue": (("sample", "time", "mode"), moduli.astype(complex)), "spectral_radius": radius},
        coords={"time": times},
    )
    ax = plot_eigenvalues_over_time(ds, ax=plt.figure().add_subplot())
    (median,) = [line for line in ax.lines if line.get_label() == "median of the modes"]
    assert median.get_ydata() == pytest.approx(0.8)
    assert ax.get_title() == "Moduli |μ(t)|, without the 70 % of modes that are 0"
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "all modes that are not 0" in words
    plt.close("all")


def test_no_radius_is_drawn_where_none_is_known():
    """A unit rests at its jump until the input moves it."""
    system = from_function(lambda h, x: torch.sign(h + x) * ((h + x).abs() / 2 + 0.1), state_size=1, input_size=1)
    ds = spectrum(system, np.array([[0.0], [0.0], [1.0], [1.0]]))
    (line,) = [line for line in plot_spectral_radius(ds).lines if line.get_label() == "one sample"]
    assert np.isfinite(line.get_ydata()).tolist() == [False, False, True, True]
    axes = plot_spectral_radius(spectrum(system, np.zeros((3, 1))))
    assert [text.get_text() for text in axes.texts] == ["none is known"]


def test_the_name_of_time_stands_above_its_bar_and_not_beside_the_next_axis():
    figure = plot_spectrum(first_call({}, "spectrum")[0]).figure
    (bar,) = [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]
    assert (bar.get_title(loc="left"), bar.get_ylabel()) == ("step t", "")
    plt.close("all")
