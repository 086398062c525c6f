"""Pictures of phase portraits: what is drawn is what the Dataset holds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection

from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
from dynlab.plots import style
from dynlab.plots.phase_panels import panel, plot_phase_panels
from dynlab.plots.phase_plane import plot_divergence, plot_phase_plane
from dynlab.plots.stability_disc import needs_close_up, plot_stability_disc


@pytest.fixture(scope="module")
def diff():
    return planar_portrait("diff", "feedback")


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def marked(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


def contours(ax):
    found = [c for c in ax.collections if type(c).__name__ == "QuadContourSet"]
    return [np.concatenate([path.vertices for path in contour.get_paths()]) for contour in found]


def test_orbits_starts_and_equilibria_are_drawn_where_they_are(diff):
    ax = plot_phase_plane(diff, ax=plt.subplots()[1])
    lines = [c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_segments()) == 50]
    assert len(lines) == 3
    for line, orbit in zip(lines, diff["trajectory"].values, strict=True):
        np.testing.assert_array_equal([segment[1] for segment in line.get_segments()], orbit[1:])
    np.testing.assert_array_equal(marked(ax, "start").get_xydata(), diff["trajectory"].values[:, 0])
    assert marked(ax, "flow: stable focus").get_xydata().tolist() == [[0.0, 0.0]]
    assert marked(ax, "flow: stable focus").get_markerfacecolor() == style.STABLE
    assert marked(ax, "Euler's map: unstable focus").get_markerfacecolor() == style.GROUND
    curve = [c.get_offsets() for c in ax.collections if len(c.get_offsets()) == 1200]
    np.testing.assert_array_equal(curve[0], diff["long_orbit"].values.reshape(-1, 2))
    assert "invariant closed curve in the end" in labels(ax)
    plt.close("all")


def test_nullclines_are_the_lines_where_a_component_of_w_h_vanishes(diff):
    ax = plot_phase_plane(diff, ax=plt.subplots()[1])
    assert {"nullcline of h₁", "nullcline of h₂"} <= set(labels(ax))
    for vertices, row in zip(contours(ax), [[-0.15, -2.0], [2.0, -0.15]], strict=True):
        assert np.abs(vertices @ row).max() < 0.01
    plt.close("all")


def test_the_disc_shows_the_eigenvalues_and_where_the_critical_step_puts_them(diff):
    ax = plot_stability_disc(diff, close_up=True)
    points = [line.get_xydata()[0] for line in ax.get_lines() if line.get_marker() == "o"]
    np.testing.assert_allclose(sorted(map(tuple, points)), [(-0.015, -0.2), (-0.015, 0.2)], atol=1e-15)
    crosses = [complex(*xy) for line in ax.get_lines() if line.get_marker() == "X" for xy in line.get_xydata()]
    assert np.abs(1 + np.array(crosses)) == pytest.approx([1.0, 1.0])
    (disc,) = ax.patches
    assert (disc.center, disc.radius) == ((-1.0, 0.0), 1.0)
    assert needs_close_up(diff)
    assert not needs_close_up(planar_portrait("plus", "feedback"))
    plt.close("all")


def test_divergence_is_white_at_zero_and_a_maps_factor_on_areas_where_it_is_1(diff):
    ds = planar_portrait("0.5,1;-2,0.3", "vanilla")
    for one, values in ((diff, diff["divergence"].values), (ds, np.log10(np.maximum(ds["area_factor"].values, 1e-6)))):
        mesh = plot_divergence(one).collections[0]
        low, high = mesh.get_clim()
        assert low == -high
        np.testing.assert_allclose(np.asarray(mesh.get_array()).ravel(), values.ravel())
    plt.close("all")


def test_eight_panels_each_with_its_kinds():
    ds = phase_panels()
    figure = plot_phase_panels(ds).figure
    titles = [" ".join(ax.get_title(loc="left").split()) for ax in figure.axes if ax.get_title(loc="left")]
    assert [title[:3] for title in titles] == [f"({letter})" for letter in "abcdefgh"]
    assert titles[-1].endswith("flow: stable focus map: unstable focus, |μ| = 1.0051")
    assert titles[4] == "(e) W₊ = 2, −2; 0, 2 unstable improper node of flow and map, |μ| = 1.2"
    assert panel(ds, "h")["flow_kind"].values.tolist() == ["stable focus"]
    assert "flow_kind" not in panel(ds, "a")
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"velocity (longer is faster)", "displacement in a step", "center", "small: of Euler's map"} <= names
    plt.close("all")
