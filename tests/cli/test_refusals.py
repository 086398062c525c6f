"""Refusals: one sentence names the fix, the exit code is 2, and nothing is written."""

import pytest
import torch
from torch import nn

GRU = ["gru.pt", "--inputs", "noise:1.0", "--steps", "5", "--quiet"]
SMALL = ["--task", "digits", "--batch-size", "600", "--epochs", "1"]
VANILLA = ["train", "--system", "vanilla", "--set", "state_size=3"]
MOVIE = ["animate", "--matrix", "diff", "--quiet", "--from", "0.02"]
SWEEP = ["sweep", "lyapunov", "--system", "henon", "--save", "x.zarr", "--workers", "0", "--quiet", "--grid"]


@pytest.fixture(autouse=True)
def network(folder):
    torch.manual_seed(0)
    torch.save(nn.GRU(2, 3).state_dict(), folder / "gru.pt")
    (folder / "a.gif").touch()


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["spectrm", "x.pt"], "did you mean 'spectrum'"),
        (["covariant-vectors", "x.pt"], "`dynlab lyapunov --covariant` does that"),
        (["spectrum"], "Name what to analyse"),
        (["spectrum", "no-such-file.pt"], "There is no file no-such-file.pt"),
        (["spectrum", "a.pt", "b.pt"], "compare two by `dynlab compare A B`"),
        (["spectrum", "--matrix", "diff", "--inputs", "noise:1.0"], "--inputs does not apply to diff"),
        (["phase", "--set", "a=1"], "--set does not apply to matrix"),
        (["phase", "--start", "1,2,3"], "shape (sample, 2)"),
        (["basins", "--system", "lorenz", "--at", "x"], "'x' is not zero or rest or mean or numbers such as 0.1,0.2"),
        (["gradient", "--system", "lorenz"], "is a flow, and this command analyses maps: --step-size 0.01"),
        (["gradient", *GRU, "--loss"], "holds no read-out"),
        (["lyapunov", "--system", "henon", "--seconds", "3"], "seconds= is for a Flow"),
        (["modes", *GRU, "--point", "9"], "--point counts the fixed points from 0"),
        (["check", *GRU], "Give at least one bound"),
        (["check", *GRU, "--max-modulus", "1", "--junit", "a.txt"], "--junit takes a file that ends in .xml"),
        (["gradient", *GRU, "--save", "a.txt"], "--save takes a file that ends in .nc, .zarr, .csv"),
        (["gradient", *GRU, "-o", "a.png", "--no-figure"], "leave one of the two out"),
        (["explore", "--certify"], "or a network in a file CKPT"),
        (["train"], "Name what is trained and what on: --system ernn --task har2, or a --preset."),
        (["train", "--preset", "har2-ern-k1"], "Unknown preset 'har2-ern-k1': did you mean 'har2-ernn-k1'?"),
        ([*VANILLA, *SMALL, "--lr", "0"], "--lr must be a positive number, got 0.0"),
        ([*VANILLA, "--task", "har2", "--data-dir", "nowhere"], "There is no data folder nowhere"),
        ([*VANILLA, *SMALL, "--device", "abacus"], "There is no device 'abacus' here"),
        (["train", "--system", "lorenz", *SMALL], "has nothing to train"),
        (["train", "--resume", "-o", "x", "--lr", "0.1"], "--resume takes only --output, the run's folder"),
        (["train", "--resume", "-o", "x"], "x holds no training run"),
        ([*MOVIE, "--to", "0.2", "--parameter", "x"], "'x'"),
        ([*MOVIE, "-o", "a.png"], "--output takes a file that ends in .gif"),
        (["figure", "movie", "-o", "a.png", "--quiet"], "a.gif exists: add --overwrite"),
        (["inspect"], "Name what to inspect: CKPT or --system NAME"),
        (MOVIE, "add those that are missing"),
        (MOVIE[:-2], "Nothing moves"),
        ([*SWEEP, "sead=1,2"], "did you mean 'seed'?"),
        ([*SWEEP, "b=0.1,0.3", "--grid", "b=0.2,0.4"], "--grid b has its name or a value twice"),
        ([*SWEEP, "b=0.1,0.3", "--output", "x.png"], "--output is of one result"),
        ([*SWEEP, "a=1:2:0"], "takes NAME=VALUES"),
        ([*SWEEP, "a=0:1:log5"], "a must be a number, got '0:1:log5'"),
        ([*SWEEP, "a=1,2,1"], "a value twice"),
        (["sweep", "compare", "--save", "x.zarr", "--grid", "seed=0,1"], "dynlab compare is no analysis"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(arguments, sentence, refused):
    refused(arguments, sentence)


@pytest.mark.parametrize(
    "content, sentence", [(b"", "is empty"), (b"hello world", "is no checkpoint")], ids=["empty", "text"]
)
def test_what_is_no_checkpoint(content, sentence, folder, refused):
    (folder / "a.pt").write_bytes(content)
    refused(["inspect", "a.pt"], sentence)
