"""Pictures of phase portraits: what is drawn is what the Dataset holds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection

import dynlab as dl
from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
from dynlab.plots import style
from dynlab.plots.phase_panels import panel, plot_phase_panels
from dynlab.plots.phase_plane import plot_divergence, plot_phase_plane
from dynlab.plots.stability_disc import needs_close_up, plot_stability_disc
from dynlab.systems import Flow


class Populations(Flow):
    """x' = x (1 − y/10), y' = y (x/20 − 1/2): each nullcline is two lines that cross."""

    def __init__(self):
        super().__init__(2, 0)

    def velocity(self, state, input, t=0):
        x, y = state[..., 0], state[..., 1]
        return torch.stack([x * (1 - 0.1 * y), y * (0.05 * x - 0.5)], -1)


@pytest.fixture(scope="module")
def diff():
    return planar_portrait("diff", "feedback")


@pytest.fixture(scope="module")
def populations():
    return dl.phase_plane(Populations(), starts=[[10.0, 5.0]], steps=150, step_size=0.05)


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


def test_nullclines_that_cross_themselves_do_not_turn_away_and_negative_populations_have_no_room(populations):
    ax = plot_phase_plane(populations, ax=plt.subplots()[1])
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert max(-left / right, -bottom / top) < 0.15
    (x, y), (u, v) = (vertices.T for vertices in contours(ax))
    cell = (right - left) / 300  # a line's width
    assert np.minimum(np.abs(x), np.abs(y - 10)).max() < cell
    assert np.minimum(np.abs(v), np.abs(u - 10)).max() < cell
    plt.close("all")


def test_an_axis_on_which_all_lies_near_together_is_seen_from_near(populations):
    small = populations.copy(deep=True)
    for name in ("trajectory", "equilibrium"):
        small[name][..., 1] *= 0.02
    ax = plot_phase_plane(small, ax=plt.subplots()[1])
    assert ax.get_ylim()[1] < 0.5 < 20 < ax.get_xlim()[1]
    assert ax.get_aspect() == "auto"
    plt.close("all")


def test_arrows_point_along_the_velocity_and_none_is_a_dot(populations):
    ax = plot_phase_plane(populations, ax=plt.subplots()[1])
    (arrows,) = [each for each in ax.collections if hasattr(each, "U")]
    x, y = arrows.XY.T
    velocity = np.stack([x * (1 - 0.1 * y), y * (0.05 * x - 0.5)])
    drawn = np.stack([arrows.U, arrows.V])
    cosine = (velocity * drawn).sum(axis=0) / np.hypot(*velocity) / np.hypot(*drawn)
    np.testing.assert_allclose(cosine, 1, atol=1e-6)
    lengths = np.hypot(drawn[0] / np.ptp(x), drawn[1] / np.ptp(y))
    assert lengths.min() > 0.1 * lengths.max()
    plt.close("all")


@pytest.mark.parametrize("text, kind", [("0,1;0,0", "feedback"), ("0,0;0,0", "flow"), ("2,0;0,2", "vanilla")])
def test_degenerate_portraits_are_drawn(text, kind):
    ax = plot_phase_plane(planar_portrait(text, kind))
    ax.figure.draw_without_rendering()
    assert ("line of equilibria" in labels(ax)) == (text == "0,1;0,0")
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
