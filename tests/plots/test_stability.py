"""The pictures of stability show the numbers of the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from sentences import numbers_in

import dynlab as dl
from dynlab.plots.critical_steps import plot_diffusion_plane
from dynlab.plots.stability import plot_step_region
from dynlab.plots.theory_bounds import plot_theory_bounds
from dynlab.systems import create


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
