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
