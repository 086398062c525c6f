import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import LogNorm
from small_results import first_call

from dynlab.diagnostics.spectrum import spectrum
from dynlab.errors import UserError
from dynlab.plots.eigenvalues_over_time import plot_eigenvalues_over_time
from dynlab.plots.moduli import draw_moduli, hug_the_circle
from dynlab.plots.spectrum import plot_flow_spectrum, plot_spectral_radius, plot_spectrum, window_of
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
    circle = ax.lines[-1]
    assert np.hypot(*circle.get_data()) == pytest.approx(1)
    assert circle.get_zorder() < min(each.get_zorder() for each in ax.collections)


def test_of_very_many_eigenvalues_it_is_shown_how_many_lie_where():
    torch.manual_seed(0)
    system = from_function(lambda h, x: x * torch.tanh(h) * 0.9, state_size=200, input_size=200)
    ds = spectrum(system, np.random.default_rng(0).standard_normal((2, 15, 200)))
    ax = plot_spectrum(ds, ax=plt.subplots()[1])
    (mesh,) = [each for each in ax.collections if isinstance(each, QuadMesh)]
    assert mesh.get_array().sum() == ds["eigenvalue"].size == 6000
    assert "number\nin a cell" in [other.get_title() for other in ax.figure.axes]
    plt.close("all")


def test_numbers_in_cells_that_are_much_alike_have_a_linear_scale():
    """Of 1,000 steps of seven modes each cell that has any has 1,000 or 2,000."""
    modes = np.array([1, 1, 0.5, 0.5j, -0.5j, -1, 0.3 + 0.3j])
    radius = (("sample", "time"), np.ones((1, 1000)))
    ds = xr.Dataset(
        {"eigenvalue": (("sample", "time", "mode"), np.tile(modes, (1, 1000, 1))), "spectral_radius": radius}
    )
    ds = ds.assign_coords(time=("time", np.arange(1, 1001), {"long_name": "step t"}))
    ax = plot_spectrum(ds, ax=plt.subplots()[1])
    (mesh,) = [each for each in ax.collections if isinstance(each, QuadMesh)]
    assert (mesh.norm.vmin, mesh.norm.vmax) == (0, 2000)
    assert not isinstance(mesh.norm, LogNorm)
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


def of_moduli(moduli):
    """Of two samples and three steps with these moduli each."""
    values = np.tile(np.asarray(moduli, dtype=complex), (2, 3, 1))
    radius = (("sample", "time"), abs(values).max(axis=-1))
    times = ("time", np.arange(1, 4), {"long_name": "step t"})
    return xr.Dataset(
        {"eigenvalue": (("sample", "time", "mode"), values), "spectral_radius": radius},
        {"time": times},
        {"system": "x"},
    )


def test_the_shares_of_moduli_stand_at_their_distance_from_one():
    """Ten modes: 0, 0.5 and 0.9995 shrink, six are on the circle but for rounding, one grows by half a thousandth."""
    ds = of_moduli([0.0, 0.5, 0.9995, 1.0005, 1 + 1e-15, 1 - 1e-15, 1j, -1, 1, 1])
    assert hug_the_circle(ds)
    assert not hug_the_circle(of_moduli([0.5] * 6 + [1] * 4))
    assert not hug_the_circle(of_moduli([1] * 4))
    ax = plt.figure().add_subplot()
    draw_moduli(ds, ax)
    bars = {round(bar.get_x() + 0.45): bar.get_height() for bar in ax.patches}
    assert bars == pytest.approx({-6: 20, -3: 10, 0: 60, 3: 10})
    # the bar of what shrinks by more than a tenth ends at −1, and each bar is a power of ten wide
    ticks = dict(zip([tick.get_text() for tick in ax.get_xticklabels()], ax.get_xticks(), strict=True))
    assert ticks == {"−10⁰": -6.5, "−10⁻²": -4.5, "−10⁻⁴": -2.5, "0": 0.0, "10⁻⁴": 2.5}
    titles = [other.get_title(loc="left") for other in plot_spectrum(ds).figure.axes]
    assert "How far the moduli |μ| are from 1" in titles
    plt.close("all")


def test_an_antisymmetric_network_is_seen_from_close_up():
    """Real parts a thousandth of the imaginary ones: each axis has its own scale, and the circle runs through it."""
    eigenvalues = 1 - 1e-4 * np.arange(11) + 0.1j * np.linspace(-1, 1, 11)
    limits, near, own = window_of(eigenvalues)
    assert near
    assert own
    assert limits == pytest.approx(np.array([[0.99892, 1.00008], [-0.116, 0.116]]))
    ax = plot_spectrum(of_moduli(eigenvalues), ax=plt.subplots()[1])
    x, y = ax.lines[-1].get_data()
    seen = (x > limits[0, 0]) & (np.abs(y) < limits[1, 1])
    assert seen.sum() > 1000
    assert ax.get_xlabel() == "Re μ\neach axis on its own scale"
    plt.close("all")


@pytest.mark.parametrize(
    "eigenvalues, wide, high",
    [
        ([1.0], 1.16e-6, 1.16e-6),  # the identity
        ([0.8, 0.9], 0.232, 0.232),  # real ones: no microscope along the axis on which all is 0
        ([1 - 0.1j, 1 + 0.1j], 0.232, 0.232),
    ],
)
def test_no_window_is_empty(eigenvalues, wide, high):
    limits, near, _ = window_of(np.array(eigenvalues, dtype=complex))
    assert near
    assert np.ptp(limits, axis=1) == pytest.approx([wide, high])


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


def test_the_name_of_time_stands_above_its_bar_and_not_beside_the_next_axis():
    figure = plot_spectrum(first_call({}, "spectrum")[0]).figure
    (bar,) = [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]
    assert (bar.get_title(loc="left"), bar.get_ylabel()) == ("step t", "")
    plt.close("all")
