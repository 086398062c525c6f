"""Text of every picture is large enough and apart from other text, files have text as text, and dark is readable."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.text import Text
from pictures import outside, overlapping, shown

from dynlab.plots import dark, style
from dynlab.plots.breaking import broken
from dynlab.plots.text_size import EDGE

SMALLEST = 9.0  # pixels, where the picture is 800 wide
READABLE, SEEN = 4.5, 3.0  # times lighter or darker than the ground: text, and lines (WCAG 2.2)
VERDICT = "The largest Lyapunov exponent is small. " * 12
LONG = "a name that is much longer than the axes that it stands under are wide, whatever the size of the picture"


def lines(ds, ax, title="A panel with a title that is longer than its panel", **look):
    for number in range(5):
        ax.plot(np.linspace(0, 1, 9), number * np.arange(9.0), label=f"line {number}, {LONG[:24]}")
    ax.set(title=title, xlabel=LONG, ylabel=LONG)
    style.legend_below(ax, 5)


def picture(count=2, below=False, size=(8.0, 3.5)):
    attrs = {"system": "lorenz", "verdict": VERDICT, "source": '{"file": "lorenz.pt"}'}
    return style.panels(xr.Dataset(attrs=attrs), [(lines, {})] * count, size, "Lines", below=below).figure


@pytest.mark.parametrize("width", [3.0, 8.0, 16.0])
def test_text_grows_with_the_figure(width):
    figure = picture(size=(width, width / 2))
    heights = [text.get_fontsize() / 72 * 800 / width for text in shown(figure)]
    assert min(heights) >= SMALLEST
    assert figure.get_figwidth() == width


@pytest.mark.parametrize("count, below", [(1, False), (2, False), (3, False), (2, True)])
def test_no_two_texts_overlap_and_none_leaves_the_figure(count, below):
    figure = picture(count, below, (9.0, 4.0 * count))
    assert overlapping(figure) == []
    assert outside(figure) == []


@pytest.mark.parametrize("letters", [11, 14, 16, 17, 19, 23, 26, 30, 33, 39])
def test_a_legend_of_all_panels_leaves_the_figure_at_no_resolution(letters):
    with style.style((9.0, 4.0)) as size:
        figure = plt.figure(figsize=size)
        handles = figure.add_subplot().plot(np.zeros((2, 9)))
        named = {f"{number} {'growing directions ' * 3}"[:letters]: line for number, line in enumerate(handles)}
        style.finish(xr.Dataset(attrs={"system": "lorenz", "verdict": "Short."}), figure, "Legends", named)
    for resolution in (72, 110, 150, 200, 300):
        figure.set_dpi(resolution)
        assert figure.legends[0].get_window_extent().width <= figure.bbox.width * (1 - 2 * EDGE)


def test_a_formula_is_never_parted():
    text = broken(r"the norm of $\partial h_T / \partial h_t$ and of $h _ t$ over time, and so on", 12)
    assert r"$\partial h_T / \partial h_t$" in text
    assert "$h _ t$" in text
    assert "\n" in text


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_two_runs_give_the_same_bytes(suffix):
    assert style.rendered(picture(), suffix) == style.rendered(picture(), suffix)


def test_text_of_a_vector_file_is_text():
    drawn = style.rendered(picture(), "svg").decode()
    assert "Lines: lorenz, lorenz.pt" in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    pdf = style.rendered(picture(), "pdf")
    assert b"/Type3" not in pdf.replace(b" ", b"")
    assert b"CreationDate" not in pdf


def test_an_asked_size_is_kept():
    with style.asked((6.0, 4.0)):
        figure = picture()
    assert figure.get_size_inches().tolist() == [6.0, 4.0]
    assert style._ASKED.get() is None


@pytest.mark.parametrize("theme", style.THEMES)
def test_text_and_lines_are_seen_on_their_ground(theme):
    figure = picture()
    if theme == "dark":
        dark.darken(figure)
    ground = figure.get_facecolor()
    assert min(dark.contrast(text.get_color(), ground) for text in figure.findobj(Text)) >= READABLE
    assert dark.contrast(figure.axes[0].get_facecolor(), ground) < 1.05
    if theme == "dark":
        meanings = (style.STABLE, style.UNSTABLE, style.UNDECIDED, style.BLACK, *style.CYCLE)
        turned = dark.turned([plt.matplotlib.colors.to_rgba(colour) for colour in meanings])
        assert min(dark.contrast(colour, ground) for colour in turned) >= SEEN


def test_turning_keeps_greys_grey_and_their_order():
    greys = np.column_stack([np.repeat(np.linspace(0, 1, 9)[:, None], 3, axis=1), np.ones(9)])
    found = dark.turned(greys)
    assert np.ptp(found[:, :3], axis=1).max() < 1e-3
    assert (np.diff(found[:, 0]) < 0).all()
    assert dark.contrast("white", "black") == pytest.approx(21.0)


def test_a_colour_map_that_panels_share_is_turned_once():
    figure, panels = plt.subplots(1, 2)
    drawn = [ax.imshow(np.eye(3), cmap="Greys") for ax in panels]
    dark.darken(figure)
    assert all(dark.contrast(image.get_cmap()(0.0), dark.GROUND) < 1.2 for image in drawn)


def test_arrows_are_turned_with_their_words():
    ax = plt.subplots()[1]
    note = ax.annotate("off the scale", (1, 1), (0, 0), arrowprops={"arrowstyle": "->", "color": "black"})
    dark.darken(ax.figure)
    assert dark.contrast(note.arrow_patch.get_edgecolor(), dark.GROUND) >= READABLE


def test_the_ground_behind_words_is_turned_with_them():
    figure, ax = plt.subplots()
    words = ax.text(0.5, 0.5, "words", bbox=style.ground(ax))
    dark.darken(figure)
    assert to_hex(words.get_bbox_patch().get_facecolor()) == to_hex(ax.get_facecolor()) == dark.GROUND
    plt.close("all")


@pytest.mark.parametrize("word", ["mmmm MMMM", "illi till"])
def test_a_caption_stays_in_the_figure_however_wide_its_letters_are(word):
    figure, _ = plt.subplots(figsize=(8, 5), layout="constrained")
    style.caption(figure, "Title", " ".join([word] * 60))
    assert outside(figure) == []
    assert " ".join(figure.texts[-1].get_text().split()) == " ".join([word] * 60)
    plt.close("all")


@pytest.mark.parametrize("letters", range(12, 60))
def test_signs_stay_with_their_numbers(letters):
    text = "the range 1 − 7e−06 to 1.005 at γ = 1: J v(t − 1) at 95 % of x ≤ 2 (seed 12), and input 0."
    for line in broken(text, letters).split("\n"):
        assert line[0] not in "−=%≤"
        assert line[-1] not in "−=≤"
        assert line not in ("12), and", "0.")


def test_thousands_are_parted_along_an_axis_and_a_legend_is_as_its_figure_is():
    """Both also where the figure is made ready after the block of its style, as the gallery's are."""
    with style.style((8.0, 4.0)) as size:
        figure, ax = plt.subplots(figsize=size)
        ax.plot([-2e4, 2e4], [0, 1], label="a line")
        style.legend_below(ax, 1)
    style.caption(figure, "Title", "A sentence.")
    figure.canvas.draw()
    said = [label.get_text() for label in ax.get_xticklabels()]
    assert {"−20,000", "0", "20,000"} <= set(said)
    (entry,) = ax.get_legend().get_texts()
    assert entry.get_fontsize() == ax.xaxis.label.get_fontsize()
    assert not ax.get_legend().get_frame_on()
    plt.close(figure)


def test_lines_of_a_contour_are_turned_once_and_the_walls_of_a_box_too():
    """A colour that is turned twice is nearly what it was: black lines on a black ground."""
    figure = plt.figure()
    flat, box = figure.add_subplot(121), figure.add_subplot(122, projection="3d")
    drawn = flat.contour([[0.0, 1.0], [1.0, 2.0]], levels=[0.5], colors=["black"])
    dark.darken(figure)
    assert dark.contrast(drawn.get_edgecolor()[0], dark.GROUND) > 10
    assert dark.contrast(box.xaxis.pane.get_facecolor(), dark.GROUND) < 1.5
    plt.close(figure)


def test_the_first_step_of_an_orbit_is_seen_on_either_ground():
    first = style.TIME(0.0)
    assert dark.contrast(first, "white") > 1.7
    assert dark.contrast(dark.turned(first)[0], dark.GROUND) > 2.4


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
@pytest.mark.parametrize(
    "name",
    ["a$x^{$.pt", "run$1$.pt", "\x1b]0;owned\x07.pt", "\u65e5\u672c \U0001f600.pt", "\udcff.pt", "two\nlines.pt"],
)
def test_a_picture_of_a_file_of_any_name(name, suffix):
    """Dollars are no mathematics, control characters and halves of pairs are shown as escapes, and nobody is warned."""

    def named(ds, ax, **look):
        ax.plot([0, 1], [0, 1], label=name)
        ax.set(title=name, xlabel=name, ylabel="y")
        style.legend_below(ax, 1)

    attrs = {"system": "gru", "verdict": f"What stands in {name}.", "source": json.dumps({"file": name})}
    figure = style.panels(xr.Dataset(attrs=attrs), [(named, {})], (8.0, 3.5), "Lines").figure
    words = {text.get_text() for text in figure.findobj(Text)}
    assert not any("\x1b" in text or "\udcff" in text for text in words)
    if "$" in name:
        assert any(name.replace("$", r"\$") in text for text in words)
    assert len(style.rendered(figure, suffix)) > 1000


def test_a_formula_is_as_long_as_it_is_when_set():
    text = "from $e^{−2.95}$ to $e^{0.86}$, and on"
    assert broken(text, len("from e−2.95 to e0.86, and on")) == text
    assert broken(text, 21) == text.replace(", and", ",\nand")
    assert broken("of lstm-har2 alone", 12) == "of lstm-har2\nalone"
    assert broken("feedback, W₀ − 0.15 I", 20) == "feedback,\nW₀ − 0.15 I"
