"""The picture of fixed points: its markers are the Dataset's eigenvalues, its legend counts kinds."""

import numpy as np
import torch

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.plots.fixed_points import plot_fixed_points
from dynlab.systems import from_function
from dynlab.zoo import load


def legend_of(ax):
    """The only one in its figure."""
    (legend,) = [each.get_legend() for each in ax.figure.axes if each.get_legend()]
    return legend


def test_every_eigenvalue_is_a_marker_and_every_kind_an_entry():
    ds = fixed_points(from_function(lambda h, x: torch.tanh(h @ torch.tensor([[3.0, 1.0], [0.0, 2.0]]).to(h)), 2))
    ax = plot_fixed_points(ds)
    drawn = np.concatenate([artist.get_offsets().data for artist in ax.collections])
    expected = np.stack([ds["eigenvalue"].values.real.ravel(), ds["eigenvalue"].values.imag.ravel()], axis=-1)
    np.testing.assert_allclose(sorted(map(tuple, drawn)), sorted(map(tuple, expected)))
    kinds, counts = np.unique(ds["kind"].values, return_counts=True)
    texts = {text.get_text() for text in legend_of(ax).get_texts()}
    assert {f"{count} × {kind}" for kind, count in zip(kinds, counts, strict=True)} <= texts
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Re μ", "Im μ")


def test_beside_the_circle_stands_the_largest_modulus_at_each_point_by_its_number():
    ds = fixed_points(load("gru-flipflop"), starts=64)
    first, second = plot_fixed_points(ds).figure.axes
    drawn = np.concatenate([each.get_offsets() for each in second.collections])
    largest = np.abs(ds["eigenvalue"].values).max(axis=1)
    np.testing.assert_allclose(drawn[np.argsort(drawn[:, 1])], np.stack([largest, np.arange(len(largest))], axis=-1))
    assert first.get_legend() is not None
    assert second.get_legend() is None  # the same marks
