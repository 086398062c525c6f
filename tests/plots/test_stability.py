"""The pictures of stability show the numbers of the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from sentences import numbers_in

import dynlab as dl
from dynlab import schema
from dynlab.plots.critical_steps import plot_critical_steps, plot_diffusion_plane
from dynlab.plots.stability import plot_step_region
from dynlab.plots.theory_bounds import plot_theory_bounds
from dynlab.systems import create
from dynlab.words import share


@pytest.fixture(scope="module")
def ds():
    torch.manual_seed(0)
    system = create("antisymmetric", input_size=2, state_size=4, step_size=0.3, gamma=0.1, sigma_w=2.0).double()
    return dl.stability(system, np.random.default_rng(0).normal(size=(3, 20, 2)))


@pytest.mark.parametrize("close_up", [False, True])
def test_every_eigenvalue_is_drawn_on_the_side_it_is_on(ds, close_up):
    ax = plot_step_region(ds, close_up=close_up)
    drawn = [part for part in ax.collections if part.get_label() and not part.get_label().startswith("_")]
    points = np.concatenate([part.get_offsets() for part in drawn])
    z = (ds["used_step"] * ds["eigenvalue"]).values.ravel()
    np.testing.assert_allclose(np.sort_complex(points[:, 0] + 1j * points[:, 1]), np.sort_complex(z))
    unstable = next(part for part in drawn if part.get_label().startswith("|R(ελ)| > 1"))
    assert len(unstable.get_offsets()) == int((ds["step_modulus"] > 1 + ds["step_modulus_error"]).sum())
    left, right = ax.get_xlim()
    assert left <= z.real.min()
    assert z.real.max() <= right
    plt.close("all")


def test_where_no_step_is_small_enough_the_line_has_a_gap_and_the_legend_the_share(ds):
    critical = ds["critical_step"].copy(deep=True)
    critical[:, 4], critical[0, 7], critical[1, 7] = 0.0, 0.0, np.nan  # (sample, time)
    ax = plot_critical_steps(ds.assign(critical_step=critical, used_step=-ds["used_step"]))
    lines = {line.get_label(): line for line in ax.lines}
    expected = np.median(ds["critical_step"].values, axis=0)
    expected[4], expected[7] = np.nan, ds["critical_step"].values[2, 7]
    np.testing.assert_allclose(lines["critical step: sample median"].get_ydata(), expected)
    np.testing.assert_allclose(lines["|ε| used, negative at all of the states"].get_ydata(), 0.3)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"no step is small enough at {share(4 / 60)} of the states" in words
    assert f"not known at {share(1 / 60)} of the states" in words
    plt.close("all")


def test_the_plane_its_border_and_the_network(ds):
    ax = plot_diffusion_plane(ds)
    lines = {line.get_label(): line for line in ax.lines}
    border = ds["plane_critical_step"].values
    drawn = lines["smallest critical step"].get_xdata()
    np.testing.assert_array_equal(drawn[np.isfinite(drawn)], border[np.isfinite(border) & (border > 0)])
    assert lines["the network"].get_xydata().tolist() == [[0.3, float(ds["own_diffusion"])]]
    (diamond,) = (name for name, line in lines.items() if line.get_marker() == "D")
    np.testing.assert_allclose(lines[diamond].get_xydata(), [[0.3, float(ds["needed_diffusion"])]])
    words = diamond.removeprefix("least γ at which this ε is stable: ")
    assert numbers_in(words) == [pytest.approx(float(ds["needed_diffusion"]), rel=1e-3)]
    assert [text.get_text() for text in ax.get_legend().get_texts()][1:3] == list(lines)[:2]
    plt.close("all")


def test_the_plane_shades_what_is_stable_at_every_state_and_nothing_else(ds):
    ax = plot_diffusion_plane(ds)
    shaded = ax.collections[-1]
    modulus = ds["plane_modulus"].transpose(schema.DIFFUSION, schema.STEP_SIZE).values
    places = np.stack(np.meshgrid(ds["plane_step_size"].values, ds["plane_diffusion"].values), axis=-1)
    inside = np.any([path.contains_points(places.reshape(-1, 2), radius=1e-9) for path in shaded.get_paths()], axis=0)
    away = np.abs(modulus - 1) > 1e-6  # what is on the border is on either side
    np.testing.assert_array_equal(
        inside.reshape(modulus.shape)[1:-1, 1:-1][away[1:-1, 1:-1]], (modulus < 1)[1:-1, 1:-1][away[1:-1, 1:-1]]
    )
    (bar,) = [other for other in ax.figure.axes if other.get_label() == "<colorbar>"]
    assert [text.get_text() for text in bar.get_yticklabels()] == ["1", "1.001", "1.01", "1.1", "2"]
    plt.close("all")


def test_a_row_for_every_bound_with_theory_as_a_bar_and_what_was_measured_as_a_line(ds):
    one = ds.isel(bound=[0]).copy(deep=True)
    for name, value in zip(("theory_low", "theory_high", "measured_low", "measured_high"), (0, 4, 1, 2), strict=True):
        one[name].values[:] = value
    ax = plot_theory_bounds(one)
    (bar,), (line,) = ax.patches, ax.lines
    left, width = bar.get_x(), bar.get_width()
    np.testing.assert_allclose(line.get_xdata(), [left + width / 4, left + width / 2])
    words = " ".join(text.get_text() for text in ax.texts)
    assert "theory 0 to 4; measured 1 to 2" in words
    assert str(one["outcome"].values[0]) in words
    plt.close("all")
