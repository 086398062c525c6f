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


def test_orbits_starts_and_equilibria_are_drawn_where_they_are(diff):
    ax = plot_phase_plane(diff, ax=plt.subplots()[1])
    lines = [c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_segments()) == 50]
    assert len(lines) == 3
    for line, orbit in zip(lines, diff["trajectory"].values, strict=True):
        np.testing.assert_array_equal([segment[1] for segment in line.get_segments()], orbit[1:])
    np.testing.assert_array_equal(marked(ax, "start").get_xydata(), diff["trajectory"].values[:, 0])
    assert marked(ax, "flow: stable focus").get_xydata().tolist() == [[0.0, 0.0]]
    curve = [c.get_offsets() for c in ax.collections if len(c.get_offsets()) == 1200]
    np.testing.assert_array_equal(curve[0], diff["long_orbit"].values.reshape(-1, 2))
    assert "invariant closed curve (steps 4,401 to 4,800)" in labels(ax)


@pytest.mark.parametrize("kind, whose", [("feedback", "Euler's map"), ("flow", "the flow"), ("vanilla", "the map")])
def test_the_legend_says_whose_orbits_are_drawn_forward_and_backward(kind, whose):
    ds = planar_portrait("0.5,-1;1,0.5", kind)
    named = [text for text in labels(plot_phase_plane(ds, ax=plt.subplots()[1])) if whose in text]
    assert any(text.startswith("orbit of") for text in named)
    assert f"{whose} backward, before the start" in named
    before, start = (ds["backward_orbit"].values[:, 1], ds["trajectory"].values[:, 0])
    pre = before @ np.array([[0.5, -1.0], [1.0, 0.5]]).T
    stepped = {"feedback": before + 0.1 * np.tanh(pre), "vanilla": np.tanh(pre)}
    known = np.isfinite(before).all(axis=1)
    assert known.any()
    np.testing.assert_allclose(stepped.get(kind, start)[known], start[known], atol=1e-9)


def test_stable_is_filled_and_unstable_open(diff):
    ax = plot_phase_plane(diff, ax=plt.subplots()[1])
    assert marked(ax, "flow: stable focus").get_markerfacecolor() != "white"
    assert marked(ax, "Euler's map: unstable focus").get_markerfacecolor() == "white"


def test_nullclines_are_the_lines_where_a_component_of_w_h_vanishes(diff):
    ax = plot_phase_plane(diff, ax=plt.subplots()[1])
    assert {"nullcline of h₁", "nullcline of h₂"} <= set(labels(ax))
    contours = [c for c in ax.collections if type(c).__name__ == "QuadContourSet"]
    for contour, row in zip(contours, [[-0.15, -2.0], [2.0, -0.15]], strict=True):
        vertices = np.concatenate([path.vertices for path in contour.get_paths()])
        assert np.abs(vertices @ row).max() < 0.01


@pytest.mark.parametrize("text, kind", [("0,1;0,0", "feedback"), ("0,0;0,0", "flow"), ("2,0;0,2", "vanilla")])
def test_degenerate_portraits_are_drawn(text, kind, tmp_path):
    ax = plot_phase_plane(planar_portrait(text, kind))
    ax.figure.savefig(tmp_path / "portrait.png")
    assert ("line of equilibria" in labels(ax)) == (text == "0,1;0,0")


def test_the_verdict_is_the_caption(diff):
    figure = plot_phase_plane(diff).figure
    title, caption = (" ".join(text.get_text().split()) for text in figure.texts)
    assert title == "Phase portrait: h′ = tanh(W h), W = −0.15, −2; 2, −0.15"
    assert caption.startswith("The flow's focus is stable, Euler's map at ε = 0.1 is not, the critical step is 0.0746")
    assert len(figure.axes) == 4  # portrait and divergence, which hold their scales, disc, close-up
    assert [scale.get_ylabel() for scale in figure.axes[0].child_axes] == ["step t"]


def test_the_disc_shows_the_eigenvalues_and_where_the_critical_step_puts_them(diff):
    ax = plot_stability_disc(diff, close_up=True)
    points = [line.get_xydata()[0] for line in ax.get_lines() if line.get_marker() == "o"]
    np.testing.assert_allclose(sorted(map(tuple, points)), [(-0.015, -0.2), (-0.015, 0.2)], atol=1e-15)
    crosses = [complex(*xy) for line in ax.get_lines() if line.get_marker() == "X" for xy in line.get_xydata()]
    assert np.abs(1 + np.array(crosses)) == pytest.approx(1.0)
    (disc,) = ax.patches
    assert (disc.center, disc.radius) == ((-1.0, 0.0), 1.0)
    assert needs_close_up(diff)
    assert not needs_close_up(planar_portrait("plus", "feedback"))


def test_of_a_saddle_one_eigenvalue_is_inside_and_one_outside():
    ax = plot_stability_disc(planar_portrait("1,0;0,-1", "feedback"))
    faces = {
        round(line.get_xydata()[0][0], 3): line.get_markerfacecolor()
        for line in ax.get_lines()
        if line.get_marker() == "o"
    }
    assert faces[0.1] == "white"
    assert faces[-0.1] != "white"


def test_divergence_is_white_at_zero(diff):
    ax = plot_divergence(diff)
    (image,) = ax.images
    low, high = image.get_clim()
    assert low == -high
    np.testing.assert_array_equal(image.get_array(), diff["divergence"].values)


def test_of_a_map_the_factor_on_areas_is_drawn_and_white_where_it_is_1():
    ds = planar_portrait("0.5,1;-2,0.3", "vanilla")
    ax = plot_divergence(ds)
    (image,) = ax.get_images()
    np.testing.assert_allclose(10.0 ** image.get_array(), np.maximum(ds["area_factor"].values, 1e-6))
    assert image.norm(0.0) == 0.5
    assert ax.get_title(loc="left") == "|det J|: a step's factor on areas"


def test_a_center_is_a_ring_and_a_stable_focus_is_filled(diff):
    marks = {}
    for text in ("0,-2;2,0", "-0.5,-2;2,-0.5"):
        ax = plot_phase_plane(planar_portrait(text, "flow"), ax=plt.subplots()[1])
        marks |= {str(line.get_label()): line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"}
    assert marks["flow: center"] == "white"
    assert marks["flow: stable focus"] == style.STABLE
    plt.close("all")


def test_a_narrow_ridge_of_the_divergence_has_no_beads(diff):
    """1 / cosh² across a line at an angle, a half of whose height is 1.7 points of the grid wide."""
    x, y = np.meshgrid(diff["x"].values, diff["y"].values)
    step = float(diff["x"][1] - diff["x"][0])
    ridge = np.cosh((x + 2 * y) / np.sqrt(5) / step) ** -2.0
    ax = plot_divergence(diff.assign(divergence=diff["divergence"].copy(data=ridge)))
    figure = ax.figure
    figure.canvas.draw()
    along = np.linspace(-0.6, 0.6, 201) * float(diff["x"][-1])
    places = np.round(ax.transData.transform(np.stack([along, -along / 2], axis=1))).astype(int)
    seen = np.asarray(figure.canvas.buffer_rgba())[::-1][places[:, 1], places[:, 0], :3].astype(float)
    assert np.ptp(seen, axis=0).max() < 25  # of 255: bilinear ones differ by 40
    plt.close("all")


def test_eight_panels_each_with_its_kinds():
    ds = phase_panels()
    figure = plot_phase_panels(ds).figure
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert [title[:3] for title in titles] == [f"({letter})" for letter in "abcdefgh"]
    said = " ".join(titles[-1].split())
    assert said.endswith("flow: stable focus map: unstable focus, |μ| = 1.0051")
    assert " ".join(titles[4].split()) == "(e) W₊ = 2, −2; 0, 2 unstable improper node of flow and map, |μ| = 1.2"
    assert panel(ds, "h")["flow_kind"].values.tolist() == ["stable focus"]
    assert "flow_kind" not in panel(ds, "a")
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[0] == "velocity, or displacement in a step"
    assert not {"velocity", "displacement in a step"} & set(names)


@pytest.mark.parametrize(
    "kind, arrows, title",
    [
        ("feedback", "velocity", "ελ at ε = 0.1 s"),
        ("flow", "velocity", "λ and Euler's disc at the\ncritical step 0.0746 s"),
        ("vanilla", "displacement in a step", "Multipliers μ and |μ| ≤ 1"),
    ],
)
def test_arrows_circles_and_lines_are_named(kind, arrows, title):
    ds = planar_portrait("diff", kind)
    assert labels(plot_phase_plane(ds, ax=plt.subplots()[1]))[0] == arrows
    assert plot_stability_disc(ds, ax=plt.subplots()[1]).get_title(loc="center") == title
    plt.close("all")


@pytest.mark.parametrize(
    "matrix, kind, named",
    [
        ("0.5,0;0,2", "vanilla", ["unstable", "stable"]),
        ("0.5,0;0,0.2", "vanilla", ["stable"]),
        ("1,-3;1,-1", "flow", ["neutral or undecided"]),
        ("1,2;2,4", "flow", ["unstable", "neutral or undecided"]),
        (
            "1,2;2,4",
            "feedback",
            ["Euler's disc:\n|1 + ελ| ≤ 1", "path of ελ as ε grows", "unstable", "neutral or undecided"],
        ),
        (
            "-1,2;-2,-1",
            "feedback",
            ["Euler's disc:\n|1 + ελ| ≤ 1", "path of ελ as ε grows", "critical step\n0.4 s", "stable"],
        ),
        ("0.5,2;-2,0.5", "feedback", ["Euler's disc:\n|1 + ελ| ≤ 1", "path of ελ as ε grows", "unstable"]),
    ],
)
def test_the_legend_names_what_is_drawn_and_nothing_else(matrix, kind, named):
    ax = plot_stability_disc(planar_portrait(matrix, kind), ax=plt.subplots()[1])
    assert ax.get_legend_handles_labels()[1] == named
    plt.close("all")


def test_the_critical_step_is_marked_once_where_the_whole_disc_would_show_it_upon_the_eigenvalue(diff):
    whole, close = (plot_stability_disc(diff, ax=plt.subplots()[1], close_up=near) for near in (False, True))
    marked = [
        [line for line in ax.lines if line.get_marker() == "X" and len(line.get_xdata())] for ax in (whole, close)
    ]
    assert [len(each) for each in marked] == [0, 2]
    assert "critical step\n0.0746 s" in whole.get_legend_handles_labels()[1]
    plt.close("all")


def test_a_critical_step_beyond_the_close_up_is_marked_in_the_whole_disc():
    ds = planar_portrait("-0.5,1.5;-1.5,-0.5", "feedback")
    ax = plot_stability_disc(ds, ax=plt.subplots()[1])
    assert needs_close_up(ds)
    found = [complex(*line.get_xydata()[0]) for line in ax.lines if line.get_marker() == "X" and len(line.get_xdata())]
    np.testing.assert_allclose(sorted(found, key=lambda z: z.imag), [-0.2 - 0.6j, -0.2 + 0.6j])
    plt.close("all")


def test_a_smaller_picture_has_smaller_markers_which_cover_no_word(diff):
    own = plot_phase_plane(diff)
    sizes = {line.get_label(): line.get_markersize() for line in own.lines if line.get_label() == "start"}
    with style.asked((4.0, 3.0)):
        small = plot_phase_plane(diff)
    assert marked(small, "start").get_markersize() == pytest.approx(0.4 * sizes["start"])
    small.figure.draw_without_rendering()
    legend = small.get_legend()
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        assert handle.get_window_extent().x1 < text.get_window_extent().x0
    plt.close("all")


def test_a_window_without_an_equilibrium_has_a_disc_without_a_legend(diff):
    none = diff.isel(fixed_point=slice(0))
    figure = plot_phase_plane(none).figure
    discs = [ax for ax in figure.axes if "ελ" in ax.get_title() + ax.get_title(loc="left")]
    assert [ax.get_legend() for ax in discs] == [None]
    plot_stability_disc(none)
    plt.close("all")
