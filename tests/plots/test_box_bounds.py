"""The picture of bounds over a box: dots are the sampled values, lines the proved bounds and the borders."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.box_bounds import box_bounds
from dynlab.plots.box_bounds import plot_box_bounds
from dynlab.systems import create


@pytest.mark.parametrize("name, border", [("antisymmetric", 0.0), ("vanilla", 1.0)])
def test_dots_and_lines_are_the_datasets_and_a_bound_far_off_is_an_arrow(name, border):
    """Where the logarithmic norm of a step's J is below 1, I − J is monotone: F(h) = h has one root at most."""
    torch.manual_seed(0)
    ds = box_bounds(create(name, input_size=1, state_size=4), box=0.5, samples=32)
    norm, rate = plot_box_bounds(ds).figure.axes
    names = {norm: ("sampled_norm", "sampled_spectral_radius"), rate: ("sampled_logarithmic_norm", "sampled_abscissa")}
    for ax, drawn in names.items():
        for artist, each in zip(ax.collections, drawn, strict=True):
            np.testing.assert_allclose(artist.get_offsets()[:, 0], ds[each].values)
    assert [line.get_xdata()[0] for line in norm.lines] == [1.0, float(ds["norm_bound"])]
    assert [line.get_xdata()[0] for line in rate.lines] == [border, float(ds["abscissa_bound"])]
    far = plot_box_bounds(ds.assign(norm_bound=ds["norm_bound"] * 0 + 500.0)).figure.axes[0]
    assert far.get_xlim()[1] < 2 * float(max(ds["sampled_norm"].max(), 1))
    assert any("proved ≤ 500, off the scale" in text.get_text() for text in far.texts)
