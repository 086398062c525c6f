"""The pictures of states: markers stand where the Dataset says, filled where stable; arrows are its displacements."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba

from dynlab.diagnostics.geometry import geometry
from dynlab.diagnostics.geometry.tangent_map import tangent_map
from dynlab.plots import style
from dynlab.plots.geometry import LENGTH, plot_geometry
from dynlab.plots.tangent_map import plot_tangent_map
from dynlab.systems import from_function


@pytest.fixture(scope="module")
def memories():
    """Two units that each hold a bit: four stable points, four saddles, one source."""
    inputs = np.random.default_rng(0).standard_normal((30, 40, 2))
    return geometry(from_function(lambda h, x: torch.tanh(h * torch.tensor([2.0, 3.0]).to(h) + x), 2, 2), inputs)


def labels(ax):
    return {text.get_text() for text in ax.get_legend().get_texts()}


@pytest.mark.parametrize("projection, count", [(None, 2), ("3d", 3)])
def test_markers_are_the_fixed_points_and_filled_where_stable(memories, projection, count):
    ax = plt.figure().add_subplot(projection=projection)
    assert plot_geometry(memories, ax=ax) is ax
    assert {"4 × stable", "4 × unstable: 1 direction grows", "1 × unstable: 2 directions grow"} <= labels(ax)
    assert "24 of 30 trajectories" in labels(ax)
    stable = memories["stable"].values == 1
    for number in (0, 1, 2):
        members = memories["unstable_directions"].values == number
        drawn = ax.collections[number]
        places = np.stack(drawn._offsets3d, axis=1) if count == 3 else drawn.get_offsets().data
        np.testing.assert_allclose(
            np.sort(places[:, :2], axis=0), np.sort(memories["fixed_point_position"][members], 0)
        )
        face = to_rgba(style.STABLE) if stable[members].all() else to_rgba(style.GROUND)
        np.testing.assert_allclose(drawn.get_facecolors()[0], face)


def test_lines_lie_along_growing_directions_and_manifolds(memories):
    _, ax = plt.subplots()
    plot_geometry(memories, ax=ax)
    lines = [line.get_xydata() for line in ax.lines if line.get_color() == style.SKY]
    source = memories["unstable_directions"].values == 2
    axes = memories["unstable_direction"].values[source][0]
    ways = np.array([end[1] - end[0] for end in lines])
    reach = np.ptp(np.concatenate([memories["trajectory"].values.reshape(-1, 2), memories["fixed_point_position"]]), 0)
    np.testing.assert_allclose(ways, 2 * LENGTH * axes * reach.max() / 2)
    curves = [line.get_xydata() for line in ax.lines if line.get_color() == style.BLUE]
    known = memories["unstable_manifold"].values[memories["unstable_directions"].values == 1]
    np.testing.assert_array_equal(curves, known.reshape(-1, *known.shape[2:]))


def test_arrows_are_the_displacements():
    ds = tangent_map(from_function(lambda h, x: torch.tanh(h * h.new_tensor([1.5, 0.8])), 2), [0.0, 0.0], grid=15)
    ax = plot_tangent_map(ds)
    linear, step = (each for each in ax.collections if hasattr(each, "U"))
    for arrows, name in ((linear, "linear_displacement"), (step, "displacement")):
        np.testing.assert_allclose(np.stack([arrows.U, arrows.V], -1), ds[name].values.reshape(-1, 2))
    assert {"μ = 1.5, grows", "μ = 0.8, decays", "linear map J", "the step itself"} <= labels(ax)
