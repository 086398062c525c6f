"""Refusals: one sentence names the fix, the exit code is 2, and nothing is written."""

import pytest
import torch
from torch import nn

GRU = ["gru.pt", "--inputs", "noise:1.0", "--steps", "5", "--quiet"]


@pytest.fixture(autouse=True)
def network(folder):
    torch.manual_seed(0)
    torch.save(nn.GRU(2, 3).state_dict(), folder / "gru.pt")


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
        (["phase", "--start", "1,2,3"], "--start takes 2 numbers"),
        (["basins", "--system", "lorenz", "--at", "x"], "'x' is not zero or rest or mean or numbers such as 0.1,0.2"),
        (["gradient", "--system", "lorenz"], "is a flow, and this command analyses maps: --step-size 0.01"),
        (["gradient", *GRU, "--loss"], "holds no read-out"),
        (["lyapunov", "--system", "henon", "--seconds", "3"], "seconds= is for a Flow"),
        (["modes", *GRU, "--point", "9"], "--point counts the fixed points from 0"),
        (["check", *GRU], "Give at least one bound"),
        (["check", *GRU, "--max-modulus", "1", "--junit", "a.txt"], "--junit takes a file that ends in .xml"),
        (["gradient", *GRU, "--save", "a.txt"], "--save takes a file that ends in .nc, .zarr, .csv"),
        (["gradient", *GRU, "-o", "a.png", "--no-figure"], "leave one of the two out"),
        (["explore", "--certify"], "or a network in a file: name CKPT"),
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
