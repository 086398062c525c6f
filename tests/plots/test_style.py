"""The style ends with its block, and leaves alone what is not its own."""

import matplotlib.pyplot as plt

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
