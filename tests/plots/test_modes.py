"""The picture of modes: its markers stand at frequency and time constant, its tables hold drives and read-outs."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab.diagnostics.modes import modes
from dynlab.plots.modes import plot_modes
from dynlab.systems import from_function
from dynlab.systems.textbook import LinearMap

MATRIX = np.array([[1.2, 0.3, 0.0, 0.0], [0.0, 0.8, 0.0, 0.0], [0.0, 0.0, 0.5, -0.5], [0.0, 0.0, 0.5, 0.5]])


def test_markers_stand_at_frequency_and_time_constant():
    ds = modes(LinearMap(MATRIX.tolist()))
    _, ax = plt.subplots()
    assert plot_modes(ds, ax=ax) is ax
    drawn = np.concatenate([each.get_offsets().data for each in ax.collections])
    pair = -1 / np.log(np.sqrt(0.5))
    expected = [[0, np.log(2) / np.log(1.2)], [0, -1 / np.log(0.8)], [0.125, pair]]  # of the complex pair one
    np.testing.assert_allclose(sorted(map(tuple, drawn)), sorted(map(tuple, expected)), atol=1e-12)
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {
        "decays (time constant)",
        "grows (doubling time)",
    }


def test_every_set_of_markers_has_its_own_entry():
    """Of three fixed points the outer two are stable and one of these is small."""
    ax = plot_modes(modes(from_function(lambda h, x: (1.5 * h).tanh(), 1), starts=64))
    (small,) = [
        marks for marks in ax.collections if marks.get_label() == "small, of the other point: decays (time constant)"
    ]
    assert len(small.get_offsets()) == 1
    said = [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]
    assert said == [marks.get_label() for marks in ax.collections]
    for marks, handle in zip(ax.collections, ax.get_legend().legend_handles, strict=True):
        np.testing.assert_array_equal(marks.get_edgecolors(), handle.get_edgecolors())
        np.testing.assert_array_equal(marks.get_facecolors(), handle.get_facecolors())
    plt.close("all")


def test_the_points_that_the_verdict_names_are_numbered_in_the_picture():
    ds = modes(from_function(lambda h, x: (1.5 * h).tanh(), 2), starts=64)
    ax = plot_modes(ds)
    named = set(re.findall(r"at (point \d+)", ds.attrs["verdict"]))
    assert named
    assert {text.get_text().removeprefix("of ") for text in ax.texts} == named


def test_an_undecided_mode_stands_at_infinity():
    ax = plot_modes(modes(LinearMap(np.diag([1.0, 0.5]).tolist())))
    assert "∞" in [text.get_text() for text in ax.texts]
    assert any("undecided" in text.get_text() for text in ax.get_legend().get_texts())


def test_the_tables_hold_drives_and_read_outs():
    M = MATRIX[:2, :2]
    system = from_function(lambda h, x: h @ h.new_tensor(M).T + x, 2, 2)
    ds = modes(system, readout=lambda h: 3 * h[..., :1])
    left, drive, read = plot_modes(ds).figure.axes
    np.testing.assert_allclose(
        [float(text.get_text()) for text in drive.texts], 100 * ds["input_share"].values[0].ravel(), atol=0.51
    )
    outputs = ds["output_read"].values[0].ravel()
    np.testing.assert_allclose([float(text.get_text()) for text in read.texts], outputs, rtol=0.051)
    assert read.get_title(loc="left") == "Outputs per unit\nof the mode"
    assert [text.get_text() for text in drive.get_yticklabels()] == ["doubles in 3.8 steps", "τ 4.48 steps"]
    assert " ".join(left.get_title(loc="left").split()) == "Time constants and doubling times of point 0, saddle"
    assert "or doubling time" in left.get_ylabel()


def test_an_axis_has_no_doubling_time_where_nothing_grows():
    assert "doubling" not in plot_modes(modes(LinearMap(np.diag([0.9, 0.5]).tolist()))).get_ylabel()


def test_where_all_grows_every_time_is_a_doubling_time():
    ax = plot_modes(modes(LinearMap(np.diag([1.5, -1.25]).tolist())))
    assert ax.get_ylabel() == "doubling time (step)"
    assert ax.get_title(loc="left").startswith("Doubling times of point 0")


def test_nothing_found_is_said():
    ax = plot_modes(modes(from_function(lambda h, x: h + 1, 1), starts=4))
    assert "no fixed point found" in [text.get_text() for text in ax.texts]


def test_without_a_choice_the_points_are_those_of_the_verdict():
    ds = modes(from_function(lambda h, x: (1.5 * h).tanh() + x, 1, 1))
    stable, unstable = np.flatnonzero(ds["stable"] == 1), int(np.flatnonzero(ds["stable"] == 0)[0])
    ax = plot_modes(ds)
    assert [text.get_text() for text in ax.texts] == [f"of point {stable[0]}", f"of point {unstable}"]
    assert (
        " ".join(ax.get_title(loc="left").split())
        == f"Time constants and doubling times; large: of points {stable[0]} and {unstable}"
    )
    shapes = {marks.get_label(): marks.get_paths()[0].vertices.tobytes() for marks in ax.collections}
    large = [
        shapes[words]
        for words in (f"point {stable[0]}: decays (time constant)", f"point {unstable}: grows (doubling time)")
    ]
    assert large[0] != large[1]
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(shapes)
    labels = [each.get_ylabel() for each in ax.figure.axes[1:]]
    assert labels[0].startswith(f"point {stable[0]}, stable node")
    assert labels[1].startswith(f"point {unstable}, unstable node")
    images = [image for each in ax.figure.axes for image in each.get_images()]
    assert {image.get_clim() for image in images} == {(0.0, 1.15)}  # one scale for all shares


@pytest.mark.parametrize(
    "k, words",
    [
        (2, "Of the 4 modes at a fixed point the 2 whose eigenvalue μ has the largest modulus are drawn."),
        (4, "Of the 4 modes at a fixed point all are drawn."),
    ],
)
def test_the_caption_says_how_many_modes_of_how_many_are_drawn(k, words):
    figure = plot_modes(modes(LinearMap(MATRIX.tolist()), k=k)).figure
    assert any(words in text.get_text().replace("\n", " ") for text in figure.texts)
    plt.close("all")


def test_the_caption_says_how_many_rows_the_tables_have():
    """Of two points each has half of the rows: six of eight real modes."""
    system = from_function(lambda h, x: (h.new_tensor([1.5, *[0.1] * 7]) * h).tanh() + 0 * x, 8, 1)
    ds = modes(system, starts=64)
    ax = plot_modes(ds)
    assert len({text.get_text() for text in ax.texts}) == 2
    assert any("The tables have the first 6" in text.get_text().replace("\n", " ") for text in ax.figure.texts)
    plt.close("all")
