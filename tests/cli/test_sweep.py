"""`dynlab sweep`: each cell is what its command gives alone, and what cannot be swept is answered in a sentence."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

import dynlab as dl
from dynlab.cli import sweep
from dynlab.cli.main import run
from dynlab.errors import UserError
from dynlab.sweep import Store

COMMAND = Path(sys.executable).with_name("dynlab")  # not `python -m`, which itself looks into the working folder
HENON = ["sweep", "lyapunov", "--system", "henon", "--steps", "60"]
HERE = ["--workers", "0", "--quiet"]


@pytest.fixture
def network(folder):
    torch.manual_seed(0)
    for name in ("one.pt", "two.pt"):
        torch.save(torch.nn.GRU(2, 3).state_dict(), folder / name)
    return ["one.pt", "two.pt"]


def test_a_cell_is_what_the_command_gives_alone_and_workers_give_the_same_store(folder, capsys):
    grid = ["--grid", "a=1.1,1.4", "--grid", "seed=0:1:2"]
    assert run([*HENON, *grid, "--save", "here.zarr", *HERE]) == 0
    assert capsys.readouterr().out == "4 cells: a (2) × seed (2). 4 are done, 0 failed: here.zarr.\n"
    assert run([*HENON, *grid, "--save", "there.zarr", "--workers", "1", "--quiet"]) == 0
    stores = [xr.open_zarr(name, consolidated=False).load() for name in ("here.zarr", "there.zarr")]
    for ds in stores:
        del ds.attrs["created"]
    xr.testing.assert_identical(*stores)
    one = dl.lyapunov(dl.create("henon", a=1.4), steps=60, seed=1)
    cell = dl.open("here.zarr").sel(a=1.4, seed=1)
    np.testing.assert_array_equal(cell["exponent"], one["exponent"])
    np.testing.assert_array_equal(cell["time"], one["time"])
    assert str(cell["verdict"].values) == one.attrs["verdict"]
    assert json.loads(str(cell["settings"].values)) == json.loads(one.attrs["settings"])
    assert run([*HENON, *grid, "--save", "here.zarr", *HERE]) == 0
    assert "0 are done, 4 were before, 0 failed" in capsys.readouterr().out


def test_several_checkpoints_are_an_axis_and_a_failing_one_says_why(network, folder, printed_json):
    (folder / "three.pt").write_bytes(b"no network")
    driven = ["--inputs", "noise:1.0", "--steps", "5", "--samples", "2"]
    told = printed_json(["sweep", "gradient", *network, "three.pt", *driven, "--save", "g.zarr", "--json", *HERE])
    assert [told[name] for name in ("cells", "done", "done_before", "failed")] == [3, 2, 0, 1]
    assert told["problems"][0]["cell"] == {"checkpoint": "three.pt"}
    assert "three.pt" in told["problems"][0]["problem"]
    ds = dl.open("g.zarr")
    for name in network:
        system = dl.load(name)
        one = dl.gradient(system, dl.driving_inputs("noise:1.0", system, samples=2, steps=5).inputs)
        np.testing.assert_array_equal(ds["log_norm"].sel(checkpoint=name), one["log_norm"])
    assert np.isnan(ds["log_norm"].sel(checkpoint="three.pt")).all()


def test_a_sweep_of_which_no_cell_is_done_ends_with_2_and_is_tried_again(network, folder, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    line = ["sweep", "gradient", *network, "--inputs", "noise:1.0", "--steps", "5", "--save", "g.zarr", *HERE]
    with monkeypatch.context() as patched:
        patched.setattr(Store, "write", interrupted)  # the store is begun, and has no cell yet
        assert run(line) == 130
    capsys.readouterr()
    good = (folder / "one.pt").read_bytes()
    for name in network:
        (folder / name).write_bytes(b"no network")
    for as_json in ([], ["--json"]):
        assert run([*line, *as_json]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("dynlab: No cell of g.zarr is done, as all 2 failed: checkpoint = one.pt: ")
        assert said.err.endswith(" The same line tries them again.\n")
        assert len(said.err.splitlines()) == 1
    (folder / "one.pt").write_bytes(good)
    assert run(line) == 0
    assert "1 are done, 1 failed" in capsys.readouterr().out
    (folder / "two.pt").write_bytes(good)
    assert run(line) == 0
    assert "2 are done, 1 again since files have changed, 0 failed" in capsys.readouterr().out


@pytest.mark.parametrize("as_json", [True, False])
def test_an_error_of_dynlabs_own_is_a_failed_cell_and_ends_with_3(folder, capsys, monkeypatch, as_json):
    def wrong(*arguments):
        if arguments[-1]["a"] > least:
            raise ZeroDivisionError("in a cell")
        return compute(*arguments)

    compute, least = sweep.cell_dataset, 1.0
    monkeypatch.setattr(sweep, "cell_dataset", wrong)
    line = [*HENON, "--grid", "a=1.0,1.2,1.3", "--save", "h.zarr", *HERE, *(["--json"] if as_json else [])]
    assert run(line) == 3
    said = capsys.readouterr()
    assert json.loads(said.out)["failed"] == 2 if as_json else "1 are done, 2 failed" in said.out
    assert said.err == "dynlab: errors of dynlab's own are in h.zarr; please report them.\n"
    least = 2.0
    assert run(line) == 0
    least = 0.0
    assert run([*line, "--save", "new.zarr"]) == 3
    assert "The first cell fails, and so do all that were tried: an error of dynlab's own" in capsys.readouterr().err
    assert not (folder / "new.zarr").exists()


def test_a_dry_run_computes_a_cell_and_writes_nothing(folder, printed_json):
    told = printed_json(
        [*HENON, "--grid", "a=1:1.4:1000", "--grid", "seed=0:99:100", "--dry-run", "--json", "--workers", "4"]
    )
    assert (told["cells"], told["workers"]) == (100_000, 4)
    assert told["seconds"] == pytest.approx(100_000 * told["seconds_each"] / 4)
    assert told["bytes"] == 100_000 * told["bytes_each"] > 100_000 * 8 * 60
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--grid", "rho=1,2"], "Unknown grid name 'rho'"),
        (["--grid", "sead=1,2"], "did you mean 'seed'?"),
        (["--grid", "b=0.1:0.3"], "--grid takes NAME=VALUES"),
        (["--grid", "covariant=1,2"], "Unknown grid name 'covariant'"),
        (["--grid", "b=0.1,0.3", "--grid", "b=0.2,0.4"], "Grid b is named twice"),
        (["--grid", "b=0.1,0.3", "--output", "x.png"], "--output is of one result"),
        (["--grid", "b=0.1,0.3", "--wrong"], "No such option"),
        ([], "add --grid NAME=VALUES"),
        (["--grid", "a=1,2", "--scheduler", "nonsense"], "--workers are of this machine"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_before_anything_is_written(refused, arguments, sentence):
    refused([*HENON, *arguments, "--save", "x.zarr", *HERE], sentence)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["explore"], "dynlab explore is no analysis"),
        (["sweep"], "dynlab sweep is no analysis"),
        (["lyapunof"], "did you mean 'lyapunov'?"),
        (["lyapunov", "--matrix", "diff", "--save", "x.nc"], "takes a file that ends in .zarr, got 'x.nc'"),
        (["lyapunov", "--matrix", "diff"], "ends in .zarr. --dry-run"),
        (["lyapunov", "--matrix", "diff", "--save", "no/x.zarr"], "does not exist"),
        (["spectrum", "a.pt", "b.pt", "a.pt", "--save", "x.zarr"], "Checkpoint a.pt is named twice"),
    ],
)
def test_what_is_no_sweep_is_refused(refused, arguments, sentence):
    refused(["sweep", *arguments, "--grid", "seed=0,1", "--quiet"], sentence)


def test_cells_are_computed_again_where_a_file_has_changed(network, folder, printed_json):
    np.save("u.npy", np.ones((2, 5, 2)))
    line = ["sweep", "gradient", *network, "--inputs", "u.npy", "--save", "g.zarr", "--json", *HERE]

    def again():
        told = printed_json(line)
        return told["computed_again"], told["done"], told["done_before"]

    assert (again(), again()) == ((0, 2, 0), (0, 0, 2))
    np.save("u.npy", np.full((2, 5, 2), 3.0))
    assert (again(), again()) == ((2, 2, 0), (0, 0, 2))
    for name in network:
        one = dl.gradient(dl.load(name), np.load("u.npy"))
        np.testing.assert_array_equal(dl.open("g.zarr").sel(checkpoint=name)["log_norm"], one["log_norm"])


def test_a_worker_elsewhere_reads_the_files_of_the_folder_that_the_sweep_was_begun_in(network, folder, monkeypatch):
    (folder / "elsewhere").mkdir()
    cell = ["gradient", ["one.pt", "--inputs", "noise:1.0", "--steps", "5"], {"seed": "--seed="}]
    one = sweep.cell_dataset(*cell, (dl.__version__, str(folder)), {"seed": 0})
    monkeypatch.chdir(folder / "elsewhere")
    two = sweep.cell_dataset(*cell, (dl.__version__, str(folder)), {"seed": 0})
    np.testing.assert_array_equal(one["log_norm"], two["log_norm"])
    assert Path.cwd() == folder
    monkeypatch.chdir(folder / "elsewhere")
    there = ["lyapunov", ["--system", "henon", "--steps", "60"], {"seed": "--seed="}, (dl.__version__, "/not/here")]
    assert sweep.cell_dataset(*there, {"seed": 0})["exponent"].size == 2
    with pytest.raises(UserError, match=r"this worker has dynlab .*, and the sweep was begun with 0\.0\.1: install"):
        sweep.cell_dataset(*cell, ("0.0.1", str(folder)), {"seed": 0})


def test_workers_run_nothing_that_lies_in_the_working_folder(folder):
    """A process that is started looks for its modules where dynlab's are; a folder of downloads may hold signal.py."""
    for name in ("signal", "random", "struct", "numpy"):
        (folder / f"{name}.py").write_text("open('ran', 'w')")
    sweep = "sweep lyapunov --system logistic --steps 5 --grid seed=0,1 --save s.zarr --workers 2"
    done = subprocess.run([COMMAND, *sweep.split()], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (folder / "ran").exists()
