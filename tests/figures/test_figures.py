"""Every figure is drawn from what is kept; what it says was measured is in the gallery's page."""

import os
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from PIL import Image

from dynlab.cli.pictures import Movie, save_movie
from dynlab.errors import lookup
from dynlab.figures import FIGURES
from dynlab.figures.movie import DRAWN, errors
from dynlab.figures.pages import gallery_page
from dynlab.figures.scripts import kept
from dynlab.figures.tutorial import collapsed_rule, collapsed_sensitivities, random_start, tutorial_start

GALLERY = (Path(__file__).parents[2] / "figures" / "gallery" / "README.md").read_text(encoding="utf-8")
# Those that compute in seconds: what is drawn from records has no other way, zoo and flipflop search for minutes.
COMPUTED = ("antisymmetric-1h", "antisymmetric-2", "collapsed-rule", "critical-step", "ernn-1", "ernn-6", "movie")
# What only a search with random starts has, and the fast one of that network begins at one start.
ONE_START = {"ernn-har2-k5.fixed_points": {"unseen_share", "unseen_share_bound"}}


@cache
def made_of(name, fast=False):
    """What a script makes, for all tests that look at it."""
    made = lookup(FIGURES, name, "figure")(fast=fast)
    plt.close("all")
    return made


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_from_what_is_kept_and_the_page_has_its_sentence(name, tmp_path):
    made = made_of(name)
    made.figure.savefig(tmp_path / "figure.png", dpi=50)
    assert gallery_page({name: made}).partition("\n## ")[2] in GALLERY  # else `dynlab figure all` writes it anew


@pytest.mark.parametrize("name", [name for name in FIGURES if lookup(FIGURES, name, "figure").compute is None])
def test_what_only_trainings_make_is_not_computed_again(name):
    with pytest.raises(ValueError, match="does not repeat"):
        lookup(FIGURES, name, "figure")(recompute=True)


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_kept_can_be_computed_and_has_the_same_form(name):
    if name == "antisymmetric-2" and "DYNLAB_DATA" not in os.environ:
        pytest.skip("needs the data in DYNLAB_DATA")
    few, whole = made_of(name, True).results, kept(name)
    assert set(few) == set(whole)
    for key, ds in few.items():
        same = whole[key].drop_vars(ONE_START.get(key, ()))
        assert {v: ds[v].dims for v in ds.data_vars} == {v: same[v].dims for v in same.data_vars}
        assert ds.attrs["system"] == same.attrs["system"]


def test_the_movie_is_a_gif_each_of_whose_frames_tells_its_own_errors(tmp_path):
    made = made_of("movie", True)
    save_movie(Movie(made.animation(), 6.25), tmp_path / "movie.gif")
    own = errors(made.results["predictions"])
    own = own.isel(step=np.unique(np.linspace(0, own.sizes["step"] - 1, DRAWN).round().astype(int)))
    with Image.open(tmp_path / "movie.gif") as movie:
        assert movie.n_frames == own.sizes["step"]
    told = [[ax.get_title(loc="left").partition("\n")[2] for ax in figure.axes] for figure in made.animation()]
    assert told == [
        [f"error: gradient {loss[0, frame]:.3f}, rule {loss[1, frame]:.3f}" for loss in own.values]
        for frame in range(own.sizes["step"])
    ]


@pytest.mark.parametrize("start, error", [(tutorial_start, 0.007), (lambda: random_start(4.0, 0), 0.7)])
def test_the_collapsed_rule_sums_the_true_sensitivities_over_the_row(start, error):
    """S_i,jk = ∂s_i/∂W_jk by automatic differentiation; R_ik = Σ_j S_i,jk, and the rule is not the gradient."""
    system, _ = start()
    inputs = torch.linspace(-1, 1, 6, dtype=torch.float64).sin()[None, :, None].expand(1, 6, system.input_size)

    def last(W):
        state = inputs.new_zeros(1, system.state_size)
        for input in inputs.unbind(1):
            state = torch.sigmoid(state @ W.mT + input @ system.V.detach().mT)
        return state[0]

    W = system.W.detach()
    state, collapsed = collapsed_sensitivities(system, inputs)
    true = torch.func.jacrev(last)(W)
    torch.testing.assert_close(state[0], last(W))
    torch.testing.assert_close(collapsed["W"][0], true.sum(dim=1), rtol=1e-10, atol=1e-12)
    by_state = torch.ones(1, system.state_size, dtype=torch.float64)
    gradient, rule = torch.einsum("i,ijk->jk", by_state[0], true), collapsed_rule(collapsed, by_state)["W"]
    assert 0.2 * error < float((rule - gradient).norm() / gradient.norm()) < 5 * error
