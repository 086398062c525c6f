"""The picture of a Lyapunov function: what is proved and sampled; where there is none, what forbids it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab.diagnostics.lyapunov_function import lyapunov_function
from dynlab.matrices import planar_matrix
from dynlab.plots.lyapunov_function import plot_lyapunov_function
from dynlab.systems.planar import planar_system
from dynlab.systems.textbook import LinearMap

pytest.importorskip("flint")


def sides(ax):
    """The eigenvalues that are drawn, by the words of their legend."""
    drawn = {marks.get_label(): marks.get_offsets().data for marks in ax.collections}
    return {words: np.sort_complex(points[:, 0] + 1j * points[:, 1]) for words, points in drawn.items()}


def test_the_eigenvalues_of_what_is_not_stable_are_drawn_by_their_side_of_the_circle():
    ax = plot_lyapunov_function(lyapunov_function(LinearMap([[1.25, 0.0], [0.0, 0.5]]), starts=4))
    drawn = sides(ax)
    assert list(drawn) == ["|μ| < 1: decays (1)", "|μ| > 1: grows (1)"]
    np.testing.assert_allclose(np.concatenate(list(drawn.values())), [0.5, 1.25])
    assert ax.get_title(loc="left") == "Largest |μ|: 1.25"
    assert ax.figure.get_suptitle() == "No Lyapunov function: h ↦ W h"
    plt.close("all")


@pytest.mark.parametrize("kind", ["map", "flow"])
def test_the_proved_rate_is_no_faster_than_the_sampled_one_which_is_the_datasets(kind):
    ds = lyapunov_function(planar_system(planar_matrix("diff"), "feedback", 0.05), kind=kind, starts=4)
    plane, _, levels = plot_lyapunov_function(ds).figure.axes
    sampled, proved, _ = levels.lines
    assert proved.get_ydata()[0] < sampled.get_ydata()[0]
    np.testing.assert_allclose(-sampled.get_ydata()[:20], ds["largest_rate"].values[0, :20])
    circle = next(line for line in plane.lines if str(line.get_label()).startswith("proved"))
    np.testing.assert_allclose(np.hypot(*circle.get_data()), float(ds["radius"][0]))
    plt.close("all")
