"""The pictures of states: orbits, equilibria, basins, manifolds and branches stand where the Dataset says."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from pictures import in_order, labelled, legend_words

import dynlab as dl
from dynlab.diagnostics.bifurcation.parameter_plane import parameter_plane
from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.matrices import planar_matrix
from dynlab.plots import style
from dynlab.plots.bifurcation import LINES
from dynlab.plots.parameter_plane import plot_parameter_plane
from dynlab.plots.phase_plane import plot_divergence, plot_phase_plane
from dynlab.plots.stability_disc import needs_close_up, plot_stability_disc
from dynlab.systems import create
from dynlab.systems.planar import planar_system


@pytest.fixture(scope="module")
def diff():
    return planar_portrait("diff", "feedback")


def test_orbits_starts_and_equilibria_are_drawn_where_they_are(diff):
    ax = plot_phase_plane(diff, ax=plt.subplots()[1])
    lines = [c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_segments()) == 50]
    assert len(lines) == 3
    for line, orbit in zip(lines, diff["trajectory"].values, strict=True):
        np.testing.assert_array_equal([segment[1] for segment in line.get_segments()], orbit[1:])
    marked = labelled(ax)
    np.testing.assert_array_equal(marked["start"].get_xydata(), diff["trajectory"].values[:, 0])
    assert marked["flow: stable focus"].get_xydata().tolist() == [[0.0, 0.0]]
    assert marked["flow: stable focus"].get_markerfacecolor() == style.STABLE
    assert marked["Euler's map: unstable focus"].get_markerfacecolor() == style.GROUND
    (curve,) = [c.get_offsets() for c in ax.collections if len(c.get_offsets()) == 1200]
    np.testing.assert_array_equal(curve, diff["long_orbit"].values.reshape(-1, 2))
    contours = [c for c in ax.collections if type(c).__name__ == "QuadContourSet"]
    for contour, row in zip(contours, [[-0.15, -2.0], [2.0, -0.15]], strict=True):  # where a component of W h vanishes
        assert max(np.abs(path.vertices @ row).max() for path in contour.get_paths()) < 0.01


def test_the_disc_shows_the_eigenvalues_and_where_the_critical_step_puts_them(diff):
    ax = plot_stability_disc(diff, close_up=True)
    points = [line.get_xydata()[0] for line in ax.get_lines() if line.get_marker() == "o"]
    np.testing.assert_allclose(in_order(points), [(-0.015, -0.2), (-0.015, 0.2)], atol=1e-15)
    crosses = [complex(*xy) for line in ax.get_lines() if line.get_marker() == "X" for xy in line.get_xydata()]
    assert np.abs(1 + np.array(crosses)) == pytest.approx([1.0, 1.0])
    (disc,) = ax.patches
    assert (disc.center, disc.radius) == ((-1.0, 0.0), 1.0)
    assert needs_close_up(diff)
    assert not needs_close_up(planar_portrait("plus", "feedback"))


def test_divergence_is_white_at_zero_and_a_maps_factor_on_areas_where_it_is_1(diff):
    ds = planar_portrait("0.5,1;-2,0.3", "vanilla")
    for one, values in ((diff, diff["divergence"].values), (ds, np.log10(np.maximum(ds["area_factor"].values, 1e-6)))):
        mesh = plot_divergence(one).collections[0]
        low, high = mesh.get_clim()
        assert low == -high
        np.testing.assert_allclose(np.asarray(mesh.get_array()).ravel(), values.ravel())


def test_steps_of_a_map_are_dots_that_no_line_joins():
    ds = planar_portrait("0.5,1;-2,0.3", "linear")
    ax = plot_phase_plane(ds, ax=plt.subplots()[1])
    assert not [line for line in ax.collections if isinstance(line, LineCollection)]
    dots = [one.get_offsets() for one in ax.collections if len(one.get_offsets()) == 50]
    np.testing.assert_array_equal(dots, ds["trajectory"].values[:, 1:])


def test_nullclines_cross_without_a_bend():
    ds = dl.phase_plane(dl.EquationFlow("x*(3 - x - 2*y), y*(2 - x - y)"), steps=5)
    contours = [c for c in plot_phase_plane(ds).collections if type(c).__name__ == "QuadContourSet"]
    x, y = np.concatenate([path.vertices for path in contours[0].get_paths()]).T
    assert np.minimum(np.abs(x), np.abs(3 - x - 2 * y)).max() < 0.02


def test_beside_a_pole_the_divergence_has_the_colours_of_nine_of_ten_values():
    ds = dl.phase_plane(dl.EquationFlow("y/(1 + x), -x"), window=2.0, steps=5)
    mesh, sizes = plot_divergence(ds).collections[0], np.abs(ds["divergence"].values)
    assert mesh.get_clim()[1] == pytest.approx(5 * np.quantile(sizes[np.isfinite(sizes)], 0.9), abs=1e-11)
    assert np.isfinite(mesh.get_array()).all()


@pytest.mark.parametrize("off, hollow", [(0.5, True), (0.0, False)])
def test_an_attractor_off_the_plane_of_basins_is_hollow(off, hollow):
    states = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0.5, 0], [0, -0.5, 0]])
    system = dl.from_function(lambda h, x: torch.stack([torch.tanh(3 * h[0]), 0.5 * h[1], 0.5 * h[2] + 0.5 * off]), 3)
    ax = dl.plot_basins(dl.basins(system, states=states, grid=20, extent=1.5))
    drawn = [line for line in ax.lines if line.get_marker() in "os"]
    assert len(drawn) == 2
    assert {line.get_markerfacecolor() == "none" for line in drawn} == {hollow}
    assert any("projected" in each for each in legend_words(ax)) == hollow


@pytest.fixture(scope="module")
def memories():
    """Two units that each hold a bit: four stable points, four saddles, one source."""
    inputs = np.random.default_rng(0).standard_normal((30, 40, 2))
    factors = torch.tensor([2.0, 3.0]).double()
    return dl.geometry(dl.from_function(lambda h, x: torch.tanh(h * factors + x), 2, 2), inputs)


@pytest.mark.parametrize("projection", [None, "3d"])
def test_fixed_points_among_trajectories_are_filled_where_stable(memories, projection):
    ax = dl.plot_geometry(memories, ax=plt.figure().add_subplot(projection=projection))
    assert {"4 × stable", "4 × unstable: 1 direction grows", "24 of 30 trajectories"} <= set(legend_words(ax))
    for number in (0, 1, 2):
        members = memories["unstable_directions"].values == number
        drawn = ax.collections[number]
        places = np.stack(drawn._offsets3d, axis=1)[:, :2] if projection else drawn.get_offsets().data
        np.testing.assert_allclose(in_order(places), in_order(memories["fixed_point_position"].values[members, :2]))
        assert to_hex(drawn.get_facecolors()[0]) == to_hex(style.GROUND if number else style.STABLE)


def test_branches_are_solid_where_stable_and_every_bifurcation_has_its_marker():
    system = dl.EquationMap("r*x*(1 - x)", r=3)
    ds = dl.bifurcation(system, parameter="r", lowest=2.5, highest=3.5, max_period=2, values=0)
    top = dl.plot_bifurcation(ds).figure.axes[0]
    assert top.get_ylabel() == "state x"
    flips = set(ds["bifurcation_parameter"].values.round(12))
    assert {float(line.get_xdata()[0].round(12)) for line in top.lines if line.get_marker() == "s"} == flips
    for stable, look in ((1, "-"), (0, "--")):
        of_its_colour = [line for line in top.lines if line.get_color() == LINES[stable]["color"]]
        drawn = [line.get_xdata() for line in of_its_colour if line.get_linestyle() == look]
        known = (ds["stable"].values == stable) & np.isfinite(ds["branch_orbit"].values[:, 0])
        expected = set(ds["branch_parameter"].values[known].round(12))
        shown = set(np.concatenate(drawn).round(12))
        assert expected <= shown <= expected | flips  # which end a line of either kind


def test_the_parameter_plane_has_the_border_of_stability_and_the_periods_by_their_words():
    ds = parameter_plane(create("henon"), parameters=("a", "b"), lowest=(0.2, 0.1), highest=(1.2, 0.3), grid=21)
    left = plot_parameter_plane(ds)
    np.testing.assert_allclose(np.ma.getdata(left.collections[0].get_array()).ravel(), ds["leading"].values.ravel())
    border = next(path for one in left.collections[1:] for path in one.get_paths() if len(path.vertices) > 5)
    a, b = border.vertices.T
    np.testing.assert_allclose(a, 3 * (1 - b) ** 2 / 4, atol=0.02)  # where period 1 doubles, between points of the grid
    right = next(ax for ax in left.figure.axes if ax.get_legend())
    assert legend_words(right)[:3] == ["at rest", "period 2", "period 4"]


@pytest.mark.parametrize("kind", ["map", "flow"])
def test_the_proved_rate_is_no_faster_than_the_sampled_one_which_is_the_datasets(kind):
    pytest.importorskip("flint")
    system = planar_system(planar_matrix("diff"), "feedback", 0.05)
    ds = dl.lyapunov_function(system, kind=kind, starts=4)
    plane, _, levels = dl.plot_lyapunov_function(ds).figure.axes
    sampled, proved, _ = levels.lines
    assert proved.get_ydata()[0] < sampled.get_ydata()[0]
    np.testing.assert_allclose(-sampled.get_ydata()[:20], ds["largest_rate"].values[0, :20])
    circle = next(line for name, line in labelled(plane).items() if name.startswith("proved"))
    np.testing.assert_allclose(np.hypot(*circle.get_data()), float(ds["radius"][0]))
