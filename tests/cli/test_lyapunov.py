"""`dynlab lyapunov`: its verdict, files and JSON, and one sentence for what is wrong."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import io
from dynlab.cli.main import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    torch.save(nn.GRU(3, 6).state_dict(), "gru.pt")
    np.save("inputs.npy", np.random.default_rng(0).standard_normal((4, 60, 3)))
    return tmp_path


def test_the_verdict_the_figure_and_the_data(folder, capsys, pictures):
    assert run(["lyapunov", "gru.pt", "--inputs", "inputs.npy", "-k", "2", "--transient", "20", "--data", "a.nc"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Over the last 40 of 60 steps of 4 sequences of inputs.npy the largest fin")
    (points, *_) = pictures["lyapunov-gru.png"].axes[0].containers[0]
    np.testing.assert_array_equal(points.get_ydata(), io.shipped("a.nc")["mean_exponent"])
    direct = dl.lyapunov(dl.load("gru.pt"), np.load("inputs.npy"), k=2, transient=20)
    np.testing.assert_array_equal(io.shipped("a.nc")["finite_time_exponent"], direct["finite_time_exponent"])


def test_json_is_one_strict_document(printed_json):
    options = ["--inputs", "zero", "--steps", "300", "--json", "--quiet"]
    document = printed_json(["lyapunov", "gru.pt", *options])
    found = document["variables"]["exponent"]
    assert found["units"] == "nat/step"
    assert len(found["values"][0]) == 6
    assert document["settings"]["transient"] == 30


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["-k", "7", "--covariant"], "k is from 1 to the state's 6 dimensions, got 7"),
        (["-k", "7"], "k is from 1 to the state's 6 dimensions, got 7"),
        (["-k", "0"], "0 is no whole number of at least 1."),
        (["--transient", "60"], "from 0 to below that, got 60"),
        (["-k", "x"], "'x' is no whole number of at least 1."),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(options, sentence, refused):
    refused(["lyapunov", "gru.pt", "--inputs", "inputs.npy", "--quiet", *options], sentence)


def test_a_system_by_name_and_a_matrix(folder, capsys, pictures):
    assert run(["lyapunov", "--system", "henon", "--start", "0.1,0.1", "--steps", "500", "--data", "h.nc"]) == 0
    direct = dl.lyapunov(dl.create("henon"), steps=500, initial_state=[[0.1, 0.1]])
    np.testing.assert_array_equal(io.shipped("h.nc")["exponent"], direct["exponent"])
    (points, *_) = pictures["lyapunov-henon.png"].axes[0].containers[0]
    np.testing.assert_array_equal(points.get_ydata(), direct["exponent"][0])
    assert run(["lyapunov", "--system", "lorenz", "--seconds", "2", "--set", "rho=0.5", "--quiet"]) == 0
    said = capsys.readouterr().out  # the origin attracts: ΣΛ = −(σ + 1 + β)
    assert "Over the last 1.8 of 2 s from a random start near 0 the largest" in said
    assert run(["lyapunov", "--matrix", "minus", "--steps", "200", "--quiet"]) == 0
    assert "nearby orbits approach each other" in capsys.readouterr().out


def test_a_system_that_has_a_start_of_its_own_starts_there(capsys):
    # e^{(a − 1) t} (−cos t, sin t) solves Markus and Yamabe's system; tr A = a − 2, and the clock has 0 twice
    assert run(["lyapunov", "--system", "markus-yamabe", "--seconds", "40", "--data", "m.nc", "--quiet"]) == 0
    np.testing.assert_allclose(io.shipped("m.nc")["exponent"][0], [0.5, 0, 0, -1], atol=0.06)


def test_an_orbit_that_is_cut_before_any_estimate_is_drawn_without_a_warning(folder, capsys):
    assert run(["lyapunov", "--system", "logistic", "--set", "r=4.5", "--start", "0.3", "--quiet"]) == 0
    assert "the orbit leaves |h_i| ≤ 1e+08, at step" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ([], "Got nothing to look at: name a network, a matrix or a system. For example: `dynlab lyapunov"),
        (["gru.pt", "--matrix", "diff"], "CKPT and --matrix each name what is looked at: leave one of the two out."),
        (
            ["gru.pt", "--seconds", "3"],
            "--seconds is of a flow that --system names: leave it out. gru is followed as long",
        ),
        (["--matrix", "diff", "--inputs", "zero"], "--inputs is a checkpoint's"),
        (["--matrix", "diff", "--set", "r=3"], "--set is --system's"),
        (["--system", "lorentz"], "did you mean 'lorenz'?"),
        (["--system", "lorenz", "--steps", "10"], "lorenz is a flow: say how long by --seconds, not by --steps."),
        (["--system", "henon", "--seconds", "10"], "henon is a map: say how long by --steps, not by --seconds."),
        (["--system", "lorenz", "--start", "1,2"], "--start takes 3 numbers, one for each state; got 1,2."),
        (["--system", "henon", "--covariant", "--transient", "1.5"], "--transient counts steps with --covariant"),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(arguments, sentence, refused):
    refused(["lyapunov", *arguments, "--quiet"], sentence)


def test_covariant_vectors(folder, capsys, pictures):
    options = ["--inputs", "inputs.npy", "--covariant", "-k", "3", "--transient", "20", "--data", "b.nc"]
    assert run(["lyapunov", "gru.pt", *options]) == 0
    assert capsys.readouterr().out.startswith("Over 20 of 60 steps of 4 sequences of inputs.npy ")
    *_, rates = pictures["lyapunov-gru-covariant.png"].axes  # no angle of these orbits is known
    mean = io.shipped("b.nc")["exponent"].mean("sample").values
    assert set(np.concatenate([line.get_ydata() for line in rates.lines])) >= set(mean)
    given = {"k": 3, "transient": 20, "backward_transient": 20}
    direct = dl.covariant_vectors(dl.load("gru.pt"), np.load("inputs.npy"), **given)
    np.testing.assert_array_equal(io.shipped("b.nc")["exponent"], direct["exponent"])
    assert run(["lyapunov", "gru.pt", "--inputs", "inputs.npy", "--covariant", "--transient", "40", "--quiet"]) == 2
    assert "got 40 at the start and 40 at the end" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400"])
@pytest.mark.parametrize("options", [["--transient"], ["--covariant", "--transient"]])
def test_a_transient_that_is_no_number_of_steps_is_one_sentence(options, value, refused):
    refused(["lyapunov", "--system", "henon", "--steps", "10", "--quiet", *options, value], "ransient")
