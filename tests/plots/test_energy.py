"""The picture of the energy: its axis ends where the flow's energy has faded, and where an orbit leaves it by far."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab import energy
from dynlab.matrices import planar_matrix
from dynlab.plots.energy import plot_energy
from dynlab.systems.planar import planar_system


@pytest.mark.parametrize("matrix, fades, cut", [("minus", True, False), ("zero", False, True)])
def test_lines_are_energies_and_errors_on_axes_that_end_where_nothing_is_seen(matrix, fades, cut):
    ds = energy(planar_system(planar_matrix(matrix)), initial_state=[0.5, -0.5], steps=800, integrators=["euler"])
    whole, drift = plot_energy(ds).figure.axes[:2]
    end, exact = whole.get_xlim()[1], ds["exact_energy"].values[0]
    assert (end < 20) == fades
    assert not fades or exact[ds["time"].values > end].max() < 1e-3 * exact.max()
    assert (float(ds["energy"].max()) > whole.get_ylim()[1]) == cut
    assert ("cut off" in whole.get_title(loc="left")) == cut
    error = np.abs(ds["energy"].values - ds["exact_energy"].values)[0, 0]
    line = next(line for line in drift.lines if line.get_label() == "Euler")
    shown = np.isfinite(line.get_ydata())
    np.testing.assert_allclose(np.asarray(line.get_ydata())[shown], error[shown])
    plt.close("all")
