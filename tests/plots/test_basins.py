"""The picture of basins: what lies off the plane of the starts is hollow, and the title says whose basins they are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import same_color
from matplotlib.patches import Patch

from dynlab.diagnostics.basins import basins
from dynlab.matrices import planar_matrix
from dynlab.plots.basins import plot_basins
from dynlab.systems import Euler, create, from_function
from dynlab.systems.planar import planar_system


@pytest.mark.parametrize("off, hollow", [(0.5, True), (0.0, False)])
def test_what_lies_off_the_plane_is_hollow(off, hollow):
    states = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0.5, 0], [0, -0.5, 0]])
    system = from_function(lambda h, x: torch.stack([torch.tanh(3 * h[0]), 0.5 * h[1], 0.5 * h[2] + 0.5 * off]), 3)
    ds = basins(system, states=states, grid=20, extent=1.5)
    ax = plot_basins(ds)
    drawn = [line for line in ax.lines if line.get_marker() in "os" and len(line.get_xdata())]
    assert len(drawn) == 2
    assert {line.get_markerfacecolor() == "none" for line in drawn} == {hollow}
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any("projected onto it" in each for each in words) == hollow
    assert "of the states' variance" in ax.get_title(loc="left")
    plt.close("all")


def test_the_title_says_that_the_map_is_eulers_and_with_which_step():
    figure = plot_basins(basins(planar_system(planar_matrix("diff")), grid=10, steps=200)).figure
    assert figure.texts[0].get_text() == "Basins of Euler's map, ε = 0.1: h′ = tanh(W h)"
    ds = basins(Euler(create("lorenz"), 0.01), grid=8, steps=200)
    figure = plot_basins(ds).figure
    assert figure.texts[0].get_text() == "Basins of Euler's map, ε = 0.01: lorenz"
    parts = ds["direction"].values[0]
    assert figure.axes[0].get_xlabel().startswith(f"first principal component: {parts[0]:.2f} h₁".replace("-", "−"))
    plt.close("all")


def turned(h, x):
    """Round and round, ever more slowly away from 0."""
    return h + 0.1 * torch.tanh(torch.stack([-h[..., 1], h[..., 0]], -1))


@pytest.mark.parametrize(
    "step, gone, said",
    [
        (turned, 0, "no orbit has settled after 100 steps:\nno basin is known here"),
        (turned, 3, "no other orbit has settled after 100 steps:\nno basin is known here"),
        (lambda h, x: h + 0.1, 0, "↗"),  # the legend says that it runs away
        (lambda h, x: 2 * h + 9, 8, "every orbit leaves:\nthere is no basin here"),
    ],
)
def test_a_window_in_which_nothing_ends_says_so(step, gone, said):
    ds = basins(from_function(step, 2), grid=8, steps=100, follow=False)
    ds["basin"][:gone] = -1  # these rows leave every bound
    ax = plot_basins(ds)
    assert [text.get_text() for text in ax.texts] == [said]
    assert ax.get_legend().get_title().get_text() == "Part of the starts"
    plt.close("all")


def test_a_point_on_which_only_its_own_start_ends_has_no_colour_in_the_legend():
    """Around the unstable focus of Euler's map all other starts end on the closed curve."""
    ax = plot_basins(basins(planar_system(planar_matrix("diff")), grid=21, steps=1500))
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[1].startswith("unstable focus")
    assert not ax.texts  # one basin needs no number
    assert len([patch for patch in ax.get_legend().get_patches() if isinstance(patch, Patch)]) == 1
    plt.close("all")


def test_the_legend_has_the_colour_of_every_start():
    """Those with h₁ = 0 end on the saddle at 0, which is white on the map: their colour is no marker's."""
    ds = basins(planar_system([[2, 0], [0, 0.5]], "vanilla"), grid=21, steps=200)
    ax = plot_basins(ds)
    (image,) = ax.images
    shown = [image.cmap(image.norm(value)) for value in np.unique(np.asarray(image.get_array()))]
    patches = [patch for patch in ax.get_legend().get_patches() if isinstance(patch, Patch)]
    assert len(shown) == len(patches) == 3
    for colour in shown:
        assert any(same_color(patch.get_facecolor(), colour) for patch in patches)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["0  stable node (47.6 %)", "1  stable node (47.6 %)", "2  saddle (4.8 %)"]
    plt.close("all")


@pytest.mark.parametrize("up, said", [(0.0, ""), (0.6, "; that of 0 lies over the basin of 1, not in it")])
def test_a_projection_that_falls_into_another_basin_is_said_to(up, said):
    """Starts with h₁ > 0 end near h₁ = 1, others near −1, both off the plane; one marker is put across the border."""
    states = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0.5, 0], [0, -0.5, 0]])
    system = from_function(lambda h, x: torch.stack([torch.tanh(3 * h[0]), 0.5 * h[1], 0.5 * h[2] + 0.25]), 3)
    ds = basins(system, states=states, grid=20, extent=1.5)
    moved = ds["attractor_x"].copy(deep=True)
    moved.values[0, 0] += -np.sign(moved.values[0, 0]) * 2.5 * up  # across the border at 0
    ax = plot_basins(ds.assign(attractor_x=moved))
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    # each basin has its number once, and so has a marker that lies over another one's
    assert sorted(text.get_text() for text in ax.texts) == ["0", *["0"] * bool(said), "1"]
    (hollow,) = (" ".join(each.split()) for each in words if each.startswith("hollow"))
    assert hollow == f"hollow: off the plane, projected onto it{said}"
    plt.close("all")


def test_orbits_that_run_away_are_drawn_by_direction():
    """h + 0.1 tanh(W h) with W = (1, 2; 2, 4) grows along (1, 1) above the line of fixed points, and back below it."""
    ds = basins(planar_system([[1, 2], [2, 4]]), grid=21)
    ax = plot_basins(ds)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    named = {each.partition(" (")[0] for each in words}
    assert named == {"continuum of fixed points", "drifts ↗", "drifts ↙"}
    (image,) = ax.images
    shown = {image.cmap(image.norm(value)) for value in np.unique(np.asarray(image.get_array()))}
    assert shown == {patch.get_facecolor() for patch in ax.get_legend().get_patches()}
    at = {text.get_text(): np.array(text.get_position()) for text in ax.texts}
    assert at["↗"] @ [1, 2] > 0 > at["↙"] @ [1, 2]
    plt.close("all")
