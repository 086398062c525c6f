"""Every script of the gallery draws its figure and says what was measured; the sentences hold what is known."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import cross_entropy

from dynlab.cli.movie import Movie, save_movie
from dynlab.cli.output import save_figure
from dynlab.errors import lookup
from dynlab.gallery import FIGURES, page
from dynlab.gallery.antisymmetric_2 import LARGER
from dynlab.gallery.copying import CEILING, curves
from dynlab.gallery.har2 import EXPLAINED, NEITHER, STRIP
from dynlab.gallery.kept import Script, kept
from dynlab.gallery.movie import errors
from dynlab.gallery.zoo_comparison import NETWORKS
from dynlab.systems.integrators import INTEGRATORS

# What each sentence must say: facts of SYSTEMS, and of the sources' errors.
KNOWN = {
    "antisymmetric-1": "the critical step is 0.0746",
    "antisymmetric-2": "The mean modulus of the eigenvalues μ is e^−",
    "antisymmetric-1h": "The flow's focus is stable, Euler's map at ε = 0.1 is not, the critical step is 0.0746",
    "collapsed-rule": "off by 0.7 % at the tutorial's start, whose W is all but 0. It is off by 4",
    "copying": "Stays at the baseline: LSTM",
    "copying-modes": "Of expRNN (190 units) it is",
    "equilibria": "6 of 6 kinds",
    "critical-step": "radius 0.570 to 0.598",
    "ernn-1": "h_k + h_{k−1} = z*(x_k), on the manifold, to",
    "ernn-2": "RNN, tanh: e^−70.0 untrained",
    "ernn-3": "A diagram, nothing is measured",
    "ernn-4": "Training loss after 10 epochs",
    "ernn-5": "(window, step) pairs of training and test, the matrix",
    "ernn-6": "predicted",
    "flipflop": "12 with 1 direction, 6 with 2 directions and 1 with 3 directions that grow",
    "har2": "Of 12 published accuracies under the published recipes",
    "integrators": "rule's energy swings by 0.002 and does not drift",
    "movie": "Root of the mean squared error on the four windows held out",
    "time-varying": "is −0.25 at all 801 times (exact: −0.25), and the solution grows to e^10.00 by t = 20",
    "zoo": "Directions that survive",
}


SET = {"zoo": "is e<sup>−38.1</sup> (RNN)"}  # how the page sets powers of e
MOST_LINES = 3  # of a caption
GALLERY = (Path(__file__).parents[2] / "figures" / "gallery" / "README.md").read_text(encoding="utf-8")
DPI = 50  # nobody looks at these files


@cache
def made_of(name, fast=False):
    """What a script of the gallery makes, for all tests that look at it."""
    return lookup(FIGURES, name, "figure")(fast=fast)


def test_a_fact_is_known_of_every_figure():
    assert set(KNOWN) == set(FIGURES)


def test_what_is_drawn_of_copying_modes_is_named_and_no_colour_is_named_in_words():
    figure = made_of("copying-modes", True).figure
    (legend,) = figure.legends
    named = dict(zip((text.get_text() for text in legend.get_texts()), legend.legend_handles, strict=True))
    assert {"every σ", "the largest σ", "the middle σ"} < set(named)
    lines = figure.axes[0].lines
    for name in ("the largest σ", "the middle σ"):
        (drawn,) = (line for line in lines if line.get_label() == name)
        assert named[name].get_color() == drawn.get_color()
    assert not any(colour in text.get_text().lower() for text in figure.texts for colour in ("red", "blue", "grey"))
    plt.close("all")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_from_what_is_kept_and_its_sentence_says_what_is_known(name, tmp_path):
    made = made_of(name)
    assert KNOWN[name] in made.measured
    assert made.claim
    assert max(text.get_text().count("\n") + 1 for text in made.figure.texts) <= MOST_LINES
    made.figure.savefig(tmp_path / "figure.png", dpi=DPI)
    shown = f"{name}.gif" if made.animation else f"{name}.png"
    assert f"![{made.title}]({shown})" in page({name: made})
    assert SET.get(name, "") in page({name: made})
    assert page({name: made}).partition("\n## ")[2] in GALLERY  # else `dynlab figure all` writes it anew
    plt.close("all")


# Those that compute: what is drawn from records alone has no other way, and ernn-5 needs the whole of HAR-2.
COMPUTED = [name for name in FIGURES if isinstance(lookup(FIGURES, name, "figure"), Script) and name != "ernn-5"]

# What only a search with random starts has, and the fast one of that network begins at one start.
ONE_START = {"ernn-har2-k5.fixed_points": {"unseen_share", "unseen_share_bound"}}


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_kept_can_be_computed_and_has_the_same_form(name):
    made = made_of(name, True)
    few, kept_ones = made.results, kept(lookup(FIGURES, name, "figure").name, dict)
    assert set(few) == set(kept_ones)
    for key, ds in few.items():
        whole = kept_ones[key].drop_vars(ONE_START.get(key, ()))
        assert {v: ds[v].dims for v in ds.data_vars} == {v: whole[v].dims for v in whole.data_vars}
        assert ds.attrs["system"] == kept_ones[key].attrs["system"]
    assert KNOWN[name].partition(" ")[0] in made.measured
    plt.close("all")


@pytest.mark.parametrize("fast, steps", [(True, 100), (False, 400)])
def test_the_integrators_say_how_many_steps_are_drawn_and_no_name_covers_another(fast, steps):
    figure = made_of("integrators", fast).figure
    assert f"Each integrator takes {steps} steps of ε = 0.2 s" in " ".join(figure.texts[-1].get_text().split())
    figure.draw_without_rendering()
    names = [text.get_window_extent() for text in figure.axes[-1].texts]
    assert len(names) == 5
    heights = sorted((box.y0, box.y1) for box in names)
    assert all(above[0] >= below[1] - 1 for below, above in pairwise(heights))
    plt.close("all")


def test_a_picture_of_the_repository_has_a_white_ground_and_no_bands(tmp_path):
    figure, ax = plt.subplots()
    ramp = np.linspace(0, 1, 400)
    ax.imshow(ramp[:, None] * ramp, cmap="PuOr", aspect="auto")
    ax.text(0, 0, "rare", color="lime")
    save_figure(figure, tmp_path / "small.png", small=True)
    with Image.open(tmp_path / "small.png") as image:
        assert image.mode == "P"
        shown = np.asarray(image.convert("RGB"))
    assert (shown[:5] == 255).all()
    middle = shown[shown.shape[0] // 2].astype(int)
    steps = np.flatnonzero(np.abs(np.diff(middle, axis=0)).sum(axis=1))
    assert np.diff(steps).max(initial=0) < 25  # of the pixels across the colours: no wide band of one


def test_a_movie_is_written_as_a_gif(tmp_path):
    made = made_of("movie", True)
    save_movie(Movie(made.animation(), 6.25), tmp_path / "movie.gif")
    with Image.open(tmp_path / "movie.gif") as movie:
        assert movie.n_frames == made.results["predictions"].sizes["step"]
    plt.close("all")


def test_each_frame_of_the_movie_tells_its_own_errors():
    made = made_of("movie", True)
    own = errors(made.results["predictions"])
    told = []
    for figure in made.animation():
        told.append([ax.get_title(loc="left").partition("\n")[2] for ax in figure.axes])
    assert told == [
        [
            f"error: gradient {own[loss, 0, frame]:.3f}, rule {own[loss, 1, frame]:.3f}"
            for loss in range(own.sizes["loss"])
        ]
        for frame in range(own.sizes["step"])
    ]
    plt.close("all")


def test_orbits_are_said_to_go_in_only_where_the_linear_part_decides_nothing_and_all_of_them_do():
    figure = made_of("antisymmetric-1").figure
    titles = [ax.get_title(loc="left") for ax in figure.axes[:8]]
    assert [title[1] for title in titles if "orbits go in slowly" in title] == ["b", "c", "d"]
    assert any("−0.15, −2; 2, −0.15" in text.get_text() for ax in figure.axes for text in ax.texts)
    plt.close("all")


def legend_of(name):
    """The words of the one legend of a figure, and the figure."""
    figure = made_of(name).figure
    return [" ".join(text.get_text().split()) for text in figure.legends[0].get_texts()], figure


def test_the_large_marker_of_a_map_that_has_no_flow_is_said_to_be_its_own():
    words, _ = legend_of("antisymmetric-1")
    assert "large: of the flow, or of a map alone; small: of Euler's map" in words
    words, _ = legend_of("critical-step")
    assert "large: of the flow; small: of Euler's map" in words
    plt.close("all")


def test_the_column_with_another_scale_says_so():
    figure = made_of("antisymmetric-2").figure
    spans = [np.ptp(ax.get_ylim()) for ax in figure.axes]
    larger = [LARGER in " ".join(ax.get_title(loc="left").split()) for ax in figure.axes]
    assert larger == [span < max(spans) for span in spans]
    assert sum(larger) == 2
    plt.close("all")


def test_the_scale_of_losses_ends_below_the_crosses_of_what_diverged():
    figure = made_of("ernn-4").figure
    for ax in figure.axes[:2]:
        ax.figure.draw_without_rendering()
        crosses = [y for line in ax.lines if line.get_marker() == "x" for y in line.get_ydata()]
        losses = [y for line in ax.lines if line.get_marker() != "x" for y in line.get_ydata()]
        top = ax.spines["left"].get_bounds()[1]
        assert max(losses) <= top < min(crosses)
        assert max([*ax.get_yticks(), *ax.get_yticks(minor=True)]) <= top
    plt.close("all")


def test_no_two_lines_of_ernn_6_look_alike_and_the_search_is_said_to_have_found_none():
    words, figure = legend_of("ernn-6")
    looks = [(line.get_color(), str(line._dash_pattern)) for line in figure.legends[0].get_lines()]
    assert len(set(looks)) == len(words)
    said = " ".join(figure.texts[1].get_text().split())
    assert (
        "of 16 steps 14 still come nearer and 1 cannot converge within 2,000 iterations; at 1 the search found" in said
    )
    plt.close("all")


def test_eigenvalues_near_1_are_seen_larger_in_the_columns_that_have_no_others_but_0():
    figure = made_of("zoo").figure
    rows = [figure.axes[:5], figure.axes[10:15]]
    assert [[bool(ax.child_axes) for ax in row] for row in rows] == [[False, True, False, True, True]] * 2
    for ax in (ax for row in rows for ax in row if ax.child_axes):
        (inset,) = ax.child_axes
        (low, high), points = inset.get_xlim(), np.concatenate([drawn.get_offsets() for drawn in ax.collections])
        assert (low + high) / 2 == pytest.approx(1)
        assert inset.get_ylim() == pytest.approx((low - 1, high - 1))
        assert ax.texts[-1].get_text() == f"1 ± {(high - low) / 2:.2g}"
        if ax in rows[0]:
            away = np.hypot(points[:, 0] - 1, points[:, 1])[np.hypot(*points.T) > 1e-9]
            assert np.mean(away <= (high - low) / 2) >= 0.98
    plt.close("all")


def test_the_close_up_of_fixed_points_holds_the_leading_eigenvalues_of_each_and_no_others():
    made = made_of("zoo")
    for ax, name in zip(made.figure.axes[10:15], NETWORKS.values(), strict=True):
        if not ax.child_axes:
            continue
        (inset,) = ax.child_axes
        drawn = np.concatenate([points.get_offsets() for points in inset.collections])
        sizes = np.abs(made.results[f"{name}.fixed_points"]["eigenvalue"].values)
        leading = sizes[np.isclose(sizes, sizes.max(axis=1, keepdims=True), rtol=1e-12)]
        np.testing.assert_allclose(np.sort(np.hypot(*drawn.T)), np.sort(leading))
        assert np.abs(drawn - [1, 0]).max() < inset.get_xlim()[1] - 1
    plt.close("all")


def test_a_median_that_leaves_the_panel_is_told_there_and_only_there():
    made = made_of("zoo")
    for ax, name in zip(made.figure.axes[5:10], NETWORKS.values(), strict=True):
        last = float(made.results[f"{name}.gradient"]["log_norm"].isel(time=0).median())
        told = [f"↓ $e^{{−{-last:.1f}}}$"] if last < ax.get_ylim()[0] else []
        assert [text.get_text() for text in ax.texts] == told
    plt.close("all")


def test_no_loss_of_smoothed_labels_is_below_the_line_that_is_drawn():
    made = made_of("ernn-4")
    (line,) = (line for line in made.figure.axes[2].lines if line.get_linestyle() == ":")
    target = torch.tensor([[0.95, 0.05]])
    assert line.get_ydata()[0] == pytest.approx(float(cross_entropy(target.log(), target)), abs=1e-6)
    losses = [curve.get_ydata().min() for curve in made.figure.axes[2].lines if curve is not line]
    assert made.figure.axes[2].get_ylim()[0] < line.get_ydata()[0] < min(losses)
    plt.close("all")


def test_a_training_that_diverges_is_drawn_up_to_the_ceiling_alone():
    figure = made_of("copying").figure
    (learned,) = (line for line in figure.axes[0].lines if line.get_label() == "asRNN, D_f learns")
    assert (learned.get_ydata()[:-1] < CEILING).all()
    assert learned.get_ydata()[-1] == CEILING
    (whole,) = (one.losses for one in curves() if one.name == "asRNN, D_f learns" and len(one.losses))
    assert whole[len(learned.get_ydata()) :].min() > CEILING
    assert any(f"stays above {CEILING:g}" in text.get_text() for text in figure.axes[0].texts)
    plt.close("all")


def test_the_distance_of_ernn_1_is_from_the_equilibrium_of_the_step():
    made = made_of("ernn-1")
    one = made.results["manifold"].sel(network="ernn K=5")
    apart = np.linalg.norm(one["pair_sum"].values[0, 1:] - one["equilibrium"].values[0, 1:], axis=-1)
    said = " ".join(made.figure.texts[1].get_text().split())
    assert f"the median {np.median(apart):.2g} and the maximum {apart.max():.2g}" in said
    assert made.figure.texts[0].get_text() == made.title
    plt.close("all")


def test_har2_is_drawn_by_the_logarithm_of_the_error():
    figure = made_of("har2").figure
    ax = figure.axes[0]
    heights = ax.transData.transform([(0, accuracy) for accuracy in (50, 75, 87.5, 93.75)])[:, 1]
    np.testing.assert_allclose(np.diff(heights), np.diff(heights)[0], rtol=1e-9)
    plt.close("all")


def test_har2_draws_the_means_of_the_table_beside_the_runs_each_with_two_standard_errors():
    made = made_of("har2")
    ds = made.results["har2"].sel(recipe="published")
    also = []
    for ax, name in zip(made.figure.axes, ds["network"].values, strict=True):
        one = ds.sel(network=name)
        drawn = [line.get_ydata() for line in ax.lines if line.get_xdata()[0] > STRIP[0]]
        means, bars = ([values for values in drawn if len(values) == count] for count in (1, 2))
        accuracy, spread = (one[of].sel(selection=["chosen", "last", "best"]) for of in ("accuracy", "accuracy_std"))
        error = 2 * spread.values / max(int(one["seeds"]), 1) ** 0.5
        np.testing.assert_allclose(np.ravel(means), accuracy)
        np.testing.assert_allclose(bars, accuracy.values[:, None] + np.outer(error, [-1, 1]))
        published, meant = float(one["published"]), str(one["meaning"].values)
        said = ax.get_title(loc="left").partition("\n")[2]
        if meant == EXPLAINED:
            assert bars[2][0] <= published <= bars[2][1]
            assert max(accuracy[:2]) < published
            also += [name] * bool((bars[0][1] >= published) or (bars[1][1] >= published))
            assert said == ("published: near another too" if name in also else "published: near best alone")
        if meant == NEITHER:
            assert bars[2][1] < published
            assert said == "published: above best"
    titles = [ax.get_title(loc="left") for ax in made.figure.axes]
    lost = [title.partition("\n")[0] for title in titles if "diverged" in title]
    assert lost == ["ernn-k1, 1 of 10 diverged", "ernn-k3, 8 of 10 diverged", "ernn-k5, 9 of 10 diverged"]
    assert also == ["rnn", "fastrnn", "fastgrnn"]
    said = " ".join(made.figure.texts[1].get_text().split())
    assert "6 lie above both means without choosing on test and near the best on test, 3 of these near" in said
    assert "Of these numbers 3 lie within 2 standard errors of one of the two other means" in made.measured
    plt.close("all")


def caption_of(made):
    return " ".join(made.figure.texts[1].get_text().split())


def test_the_caption_of_copying_names_each_network_once_for_each_outcome_with_its_thresholds():
    made = made_of("copying")
    said = caption_of(made)
    assert "Loss below 5 % of it (copies): expRNN, dtriv, scoRNN (200), asRNN." in said
    assert "Learns in part: scoRNN (1,000 and 2,000). Stays above 90 % of it: LSTM." in said
    for one in (each for each in curves() if len(each.losses)):
        least = one.losses.min() / one.guess
        if one.outcome == "copies":
            assert least < 0.05
        elif one.outcome == "stays at the baseline":
            assert least > 0.9
    plt.close("all")


def test_the_angle_at_the_end_of_the_rule_is_told_as_it_swings():
    made = made_of("collapsed-rule")
    angle = made.results["training"]["angle"].sel(network="along its rule").values
    assert (
        f"grows to {angle.max():.0f}° and ends at {angle[-100:].min():.0f}° to {angle[-100:].max():.0f}°"
        in caption_of(made)
    )
    plt.close("all")


def test_every_trajectory_that_is_drawn_of_the_flip_flop_lies_within_its_axes():
    made = made_of("flipflop")
    drawn = made.results["geometry"]["trajectory"].values[:24].reshape(-1, 3)
    (ax,) = made.figure.axes
    for values, (low, high) in zip(drawn.T, (ax.get_xlim(), ax.get_ylim(), ax.get_zlim()), strict=True):
        assert low <= values.min()
        assert values.max() <= high
        assert high - low < 1.3 * np.ptp(values)
    plt.close("all")


def test_an_integrator_whose_last_turn_leaves_the_panel_is_named():
    made = made_of("integrators")
    ends = {
        name: abs(made.results[f"orbit-{name}"]["trajectory"].values[0, 365:401]).max(axis=1).min()
        for name in INTEGRATORS
    }
    assert [name for name, least in ends.items() if least > 1.3] == ["euler"]
    words = [text.get_text() for text in made.figure.legends[0].get_texts()]
    assert "the last 35 of them (Euler: outside its panel)" in words
    plt.close("all")


def test_the_movie_has_a_caption_in_every_frame():
    made = made_of("movie", True)
    for figure in made.animation():
        title, caption = (" ".join(text.get_text().split()) for text in figure.texts)
        assert title.startswith("The tutorial's network learns a sine: epoch ")
        assert caption.startswith("From 6 values of a sine the network predicts the 8 after them.")
    plt.close("all")
