"""The pictures of eigenvalues: each stands where it lies and on its side, borders and bounds where they are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.contour import ContourSet
from pictures import in_order, labelled, legend_words, markers

import dynlab as dl
from dynlab.plots.critical_steps import plot_diffusion_plane
from dynlab.plots.spectrum import plot_eigenvalues_over_time, plot_flow_spectrum, plot_spectrum
from dynlab.plots.stability import plot_step_region, plot_theory_bounds
from dynlab.systems import Euler, create
from dynlab.systems.textbook import LinearMap

MATRIX = np.array([[1.2, 0.3, 0.0, 0.0], [0.0, 0.8, 0.0, 0.0], [0.0, 0.0, 0.5, -0.5], [0.0, 0.0, 0.5, 0.5]])


@pytest.fixture(scope="module")
def rotating():
    # λ = −0.15 ± 2i per second, 1 + 0.1 λ per step
    return dl.spectrum(Euler(create("linear", matrix=[[-0.15, -2], [2, -0.15]]), 0.1), np.zeros((9, 0)), times=3)


@pytest.mark.parametrize(
    "plot, pair", [(plot_spectrum, [[0.985, -0.2], [0.985, 0.2]]), (plot_flow_spectrum, [[-0.15, -2], [-0.15, 2]])]
)
def test_every_eigenvalue_is_drawn_where_it_lies(plot, pair, rotating):
    found = np.unique(markers(plot(rotating, ax=plt.subplots()[1])).round(12), axis=0)
    np.testing.assert_allclose(found, pair, atol=1e-11)


def test_borders_are_the_unit_circle_and_eulers_disc(rotating):
    circle = next(line for line in plot_spectrum(rotating, ax=plt.subplots()[1]).lines if len(line.get_xdata()) > 100)
    assert np.hypot(*circle.get_data()) == pytest.approx(1)
    (disc,) = plot_flow_spectrum(rotating).patches
    assert (*disc.center, disc.radius) == pytest.approx((-10, 0, 10))


@pytest.mark.parametrize("is_flow", [True, False])
def test_the_eigenvalues_of_few_modes_are_lines_over_time(rotating, is_flow):
    ds = rotating if is_flow else rotating.drop_vars(["flow_eigenvalue", "spectral_abscissa"])
    edge, *lines = plot_eigenvalues_over_time(ds).lines
    assert set(edge.get_ydata()) == {0.0 if is_flow else 1.0}
    expected = -0.15 if is_flow else np.hypot(0.985, 0.2)
    assert [line.get_ydata() for line in lines] == [pytest.approx([expected] * 3)] * 2
    assert list(lines[0].get_xdata()) == [1, 5, 9]


@pytest.fixture(scope="module")
def stability():
    torch.manual_seed(0)
    system = create("antisymmetric", input_size=2, state_size=4, step_size=0.3, gamma=0.1, sigma_w=2.0).double()
    return dl.stability(system, np.random.default_rng(0).normal(size=(3, 20, 2)))


@pytest.mark.parametrize("close_up", [False, True])
def test_every_eigenvalue_is_drawn_on_the_side_of_the_region_it_is_on(stability, close_up):
    ax = plot_step_region(stability, close_up=close_up)
    drawn = [part for part in ax.collections if part.get_label() and not part.get_label().startswith("_")]
    found = np.concatenate([part.get_offsets() for part in drawn])
    np.testing.assert_allclose(in_order(found), in_order((stability["used_step"] * stability["eigenvalue"]).values))
    unstable = next(part for part in drawn if part.get_label().startswith("|R(ελ)| > 1"))
    certain = stability["step_modulus"] > 1 + stability["step_modulus_error"]
    assert len(unstable.get_offsets()) == int(certain.sum())


def test_the_plane_its_border_and_the_network_and_theory_as_a_bar_with_what_was_measured_as_a_line(stability):
    lines, border = labelled(plot_diffusion_plane(stability)), stability["plane_critical_step"].values
    drawn = lines["smallest critical step"].get_xdata()
    np.testing.assert_array_equal(drawn[np.isfinite(drawn)], border[np.isfinite(border) & (border > 0)])
    assert lines["the network"].get_xydata().tolist() == [[0.3, float(stability["own_diffusion"])]]
    one = stability.isel(bound=[0]).copy(deep=True)
    for name, value in zip(("theory_low", "theory_high", "measured_low", "measured_high"), (0, 4, 1, 2), strict=True):
        one[name].values[:] = value
    ax = plot_theory_bounds(one)
    (bar,), (line,) = ax.patches, ax.lines
    left, width = bar.get_x(), bar.get_width()
    np.testing.assert_allclose(line.get_xdata(), [left + width / 4, left + width / 2])


def test_the_largest_norm_that_is_marked_is_the_one_that_is_told():
    """The shear's norm is largest, 2.5635 at 0.66 s, between the Dataset's times 0, 1, 2, …"""
    ds = dl.pseudospectrum(create("linear", matrix=[[-1.0, 10.0], [0.0, -2.0]]), grid=3, steps=9, seconds=9.0)
    lines = [line for ax in dl.plot_pseudospectrum(ds).figure.axes for line in ax.lines]
    (marked,) = [line for line in lines if str(line.get_label()).startswith("largest")]
    assert marked.get_xydata()[0] == pytest.approx([float(ds["transient_time"]), np.log10(2.5635)], abs=1e-4)


def test_pseudospectra_of_a_normal_matrix_are_circles_of_the_radii_that_the_bar_says():
    """The level that is the first to reach the unit circle, around 0.97, is 0.03, and the close-up shows it."""
    ds = dl.pseudospectrum(LinearMap(0.97 * np.eye(2)), grid=81, steps=9)
    ax = dl.plot_pseudospectrum(ds)
    bar = next(other for other in ax.figure.axes if other.get_label() == "<colorbar>")
    said = [float(text.get_text()) for text in bar.get_yticklabels()]
    lines = next(part for part in ax.collections if isinstance(part, ContourSet) and not part.filled)
    drawn = [np.abs(path.vertices @ [1, 1j] - 0.97) for path in lines.get_paths()]
    assert len(said) == len(drawn) > 2
    for radius, distances in zip(said, drawn, strict=True):
        np.testing.assert_allclose(distances, radius, atol=float(ds["x"][1] - ds["x"][0]))
    close = next(other for other in ax.figure.axes if other.get_title(loc="left").startswith("Close-up"))
    assert "ε ≤ 0.03, the first to reach it" in labelled(close)


def test_a_number_stands_as_far_from_the_bound_as_its_margin_says():
    """|λ| = |x_t| between 0.5 and 3, the bound at 2: 1 outside, 1.5 inside, and 1.5 is the row's whole scale."""
    system = dl.from_function(lambda h, x: h * x, state_size=1, input_size=1)
    inputs = np.full((9, 1), 0.5)
    inputs[4] = 3.0
    ax = dl.plot_eigenvalue_bounds(dl.eigenvalue_bounds(system, inputs, max_modulus=2.0))
    np.testing.assert_allclose(labelled(ax)["all that was measured"].get_xdata(), [-1.0, 2 / 3])
    (bar,) = ax.containers
    assert bar.get_label() == "violated"
    assert bar.lines[0].get_xdata()[0] == pytest.approx(2 / 3)


@pytest.mark.parametrize("name, border", [("antisymmetric", 0.0), ("vanilla", 1.0)])
def test_dots_and_lines_are_the_sampled_values_and_bounds_over_a_box_and_a_bound_far_off_is_an_arrow(name, border):
    """Where the logarithmic norm of a step's J is below 1, I − J is monotone: F(h) = h has one root at most."""
    torch.manual_seed(0)
    ds = dl.box_bounds(create(name, input_size=1, state_size=4), box=0.5, samples=32)
    norm, rate = dl.plot_box_bounds(ds).figure.axes
    names = {norm: ("sampled_norm", "sampled_spectral_radius"), rate: ("sampled_logarithmic_norm", "sampled_abscissa")}
    for ax, drawn in names.items():
        for artist, each in zip(ax.collections, drawn, strict=True):
            np.testing.assert_allclose(artist.get_offsets()[:, 0], ds[each].values)
    assert [line.get_xdata()[0] for line in norm.lines] == [1.0, float(ds["norm_bound"])]
    assert [line.get_xdata()[0] for line in rate.lines] == [border, float(ds["abscissa_bound"])]
    far = dl.plot_box_bounds(ds.assign(norm_bound=ds["norm_bound"] * 0 + 500.0)).figure.axes[0]
    assert any("proved ≤ 500, off the scale" in text.get_text() for text in far.texts)


def test_fixed_points_have_every_eigenvalue_as_a_marker_and_every_kind_as_an_entry_and_largest_moduli_beside():
    W = torch.tensor([[3.0, 1.0], [0.0, 2.0]]).double()
    ds = dl.fixed_points(dl.from_function(lambda h, x: torch.tanh(h @ W), 2))
    first, second = dl.plot_fixed_points(ds).figure.axes
    np.testing.assert_allclose(in_order(markers(first)), in_order(ds["eigenvalue"].values))
    kinds, counts = np.unique(ds["kind"].values, return_counts=True)
    assert {f"{count} × {kind}" for kind, count in zip(kinds, counts, strict=True)} <= set(legend_words(first))
    largest = np.abs(ds["eigenvalue"].values).max(axis=1)
    np.testing.assert_allclose(in_order(markers(second)), in_order(np.stack([largest, np.arange(len(largest))], -1)))


def test_modes_stand_at_frequency_and_time_constant_and_their_tables_hold_drives_and_read_outs():
    ax = dl.plot_modes(dl.modes(LinearMap(MATRIX.tolist())), ax=plt.subplots()[1])
    pair = -1 / np.log(np.sqrt(0.5))
    expected = [[0, np.log(2) / np.log(1.2)], [0, -1 / np.log(0.8)], [0.125, pair]]  # of the complex pair one
    np.testing.assert_allclose(in_order(markers(ax)), in_order(expected), atol=1e-12)
    M = torch.from_numpy(MATRIX[:2, :2])
    ds = dl.modes(dl.from_function(lambda h, x: h @ M.T + x, 2, 2), readout=lambda h: 3 * h[..., :1])
    _, drive, read = dl.plot_modes(ds).figure.axes
    for table, values, tolerance in ((drive, 100 * ds["input_share"], 0.51), (read, ds["output_read"], 0.06)):
        shown = [float(text.get_text()) for text in table.texts]
        np.testing.assert_allclose(shown, values.values[0].ravel(), atol=tolerance)
