"""The picture of basins: every start has its attractor's colour, which the legend names."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import same_color

from dynlab.diagnostics.basins import basins
from dynlab.plots.basins import plot_basins
from dynlab.systems import from_function
from dynlab.systems.planar import planar_system


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def colours(ax):
    (image,) = ax.images
    return [image.cmap(image.norm(value)) for value in np.unique(np.asarray(image.get_array()))]


@pytest.mark.parametrize("off, hollow", [(0.5, True), (0.0, False)])
def test_what_lies_off_the_plane_is_hollow(off, hollow):
    states = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0.5, 0], [0, -0.5, 0]])
    system = from_function(lambda h, x: torch.stack([torch.tanh(3 * h[0]), 0.5 * h[1], 0.5 * h[2] + 0.5 * off]), 3)
    ax = plot_basins(basins(system, states=states, grid=20, extent=1.5))
    drawn = [line for line in ax.lines if line.get_marker() in "os"]
    assert len(drawn) == 2
    assert {line.get_markerfacecolor() == "none" for line in drawn} == {hollow}
    assert any("projected" in each for each in words(ax)) == hollow
    plt.close("all")


def test_the_legend_has_the_colour_of_every_start():
    """Those with h₁ = 0 end on the saddle at 0, whose marker is open."""
    ax = plot_basins(basins(planar_system([[2, 0], [0, 0.5]], "vanilla"), grid=21, steps=200))
    shown, patches = colours(ax), ax.get_legend().get_patches()
    assert len(shown) == len(patches) == 3
    for colour in shown:
        assert any(same_color(patch.get_facecolor(), colour) for patch in patches)
    assert words(ax) == ["0  stable node (47.6 %)", "1  stable node (47.6 %)", "2  saddle (4.8 %)"]
    assert {text.get_text() for text in ax.texts} <= {"0", "1", "2"}
    plt.close("all")
