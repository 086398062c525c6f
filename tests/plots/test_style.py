"""The style ends with its block, and leaves alone what is not its own."""

import json

import matplotlib.pyplot as plt
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from dynlab.plots import style


def test_style_restores_its_own_settings_and_no_others():
    """A backend that is loaded inside the block makes pyplot interactive for good, as in a notebook."""
    before = dict(plt.rcParams)
    try:
        with style.style():
            assert plt.rcParams["axes.labelsize"] == style.SETTINGS["axes.labelsize"]
            plt.rcParams["interactive"] = True
        changed = {name for name, value in before.items() if plt.rcParams[name] != value}
        assert changed == {"interactive"}
    finally:
        plt.rcParams["interactive"] = before["interactive"]


@pytest.mark.parametrize(
    "words, drawn",
    [
        ("max_modulus and min_log_gradient are violated", "max_modulus and min_log_gradient are violated"),
        ("∂h_T/∂h_{t−1} and Λ_1", "∂$h_T$/∂$h_{t−1}$ and $Λ_1$"),
        ("Lemma 1: σ_min(∇F) > 0", r"Lemma 1: $σ_{\rm min}$(∇F) > 0"),
        ("from e^−2.95 to e^1,234.5.", "from $e^{−2.95}$ to $e^{1{,}234.5}$."),
        ("multipliers e^(±0.1497i)", "multipliers $e^{±0.1497i}$"),
        ("λ_max, x_train and weight_hh_l0", "λ_max, x_train and weight_hh_l0"),
    ],
)
def test_only_indices_are_set_as_mathematics(words, drawn):
    assert style.subscripts(words) == drawn


def test_the_style_sheet_has_the_same_settings():
    with plt.style.context("default"):
        plt.style.use("dynlab.plots.style")
        sheet = {name: plt.rcParams[name] for name in style.SETTINGS}
    with plt.style.context("default"):
        plt.rcParams.update(style.SETTINGS)
        own = {name: plt.rcParams[name] for name in style.SETTINGS}
    colours = [name for name in own if name.endswith("color")]
    assert {name: to_hex(sheet.pop(name)) for name in colours} == {name: to_hex(own.pop(name)) for name in colours}
    of_lines = [to_hex(each["color"]) for each in sheet.pop("axes.prop_cycle")]
    assert of_lines == [to_hex(each["color"]) for each in own.pop("axes.prop_cycle")]
    assert sheet == own


@pytest.mark.parametrize(
    "system, settings, name",
    [
        ("gru", {"config": {}}, "gru"),
        ("feedback", {}, "feedback"),
        ("feedback", {"config": {}}, "h′ = tanh(W h)"),
        (
            "feedback",
            {"config": {}, "matrix": [["-3/20", "-2"], ["2", "-3/20"]]},
            "h′ = tanh(W h), W = −0.15, −2; 2, −0.15",
        ),
        ("feedback", {"config": {}, "matrix": "diff"}, "h′ = tanh(W h)"),
        ("feedback", {"config": {}, "matrix": [["1.00001", "0"], ["0", "1"]]}, "h′ = tanh(W h)"),
        ("vanilla", {"config": {}, "matrix": [["2", "0"], ["0", "1/2"]]}, "h ↦ tanh(W h), W = 2, 0; 0, 0.5"),
        ("vanilla", {"config": {}}, "vanilla"),
        ("LinearMap", {"config": {}, "matrix": [["2", "0"], ["0", "1"]]}, "the linear map h ↦ W h, W = 2, 0; 0, 1"),
        ("feedback", {"config": {"input_size": 2, "activation": "relu"}}, "h′ = ReLU(W h + V x + b)"),
        ("feedback", {"config": {"input_size": 0, "activation": "identity", "bias": False}}, "h′ = W h"),
        ("LinearMap", {"config": {}}, "the linear map h ↦ W h"),
        ("feedback", {"config": {}, "euler_step": 0.1}, "h ↦ h + ε tanh(W h), ε = 0.1"),
        ("feedback", {"config": {}, "euler_step": 0.1, "parameter": "step_size"}, "h ↦ h + ε tanh(W h)"),
        ("lorenz", {"config": {}, "euler_step": 0.01}, "Euler's map of lorenz, ε = 0.01"),
    ],
)
def test_a_title_gives_the_formula_where_the_name_says_too_little(system, settings, name):
    assert style.named_system(xr.Dataset(attrs={"system": system, "settings": json.dumps(settings)})) == name


def finished(ds, title):
    """A picture with its title and its caption."""
    figure, _ = plt.subplots(figsize=(8, 5), layout="constrained")
    style.finish(ds, figure, title)
    return figure


LONG = [["0.123456", "1.98765"], ["-2.34567", "0.456789"]]


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"matrix": LONG}, "Found. W ≈ 0.1235, 1.988; −2.346, 0.4568."),
        ({"matrix": [["1/4", "1"]] * 5}, "Found. W has 5 × 5 entries."),
        ({"matrix": [["1234", "1.234"], ["12.34", "-1.234"]]}, "Found. W = 1234, 1.234; 12.34, −1.234."),
        ({"matrix": [["2", "0"], ["0", "1"]]}, "Found."),
        ({"input": [0.0, 0.0], "at": "zero"}, "Found. The input is held at zero."),
        ({"input": [0.5, -0.25], "at": "mean"}, "Found. The input is held at its mean, x = (0.5, −0.25)."),
        ({"input": [1.0, 2.0, 3.0], "at": "values"}, "Found. The input is held at x = (1, 2, 3)."),
        ({"input": [1.0] * 9, "at": "mean"}, "Found. The input is held at its mean."),
        ({"input": [1.0] * 9, "at": "values"}, "Found. The input is held at 9 values."),
        ({"input": [0.0], "at": "zero", "at_step": 4}, "Found. The input is held at zero."),
        ({"input": [], "at": "zero"}, "Found."),
        ({"input": [0.0], "at": "zero", "parameter": "input[0]"}, "Found."),
        ({"input": [0.0], "at": "zero", "parameters": ["a", "input[0]"]}, "Found."),
    ],
)
def test_a_caption_says_what_the_title_has_no_room_for_and_which_input_is_held(settings, words):
    told = json.dumps({"config": {}} | settings)
    ds = xr.Dataset(attrs={"system": "feedback", "settings": told, "verdict": "Found."})
    figure = finished(ds, "Picture")
    assert " ".join(figure.texts[-1].get_text().split()) == words
    plt.close("all")


def test_an_input_that_the_verdict_names_is_not_said_again():
    settings = json.dumps({"input": [0.0], "at": "zero"})
    for verdict in ("With the input held at zero: 1 point.", "A at step 3 (its input, and the state before it)."):
        figure = finished(xr.Dataset(attrs={"system": "gru", "settings": settings, "verdict": verdict}), "Picture")
        assert figure.texts[-1].get_text() == verdict
        plt.close("all")


def test_a_title_says_which_layer_of_a_file():
    attrs = {"system": "lstm", "settings": json.dumps({"layer": "rnn:1r"}), "source": json.dumps({"file": "bi.pt"})}
    figure = finished(xr.Dataset(attrs=attrs), "Spectrum")
    assert figure.texts[0].get_text() == "Spectrum: lstm, bi.pt, layer rnn:1r"
    plt.close("all")


@pytest.mark.parametrize(
    "limits, labels",
    [((120.0, 650.0), ["150", "200", "300", "500"]), ((0.3, 2.0), ["0.3", "0.5", "0.7", "1", "1.5", "2"])],
)
def test_less_than_a_decade_has_more_labels_than_its_power_of_ten(limits, labels):
    _, ax = plt.subplots()
    ax.semilogy([0, 1], limits)
    ax.set_ylim(*limits)
    style.plain_numbers(ax)
    ax.figure.canvas.draw()
    shown = [tick.label1 for tick in [*ax.yaxis.get_major_ticks(), *ax.yaxis.get_minor_ticks()]]
    found = {each.get_text() for each in shown if limits[0] <= each.get_position()[1] <= limits[1] and each.get_text()}
    assert sorted(found, key=float) == labels
    plt.close("all")
