"""The picture of fixed points: its markers are the Dataset's eigenvalues, its legend counts kinds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.markers import MarkerStyle

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.errors import UserError
from dynlab.plots import style
from dynlab.plots.fixed_points import plot_fixed_points
from dynlab.systems import create, from_function
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


@pytest.mark.parametrize("slopes, others", [((0.5, 0.3), ()), ((0.5, 3.0), ("saddle",))])
def test_a_kind_has_the_same_marker_whatever_else_is_there(slopes, others):
    """A stable node at 0, alone, and in the other system two of them beside the saddle at 0."""
    ds = fixed_points(from_function(lambda h, x: torch.tanh(h @ torch.diag(torch.tensor(slopes)).to(h)), 2), starts=16)
    drawn = plot_fixed_points(ds, ax=plt.subplots()[1])
    for artist in drawn.collections:
        kind = artist.get_label().partition(" × ")[2]
        expected = MarkerStyle({"stable node": "o", "saddle": "^"}[kind])
        path = expected.get_path().transformed(expected.get_transform())
        np.testing.assert_allclose(artist.get_paths()[0].vertices, path.vertices)
    assert {each.get_label().partition(" × ")[2] for each in drawn.collections} - {"stable node"} == set(others)


def test_no_two_kinds_share_a_marker_and_an_undecided_one_is_grey():
    assert len(set(style.KIND_MARKERS.values())) == len(style.KIND_MARKERS)
    assert style.kind_look("stable focus", 1) == ("D", style.STABLE)
    assert style.kind_look("undecided, near stable focus", -1) == ("D", style.UNDECIDED)
    assert style.kind_look("undecided, near center", -1) == (style.OTHER_KIND, style.UNDECIDED)


def test_what_is_no_fixed_point_is_hollow_and_named():
    ds = fixed_points(from_function(lambda h, x: h + 0.1 * (h.square() + 1e-3), 1), starts=16, slow_points=1e-6)
    ax = plot_fixed_points(ds, ax=plt.subplots()[1])
    (marker,) = ax.collections
    assert len(marker.get_facecolors()) == 0
    assert any("slow point" in text.get_text() for text in ax.get_legend().get_texts())


@pytest.mark.parametrize("slope, close", [(0.98, True), (0.5, False)])
def test_eigenvalues_next_to_the_circle_are_drawn_from_close_up(slope, close):
    axes = plot_fixed_points(fixed_points(from_function(lambda h, x: slope * h, 2), starts=4)).figure.axes
    assert len(axes) == 1 + close
    (low, high), (bottom, top) = axes[-1].get_xlim(), axes[-1].get_ylim()
    assert low < slope < 1 < high
    assert bottom < 0 < top
    assert (high - low < 0.2) == close
    assert axes[-1].get_legend() is not None


def test_nothing_found_is_said():
    ax = plot_fixed_points(fixed_points(from_function(lambda h, x: h + 1, 1), starts=4))
    assert "no fixed point found" in [text.get_text() for text in ax.texts]


def test_it_draws_where_it_is_told_to_and_needs_its_variables():
    _, ax = plt.subplots()
    ds = fixed_points(create("henon"), starts=16)
    assert plot_fixed_points(ds, ax=ax, s=99) is ax
    assert {artist.get_sizes()[0] for artist in ax.collections} == {99}
    with pytest.raises(UserError, match="eigenvalue"):
        plot_fixed_points(ds.drop_vars("eigenvalue"), ax=ax)


def test_the_legend_says_what_is_proved():
    cell = create("vanilla", input_size=0, state_size=1, bias=False).double()
    with torch.no_grad():
        cell.W.fill_(2.0)
    ds = fixed_points(cell, starts=16, certify=True)
    texts = {text.get_text() for text in legend_of(plot_fixed_points(ds)).texts}
    assert {"2 × stable node, proved", "1 × unstable node, proved"} <= texts
    step = from_function(lambda h, x: torch.special.i1(4 * h) / torch.special.i0(4 * h), 1)  # not in the table
    ds = fixed_points(step, starts=16, certify=True)
    texts = {text.get_text() for text in legend_of(plot_fixed_points(ds)).texts}
    assert "2 × stable node, not proved" in texts


def test_of_many_eigenvalues_the_leading_ones_are_large():
    torch.manual_seed(0)
    ds = fixed_points(create("vanilla", input_size=0, state_size=70).double(), starts=4)
    ax = plot_fixed_points(ds, ax=plt.subplots()[1])
    small, large = ax.collections[:2]
    lead = ds["eigenvalue"].values[0, 0]
    np.testing.assert_allclose(np.abs(large.get_offsets()[:, 0]), abs(lead.real))
    assert len(small.get_offsets()) + len(large.get_offsets()) == 70
    assert small.get_sizes()[0] < large.get_sizes()[0]
    heading = ax.get_legend().get_title().get_text().replace("\n", " ")
    assert heading == "Eigenvalues of these fixed points; the leading one of each is large:"


def test_beside_the_circle_stands_the_largest_modulus_at_each_point_by_its_number():
    ds = fixed_points(load("gru-flipflop"), starts=64)
    first, second = plot_fixed_points(ds).figure.axes
    drawn = np.concatenate([each.get_offsets() for each in second.collections])
    largest = np.abs(ds["eigenvalue"].values).max(axis=1)
    np.testing.assert_allclose(drawn[np.argsort(drawn[:, 1])], np.stack([largest, np.arange(len(largest))], axis=-1))
    assert first.get_legend() is not None
    assert second.get_legend() is None  # the same marks
