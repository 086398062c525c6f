"""The pseudospectrum's picture says what its verdict says."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.contour import ContourSet

import dynlab as dl
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap


def test_the_largest_norm_that_is_marked_is_the_one_that_is_told():
    """The shear's norm is largest, 2.5635 at 0.66 s, between the Dataset's times 0, 1, 2, …"""
    ds = dl.pseudospectrum(create("linear", matrix=[[-1.0, 10.0], [0.0, -2.0]]), grid=3, steps=9, seconds=9.0)
    lines = [line for ax in dl.plot_pseudospectrum(ds).figure.axes for line in ax.lines]
    (marked,) = [line for line in lines if str(line.get_label()).startswith("largest")]
    assert marked.get_xdata()[0] == pytest.approx(float(ds["transient_time"]))
    assert 10 ** marked.get_ydata()[0] == pytest.approx(float(ds["transient_growth"]))
    assert np.log10(2.5635) == pytest.approx(marked.get_ydata()[0], abs=1e-4)
    plt.close("all")


def test_the_borders_that_are_drawn_are_those_of_the_bar():
    """Of a normal matrix they are circles around its eigenvalues, whose radii the bar says."""
    ds = dl.pseudospectrum(LinearMap(0.5 * np.eye(2)), grid=81, steps=9)
    ax = dl.plot_pseudospectrum(ds)
    (bar,) = [other for other in ax.figure.axes if other.get_label() == "<colorbar>"]
    said = [float(text.get_text()) for text in bar.get_yticklabels()]
    lines = next(part for part in ax.collections if isinstance(part, ContourSet) and not part.filled)
    drawn = [np.abs(path.vertices @ [1, 1j] - 0.5) for path in lines.get_paths()]
    assert len(said) == len(drawn) > 2
    cell = float(ds["x"][1] - ds["x"][0])
    for radius, distances in zip(said, drawn, strict=True):
        np.testing.assert_allclose(distances, radius, atol=cell)
    plt.close("all")


def test_the_close_up_shows_the_level_that_is_the_first_to_reach_the_circle():
    """Of a normal matrix with 0.97 it is the circle of radius 0.03 around it, which touches at 1."""
    ds = dl.pseudospectrum(LinearMap(np.diag([0.97, -0.5])), grid=81, steps=9)
    whole = dl.plot_pseudospectrum(ds)
    close = next(ax for ax in whole.figure.axes if ax.get_title(loc="left").startswith("Close-up"))
    assert "ε ≤ 0.03, the first to reach it" in [str(line.get_label()) for line in close.lines]
    (drawn,) = [part for part in close.collections if isinstance(part, ContourSet) and len(part.levels) == 1]
    half = float(ds["close_up_half_width"])
    (path,) = drawn.get_paths()
    cell = 2 * half / (ds.sizes["close_x"] - 1)
    np.testing.assert_allclose(np.abs(path.vertices @ [1, 1j] - 0.97), 0.03, atol=cell / 4)
    (window,) = [patch for patch in whole.patches if patch.get_label() == "close-up"]
    np.testing.assert_allclose(window.get_bbox().intervalx, [1 - half, 1 + half])
    plt.close("all")
