"""`dynlab animate`: frames show what their titles say."""

import numpy as np
import torch
from PIL import Image
from torch import nn

import dynlab as dl
from dynlab.cli.main import run
from dynlab.plots.movie import spectrum_frames, trajectory_frames

SMALL = ["--dpi", "30", "--quiet"]
SWEEP = ["animate", "--matrix", "diff", "--parameter", "step_size", "--from", "0.02", "--to", "0.2", "--frames", "2"]


def frames_of(path):
    with Image.open(path) as film:
        return film.n_frames, film.size


def test_a_sweep_is_a_gif_of_as_many_frames(folder, capsys):
    assert run([*SWEEP, "-o", "a.gif", *SMALL]) == 0
    assert frames_of("a.gif") == (2, (288, 240))
    assert "between frames 1 and 2 (ε = 0.0746)" in capsys.readouterr().out


def test_a_checkpoint_moves_among_its_fixed_points_and_a_run_has_a_frame_each(folder, capsys):
    torch.manual_seed(0)
    (folder / "run").mkdir()
    for step in (0, 10):
        torch.save(nn.GRU(2, 3).state_dict(), f"run/step-{step}.pt")
    how = ["--inputs", "noise:1.0", "--steps", "12", "--samples", "2", "--frames", "4", *SMALL]
    assert run(["animate", "run/step-0.pt", *how]) == 0
    assert frames_of("figures/animate-run-step-0.gif")[0] == 4
    assert run(["animate", "run", *how, "--save", "run.nc"]) == 0
    assert frames_of("figures/animate-run-over-step.gif")[0] == 2
    assert "spectral radius" in capsys.readouterr().out


def test_spectra_stand_at_the_eigenvalues_of_their_step_in_one_window():
    run_of = {step: dl.from_function(lambda h, x, g=g: g * h, state_size=2) for step, g in {0: 0.5, 100: 1.25}.items()}
    drawn = list(spectrum_frames(dl.over_training("spectrum", run_of, [[], []]), 5))
    for figure, factor in zip(drawn, (0.5, 1.25), strict=True):
        np.testing.assert_allclose(figure.axes[0].collections[0].get_offsets().data, [[factor, 0]] * 4)
        assert figure.axes[0].get_xlim() == drawn[0].axes[0].get_xlim()
    assert drawn[1].get_suptitle() == "Step 100 of the training: spectral radius 1.25"


def test_points_move_along_the_trajectories():
    torch.manual_seed(0)
    ds = dl.geometry(dl.from_module(nn.GRU(2, 3)), np.random.default_rng(0).standard_normal((3, 9, 2)), starts=8)
    drawn = list(trajectory_frames(ds, 4))
    for figure, t in zip(drawn, (0, 3, 6, 9), strict=True):
        np.testing.assert_allclose(figure.axes[0].collections[-1].get_offsets().data, ds["trajectory"].values[:, t, :2])
