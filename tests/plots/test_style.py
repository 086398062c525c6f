"""The style ends with its block; titles say whose a picture is; captions have two lines of whole sentences."""

import json

import matplotlib.pyplot as plt
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from dynlab.plots import style
from dynlab.plots.titles import named_system, of_whom


def test_style_restores_its_own_settings_and_no_others(monkeypatch):
    """A backend that is loaded inside the block makes pyplot interactive for good, as in a notebook."""
    monkeypatch.setitem(plt.rcParams, "interactive", plt.rcParams["interactive"])
    before = dict(plt.rcParams)
    with style.style((8.0, 5.0)):
        assert plt.rcParams["axes.spines.top"] is False
        plt.rcParams["interactive"] = True
    assert {name for name, value in before.items() if plt.rcParams[name] != value} == {"interactive"}


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
    ],
)
def test_a_title_gives_the_formula_where_the_name_says_too_little(system, settings, name):
    assert named_system(xr.Dataset(attrs={"system": system, "settings": json.dumps(settings)})) == name


def test_a_title_says_which_layer_of_a_file_as_it_stands():
    attrs = {"system": "lstm", "settings": json.dumps({"layer": "rnn:1r"}), "source": json.dumps({"file": "b$i$.pt"})}
    assert of_whom(xr.Dataset(attrs=attrs)) == r"b\$i\$.pt, layer rnn:1r"
