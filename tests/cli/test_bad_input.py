"""What is wrong with a checkpoint or its inputs is said in one sentence; nothing is written and the exit code is 2."""

import os
import sys

import numpy as np
import pytest
import torch

from dynlab.cli.main import run

ANALYSES = ["spectrum", "gradient", "fixed-points", "ernn-convergence"]


def save_lstm(path, **changes):
    torch.manual_seed(0)
    state = torch.nn.LSTM(3, 4).state_dict() | changes
    torch.save(state, path)


class Malicious:
    def __reduce__(self):
        import os

        return os.system, ("touch ran",)


def truncated(path):
    save_lstm(path)
    path.write_bytes(path.read_bytes()[:700])


# What lies in the file, and a word that the sentence about it holds.
FILES = {
    "missing": (lambda path: None, "no file"),
    "empty": (lambda path: path.write_bytes(b""), "empty"),
    "text": (lambda path: path.write_text("hello, world\n" * 100), "model.pt"),
    "truncated": (truncated, "model.pt"),
    "pickle that would run code": (lambda path: torch.save({"a": Malicious()}, path), "system"),
    "no recurrent layer": (lambda path: torch.save(torch.nn.Linear(3, 4).state_dict(), path), "no RNN, GRU or LSTM"),
    "shapes that do not fit": (lambda path: save_lstm(path, weight_hh_l0=torch.zeros(16, 5)), "weight_hh"),
    "NaN": (lambda path: save_lstm(path, weight_hh_l0=torch.full((16, 4), torch.nan)), "NaN"),
    "inf": (lambda path: save_lstm(path, weight_hh_l0=torch.full((16, 4), torch.inf)), "inf"),
}


@pytest.mark.parametrize("command", ["inspect", *ANALYSES])
@pytest.mark.parametrize("what", FILES)
def test_a_bad_file(command, what, tmp_path, refused):
    make, word = FILES[what]
    make(tmp_path / "model.pt")
    refused([command, "model.pt"], word)


@pytest.mark.parametrize("command", ["spectrum", "gradient", "fixed-points"])
@pytest.mark.parametrize(
    "array, word",
    [
        (np.zeros((2, 5, 4)), "(sample, time, 3)"),
        (np.zeros((2, 0, 3)), "empty"),
        (np.zeros((0, 5, 3)), "empty"),
        (np.full((2, 5, 3), np.nan), "NaN"),
        (np.zeros(3), "shape"),
    ],
    ids=["width", "no steps", "no samples", "NaN", "one-dimensional"],
)
def test_bad_inputs(command, array, word, tmp_path, refused):
    save_lstm(tmp_path / "model.pt")
    np.save(tmp_path / "inputs.npy", array)
    refused([command, "model.pt", "--quiet", "--inputs", "inputs.npy"], word)


@pytest.mark.parametrize(
    "options, word",
    [
        (["--inputs", "nois:1.0"], "nois:1.0"),
        (["--inputs", "missing.npy"], "missing.npy"),
        (["--inputs", "constant:1,2"], "constant:… takes 3 numbers, one for each input of model; got 2."),
        (["--layer", "encoder.rnn"], "encoder.rnn"),
        (["--device", "gpu"], "gpu"),
        (["--samples", "0"], "--samples"),
        (["--seed", "-1"], "--seed"),
        (["--dtype", "float16"], "--dtype"),
        (["--output", "figure.jpeg"], ".png"),
        (["--data", "result.csv"], ".nc"),
        (["--output", "missing/figure.png"], "missing"),
        (["--data", "model.pt"], ".nc"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_options(options, word, tmp_path, refused):
    save_lstm(tmp_path / "model.pt")
    refused(["spectrum", "model.pt", "--quiet", *options], word)


def test_a_constant_input_of_what_takes_none(refused):
    refused(["spectrum", "--system", "henon", "--inputs", "constant:1", "--quiet"], "--inputs is a checkpoint's")


@pytest.mark.parametrize("tokens, told", [(np.ones((3, 10), dtype=int), True), (np.ones((3, 10)), False)])
def test_tokens_of_a_file_that_looks_none_up(tokens, told, tmp_path, capsys):
    model = torch.nn.ModuleDict({"embedding": torch.nn.Embedding(20, 16), "rnn": torch.nn.GRU(16, 4)})
    torch.save(model.state_dict(), tmp_path / "lm.pt")
    np.save(tmp_path / "tokens.npy", tokens)
    assert run(["gradient", "lm.pt", "--inputs", "tokens.npy", "--quiet"]) == 2
    words = (
        " Where the whole numbers of tokens.npy are tokens: these are not looked up; give their embedded vectors, in "
        "torch embedding(tokens), of shape (sample, time, 16).\n"
    )
    assert capsys.readouterr().err.endswith(words) == told


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("spectrum model.pt --matrix diff", "CKPT and --matrix each name what is looked at: leave one of the two out."),
        ("spectrum --system henon --matrix diff", "--system and --matrix each name what is looked at"),
        ("phase --kind vanilla --step 0.2", "--kind vanilla takes no step ε: leave out --step or --kind."),
        ("spectrum --matrix diff --kind linear --step 0.2", "--kind linear takes no step ε"),
        ("lyapunov --matrix zero --kind flow --step 0.2 --quiet", "--kind flow takes no step ε"),
    ],
)
def test_options_that_would_change_nothing_or_name_two_things(line, sentence, tmp_path, refused):
    save_lstm(tmp_path / "model.pt")
    refused(line.split(), sentence)


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("fixed-points model.pt --slow-points -1", "'--slow-points': -1.0 is no positive number."),
        ("fixed-points model.pt --slow-points x", "'--slow-points': 'x' is no positive number."),
        ("lyapunov model.pt -k 0", "'-k': 0 is no whole number of at least 1."),
        ("lyapunov model.pt --transient -1", "'--transient': -1.0 is no number of at least 0."),
        ("geometry model.pt --transient -1", "'--transient': -1 is no whole number of at least 0."),
        ("modes model.pt -k 0", "'-k': 0 is no whole number of at least 1."),
        ("basins model.pt --grid 0", "'--grid': 0 is no whole number of at least 2."),
        ("basins model.pt --extent 0", "'--extent': 0.0 is no positive number."),
        ("pseudospectrum model.pt --grid 1", "'--grid': 1 is no whole number of at least 2."),
    ],
)
def test_a_number_out_of_range_is_refused_before_a_file_is_read(line, sentence, refused):
    refused(line.split(), sentence)  # there is no model.pt


def test_a_file_where_the_figures_should_go(tmp_path, refused):
    save_lstm(tmp_path / "model.pt")
    (tmp_path / "figures").write_text("notes")
    refused(["spectrum", "model.pt", "--quiet"], "figures is a file")


def test_what_exists_is_replaced_only_when_told(tmp_path, refused):
    save_lstm(tmp_path / "model.pt")
    (tmp_path / "mine.png").write_text("precious")
    refused(["spectrum", "model.pt", "--quiet", "-o", "mine.png"], "overwrite")
    assert (tmp_path / "mine.png").read_text() == "precious"
    call = ["spectrum", "model.pt", "--quiet", "--steps", "4", "--samples", "1", "-o", "mine.png"]
    assert run([*call, "--overwrite"]) == 0
    assert (tmp_path / "mine.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["a.zarr", "a.nc"])
def test_data_that_may_not_be_replaced_are_refused_before_a_figure_is_written(name, tmp_path, refused):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "notes").write_text("precious")
    os.mkfifo(tmp_path / "a.nc")
    refused(["phase", "--matrix", "diff", "--quiet", "--overwrite", "-o", "a.png", "--data", name], "is not replaced")
    assert not (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    "matrix, word",
    [
        ("1,2,3;4,5,6", "square"),
        ("a,b;c,d", "number"),
        ("1", "2 × 2"),
        ("dif", "diff"),
        ("1,nan;0,1", "number"),
        ("", ""),
    ],
)
def test_a_bad_matrix(matrix, word, refused):
    refused(["phase", "--matrix", matrix], word)


@pytest.mark.parametrize("step", ["0", "-0.1", "nan", "inf"])
def test_a_bad_step(step, refused):
    refused(["phase", "--matrix", "diff", "--step", step], "positive")


def test_a_singular_matrix_is_welcome(capsys):
    assert run(["phase", "--matrix", "0,1;0,0", "--quiet"]) == 0
    assert "line of equilibria" in capsys.readouterr().out


RESULTS = [["phase"], ["spectrum", "model.pt", "--quiet"], ["figure", "critical-step", "--quiet"], ["demo", "--quiet"]]


@pytest.mark.parametrize("call", RESULTS, ids=lambda call: call[0])
def test_a_file_where_the_folder_for_figures_should_be(call, tmp_path, refused):
    save_lstm(tmp_path / "model.pt")
    (tmp_path / "figures").write_text("precious")
    refused(call, "figures is a file")


@pytest.mark.parametrize("more", [[], ["-o", "a.png"], ["-o", "sub/a.png", "--data", "a.nc"]], ids=len)
def test_a_folder_that_cannot_be_written_to(more, tmp_path, monkeypatch, refused):
    (tmp_path / "sub").mkdir()
    # a superuser may write anywhere, so that a folder without the permission would prove nothing
    monkeypatch.setattr("os.access", lambda path, mode: str(path) == "sub")
    refused(["phase", *more], "cannot be written to")


@pytest.mark.parametrize(
    "line, words",
    [
        (["phase", "--matrix=1e-320,0;0,-1e-320", "--kind", "flow"], "in another unit, 1e20 times as large"),
        (["explore", "--matrix", "diff", "--at", "7,7"], "hold the input of a network: --matrix has none"),
        (
            ["bifurcation", "--system", "logistic", "--parameter", "r", "--from", "2", "--to", "2.1", "--grid", "7"],
            "give --second",
        ),
        (["inspect", "a" * 300], "a" * 20),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_fix(line, words, refused):
    refused(line, words)


LONG = "9" * (sys.get_int_max_str_digits() + 1)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["phase", "--matrix", f"{LONG}/3,0;0,1"], "digits"),
        (["sweep", "lyapunov", "--system", "lorenz", "--grid", f"rho=0:1:{LONG}", "--data", "s.zarr"], "digits"),
        (["bifurcation", "--matrix", "diff", "--parameter", f"W[{LONG},0]", "--from", "0", "--to", "1"], "digits"),
        (["spectrum", "--matrix", "diff", "--device", f"cuda:{LONG}"], "digits"),
        (["lyapunov", "--system", "lorenz", "--set", "rho=" + "[" * 50_000], "nests more"),
        (["phase", "--step", "1e308"], "between 1e-300 and 1e+300"),
        (["phase", "--step", "1e-320"], "between 1e-300 and 1e+300"),
    ],
)
def test_numbers_that_python_does_not_read_and_values_without_end_are_refused(arguments, sentence, refused):
    refused([*arguments, "--quiet"], sentence)
