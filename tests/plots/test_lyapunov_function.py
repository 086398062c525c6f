"""The picture of what has no Lyapunov function: the eigenvalues that forbid it."""

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
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(drawn)
    assert ax.get_title(loc="left") == "Largest |μ|: 1.25; a stable point's is below 1"
    assert ax.figure.texts[0].get_text().startswith("No Lyapunov function: the linear map")
    assert len(ax.figure.axes) == 1
    plt.close("all")


def test_eigenvalues_next_to_the_circle_are_drawn_from_close_up_on_their_sides():
    """A slow spiral outwards beside a slow decay: 1 + 0.002 ± 0.05i has modulus 1.0032, 0.99 is inside."""
    system = LinearMap([[1.002, -0.05, 0.0], [0.05, 1.002, 0.0], [0.0, 0.0, 0.99]])
    whole, near = plot_lyapunov_function(lyapunov_function(system, starts=4)).figure.axes
    for ax in (whole, near):
        drawn = sides(ax)
        np.testing.assert_allclose(drawn["|μ| < 1: decays (1)"], [0.99])
        np.testing.assert_allclose(drawn["|μ| > 1: grows (2)"], [1.002 - 0.05j, 1.002 + 0.05j])
    assert np.ptp(near.get_xlim()) < 0.2 < np.ptp(whole.get_xlim())
    assert near.get_xlim()[0] < 0.99 < 1.002 < near.get_xlim()[1]
    assert whole.get_legend() is None
    assert near.get_legend() is not None
    plt.close("all")


@pytest.mark.parametrize("kind, step", [("map", "F(h) is the state one step after h. "), ("flow", "")])
def test_both_panels_are_of_one_quantity_below_0_and_its_letters_are_explained(kind, step):
    """The proved line is above the sampled one, and both are numbers below 0 of what the colours are, too."""
    ds = lyapunov_function(planar_system(planar_matrix("diff"), "feedback", 0.05), kind=kind, starts=4)
    plane, levels, bar = plot_lyapunov_function(ds).figure.axes
    said = " ".join(plane.figure.texts[1].get_text().split())
    assert said.endswith(
        f"{step}T is the matrix with P = TᵀT, so that V = |T (h − h*)|². The level of h is |T (h − h*)|. V falls where "
        f"the numbers are below 0."
    )
    assert levels.get_ylabel().replace("\n", " ") == f"largest {bar.get_title(loc='left')}".replace("\n", " ")
    plane.figure.draw_without_rendering()
    sampled, proved, _ = levels.lines
    assert proved.get_ydata()[0] < sampled.get_ydata()[0]
    assert levels.get_ylim()[0] > levels.get_ylim()[1]  # so that it stands higher, as the larger number
    np.testing.assert_allclose(-sampled.get_ydata()[:20], ds["largest_rate"].values[0, :20])
    written = [text.get_text() for text in levels.get_yticklabels() if text.get_text()]
    assert written
    assert all(words.startswith(r"$\mathdefault{-10^{") for words in written)
    plt.close("all")
