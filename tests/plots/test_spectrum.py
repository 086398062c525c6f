"""The pictures of spectra: every eigenvalue where it lies and when, or how many lie where; bands over time."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib.collections import PathCollection, QuadMesh

from dynlab.diagnostics.spectrum import spectrum
from dynlab.errors import UserError
from dynlab.plots.spectrum import plot_eigenvalues_over_time, plot_flow_spectrum, plot_spectrum
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
    circle = next(line for line in ax.lines if len(line.get_xdata()) > 100)
    assert np.hypot(*circle.get_data()) == pytest.approx(1)
    assert circle.get_zorder() < min(each.get_zorder() for each in ax.collections)
    plt.close("all")


def test_of_very_many_eigenvalues_it_is_shown_how_many_lie_where():
    torch.manual_seed(0)
    system = from_function(lambda h, x: x * torch.tanh(h) * 0.9, state_size=200, input_size=200)
    ds = spectrum(system, np.random.default_rng(0).standard_normal((2, 15, 200)))
    ax = plot_spectrum(ds, ax=plt.subplots()[1])
    (mesh,) = [each for each in ax.collections if isinstance(each, QuadMesh)]
    assert mesh.get_array().sum() == ds["eigenvalue"].size == 6000
    assert "number in a cell" in [other.get_ylabel() for other in ax.figure.axes]
    plt.close("all")


def of_eigenvalues(values):
    """Return a spectrum of two samples and three steps with these eigenvalues each."""
    values = np.tile(np.asarray(values, dtype=complex), (2, 3, 1))
    radius = (("sample", "time"), abs(values).max(axis=-1))
    times = ("time", np.arange(1, 4), {"long_name": "step t"})
    return xr.Dataset({"eigenvalue": (("sample", "time", "mode"), values), "spectral_radius": radius}, {"time": times})


def test_an_antisymmetric_network_is_seen_from_close_up():
    """Real parts a thousandth of the imaginary ones: each axis has its own scale, and the circle runs through it."""
    ax = plot_spectrum(of_eigenvalues(1 - 1e-4 * np.arange(11) + 0.1j * np.linspace(-1, 1, 11)), ax=plt.subplots()[1])
    assert ax.get_xlim() == pytest.approx((0.99892, 1.00008))
    assert ax.get_ylim() == pytest.approx((-0.116, 0.116))
    x, y = next(line for line in ax.lines if len(line.get_xdata()) > 100).get_data()
    assert ((x > ax.get_xlim()[0]) & (np.abs(y) < ax.get_ylim()[1])).sum() > 1000
    assert ax.get_xlabel() == "Re μ, each axis on its own scale"
    plt.close("all")


def test_eulers_disc_has_its_place_and_size(rotating):
    ax = plot_flow_spectrum(rotating)
    (disc,) = ax.patches
    assert disc.center == pytest.approx((-10, 0))
    assert disc.radius == pytest.approx(10)
    assert np.unique(points(ax)[0].round(12), axis=0) == pytest.approx(np.array([[-0.15, -2], [-0.15, 2]]))
    with pytest.raises(UserError, match="flow_eigenvalue"):
        plot_flow_spectrum(spectrum(from_function(lambda h, x: h, state_size=1), np.zeros((2, 0))))
    plt.close("all")


@pytest.mark.parametrize("is_flow", [True, False])
def test_the_eigenvalues_of_few_modes_are_lines_over_time(rotating, is_flow):
    ds = rotating if is_flow else rotating.drop_vars(["flow_eigenvalue", "spectral_abscissa"])
    edge, *lines = plot_eigenvalues_over_time(ds).lines
    assert set(edge.get_ydata()) == {0.0 if is_flow else 1.0}
    expected = -0.15 if is_flow else np.hypot(0.985, 0.2)
    assert [line.get_ydata() for line in lines] == [pytest.approx([expected] * 3)] * 2
    assert list(lines[0].get_xdata()) == [1, 5, 9]
    plt.close("all")
