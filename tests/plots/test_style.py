"""The style ends with its block, and leaves alone what is not its own."""

import matplotlib.pyplot as plt
import pytest

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
        ("λ_max, x_train and weight_hh_l0", "λ_max, x_train and weight_hh_l0"),
    ],
)
def test_only_indices_are_set_as_mathematics(words, drawn):
    assert style.subscripts(words) == drawn
