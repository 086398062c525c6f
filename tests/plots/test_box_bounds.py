"""The picture of bounds over a box: dots are the sampled values, lines the proved bounds and the borders."""

import numpy as np
import torch

from dynlab.diagnostics.box_bounds import box_bounds
from dynlab.plots.box_bounds import plot_box_bounds
from dynlab.systems import create


def test_dots_and_lines_are_the_datasets():
    torch.manual_seed(0)
    ds = box_bounds(create("antisymmetric", input_size=1, state_size=4), box=0.5, samples=32)
    norm, rate = plot_box_bounds(ds).figure.axes
    names = {norm: ("sampled_norm", "sampled_spectral_radius"), rate: ("sampled_logarithmic_norm", "sampled_abscissa")}
    for ax, drawn in names.items():
        for artist, name in zip(ax.collections, drawn, strict=True):
            np.testing.assert_allclose(artist.get_offsets()[:, 0], ds[name].values)
    assert [line.get_xdata()[0] for line in norm.lines] == [float(ds["norm_bound"]), 1.0]
    assert [line.get_xdata()[0] for line in rate.lines] == [float(ds["abscissa_bound"]), 0.0]
    assert "of the flow (1/s)" in rate.get_xlabel()
    assert norm.figure.texts[0].get_text().startswith("Bounds over the box −0.5 ≤ hᵢ ≤ 0.5: ")


def test_the_border_of_a_step_s_real_parts_is_1():
    """Where the logarithmic norm of J is below 1, I − J is monotone in one inner product, and F(h) = h has one root."""
    torch.manual_seed(0)
    ds = box_bounds(create("vanilla", input_size=1, state_size=4), box=0.5, samples=32)
    rate = plot_box_bounds(ds).figure.axes[1]
    assert [line.get_xdata()[0] for line in rate.lines] == [float(ds["abscissa_bound"]), 1.0]
    assert "1: below, one fixed point at most" in [text.get_text() for text in rate.texts]


def test_a_bound_far_off_is_an_arrow_and_the_dots_keep_their_room():
    torch.manual_seed(0)
    ds = box_bounds(create("antisymmetric", input_size=1, state_size=4), box=0.5, samples=32)
    norm = plot_box_bounds(ds.assign(norm_bound=ds["norm_bound"] * 0 + 500.0)).figure.axes[0]
    assert norm.get_xlim()[1] < 2 * float(max(ds["sampled_norm"].max(), 1))
    assert any("proved ≤ 500, off the scale" in text.get_text() for text in norm.texts)
