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
