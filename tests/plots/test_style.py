"""The style ends with its block; titles say whose a picture is; captions have two lines of whole sentences."""

import json

import matplotlib.pyplot as plt
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from dynlab.plots import layout, style
from dynlab.plots.titles import named_system, of_whom


def test_style_restores_its_own_settings_and_no_others():
    """A backend that is loaded inside the block makes pyplot interactive for good, as in a notebook."""
    before = dict(plt.rcParams)
    try:
        with style.style((8.0, 5.0)):
            assert plt.rcParams["axes.spines.top"] is False
            plt.rcParams["interactive"] = True
        changed = {name for name, value in before.items() if plt.rcParams[name] != value}
        assert changed == {"interactive"}
    finally:
        plt.rcParams["interactive"] = before["interactive"]


@pytest.mark.parametrize("theme, ink, ground", [("light", "#000000", "#ffffff"), ("dark", "#e6e6e6", "#161616")])
def test_a_theme_says_which_colours_ink_and_ground_are_and_its_sheet_is_for_figures_of_ones_own(theme, ink, ground):
    with style.asked(None, theme), style.style():
        assert (to_hex(style.BLACK), to_hex(style.GROUND)) == (ink, ground)
    assert (to_hex(style.BLACK), to_hex(style.GROUND)) == ("#000000", "#ffffff")
    with plt.style.context(f"dynlab.plots.{theme}"):
        assert to_hex(plt.rcParams["figure.facecolor"]) == ground


@pytest.mark.parametrize(
    "words, drawn",
    [
        ("∂h_T/∂h_{t−1} and Λ_1", "∂$h_T$/∂$h_{t−1}$ and $Λ_1$"),
        ("Lemma 1: σ_min(∇F) > 0", r"Lemma 1: $σ_{\rm min}$(∇F) > 0"),
        ("from e^−2.95 to e^1,234.5.", "from $e^{−2.95}$ to $e^{1{,}234.5}$."),
    ],
)
def test_only_indices_and_powers_are_set_as_mathematics(words, drawn):
    assert style.subscripts(words) == drawn


DIFF = [["-3/20", "-2"], ["2", "-3/20"]]


@pytest.mark.parametrize(
    "system, settings, name",
    [
        ("feedback", {"matrix": DIFF}, "h′ = tanh(W h), W = −0.15, −2; 2, −0.15"),
        ("vanilla", {"matrix": [["0.123456", "0"], ["0", "1/2"]]}, "h ↦ tanh(W h), W ≈ 0.1235, 0; 0, 0.5"),
        ("lorenz", {"euler_step": 0.01}, "Euler's map of lorenz, ε = 0.01"),
        ("lorenz", {"euler_step": 0.01, "parameter": "step_size"}, "Euler's map of lorenz"),
    ],
)
def test_a_title_gives_the_formula_where_the_name_says_too_little(system, settings, name):
    assert named_system(xr.Dataset(attrs={"system": system, "settings": json.dumps(settings)})) == name


def test_a_title_says_which_layer_of_a_file_as_it_stands():
    attrs = {"system": "lstm", "settings": json.dumps({"layer": "rnn:1r"}), "source": json.dumps({"file": "b$i$.pt"})}
    assert of_whom(xr.Dataset(attrs=attrs)) == r"b\$i\$.pt, layer rnn:1r"


@pytest.mark.parametrize(
    "verdict, shown",
    [
        ("The first is 0.5. " + "The second is far too long for it. " * 9, "The first is 0.5."),
        ("word " * 90, "word"),
    ],
)
def test_a_caption_has_two_lines_of_whole_sentences_and_the_figure_grows_by_it(verdict, shown):
    figure, _ = plt.subplots(figsize=(4, 3), layout="constrained")
    layout.finish(xr.Dataset(attrs={"system": "gru", "verdict": verdict}), figure, "Spectrum")
    caption = figure.texts[-1].get_text()
    assert caption.startswith(shown)
    assert caption.count("\n") <= 1
    assert caption.rstrip().endswith((".", "…"))
    assert figure.get_suptitle() == "Spectrum: gru"
    assert 3.3 < figure.get_figheight() < 4.2


def test_a_legend_below_keeps_to_its_panel_and_under_its_label():
    with style.style((8.0, 4.0)) as size:
        figure, (ax, other) = plt.subplots(1, 2, figsize=size)
        for place in range(5):
            ax.plot([0, 1], [0, place], label=f"a line with a long name, number {place}")
        ax.set_xlabel("time")
        legend = style.legend_below(ax, 3)
        figure.draw_without_rendering()
    assert legend.get_window_extent().y1 < ax.xaxis.label.get_window_extent().y0
    assert legend.get_window_extent().x1 < other.yaxis.get_tightbbox().x0
