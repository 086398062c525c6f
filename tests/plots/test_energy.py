"""The picture of the energy: its axis ends where the flow's energy has faded, and errors are said to be absolute."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab import energy
from dynlab.matrices import planar_matrix
from dynlab.plots.energy import plot_energy
from dynlab.systems.planar import planar_system


@pytest.mark.parametrize("matrix, fades", [("minus", True), ("zero", False)])
def test_the_axis_ends_where_the_flows_energy_has_faded(matrix, fades):
    ds = energy(planar_system(planar_matrix(matrix)), initial_state=[0.5, -0.5], steps=200, integrators=["euler"])
    whole, drift = plot_energy(ds).figure.axes[:2]
    end = whole.get_xlim()[1]
    assert (end < 20) == fades
    exact = ds["exact_energy"].values[0]
    if fades:
        assert exact[ds["time"].values > end].max() < 1e-3 * exact.max()
    error = np.abs(ds["energy"].values - ds["exact_energy"].values)[0, 0]
    line = next(line for line in drift.lines if line.get_label() == "Euler")
    shown = np.isfinite(line.get_ydata())
    np.testing.assert_allclose(np.asarray(line.get_ydata())[shown], error[shown])
    assert "absolute" in drift.get_ylabel()
    plt.close("all")


def test_an_integrator_that_lies_on_the_flow_is_named_with_it_and_drawn_beside():
    """Euler's energy grows where the exact one is constant; Runge–Kutta 4 stays on it to 1e−5."""
    asked = {"initial_state": [0.5, -0.5], "steps": 400, "integrators": ["euler", "rk4"]}
    ds = energy(planar_system(planar_matrix("zero")), **asked)
    whole, drift = plot_energy(ds).figure.axes[:2]
    entries = [text.get_text().replace("\n", " ") for text in whole.get_legend().get_texts()]
    assert entries == ["the flow, and to the eye also Runge–Kutta 4", "Euler"]
    drawn = {line.get_label() for line in whole.lines if not str(line.get_label()).startswith("_")}
    assert drawn == set(entries)
    assert {"Euler", "Runge–Kutta 4"} <= {line.get_label() for line in drift.lines}
    plt.close("all")


@pytest.mark.parametrize("steps, cut", [(5, False), (2000, True)])
def test_a_note_says_that_higher_values_are_cut_off(steps, cut):
    ds = energy(planar_system(planar_matrix("zero")), initial_state=[0.5, -0.5], steps=steps, integrators=["euler"])
    ax = plot_energy(ds)
    assert ("higher values are cut off" in [text.get_text() for text in ax.texts]) == cut
    assert (float(ds["energy"].max()) > ax.get_ylim()[1]) == cut
    plt.close("all")
