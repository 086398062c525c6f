"""`dynlab sweep`: each cell is what its command gives alone."""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

import dynlab as dl
from dynlab.cli import sweep_grid
from dynlab.cli.main import run
from dynlab.errors import UserError

COMMAND = Path(sys.executable).with_name("dynlab")  # not `python -m`, which itself looks into the working folder
HENON = ["sweep", "lyapunov", "--system", "henon", "--steps", "60"]
HERE = ["--workers", "0", "--quiet"]


@pytest.fixture
def network(folder):
    torch.manual_seed(0)
    for name in ("one.pt", "two.pt"):
        torch.save(torch.nn.GRU(2, 3).state_dict(), folder / name)
    return ["one.pt", "two.pt"]


def test_workers_give_the_same_store_and_run_nothing_that_lies_in_the_working_folder(folder, capsys):
    """A process that is started looks for its modules where dynlab's are; a folder of downloads may hold signal.py."""
    line = [*HENON, "--grid", "a=1.1,1.4", "--grid", "seed=0:1:2"]
    assert run([*line, "--save", "here.zarr", *HERE]) == 0
    assert capsys.readouterr().out == "4 cells: a (2) × seed (2). 4 are done, 0 failed: here.zarr.\n"
    for name in ("signal", "random", "struct", "numpy"):
        (folder / f"{name}.py").write_text("open('ran', 'w')")
    there = [COMMAND, *line, "--save", "there.zarr", "--workers", "1", "--quiet"]
    done = subprocess.run(there, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (folder / "ran").exists()
    names = ("here.zarr", "there.zarr")
    stores = [xr.open_zarr(name, consolidated=False).load().drop_attrs(deep=False) for name in names]
    xr.testing.assert_identical(*stores)
    for a in (1.1, 1.4):
        alone = dl.lyapunov(dl.create("henon", a=a), steps=60, seed=1)
        np.testing.assert_array_equal(stores[0].sel(a=a, seed=1)["exponent"], alone["exponent"])
        assert str(stores[0].sel(a=a, seed=1)["verdict"].values) == alone.attrs["verdict"]


def test_several_checkpoints_are_an_axis_and_one_that_fails_says_why_and_is_tried_again(network, folder, printed_json):
    (folder / "two.pt").write_bytes(b"no network")
    driven = ["--inputs", "noise:1.0", "--steps", "5", "--samples", "2"]
    line = ["sweep", "gradient", *network, *driven, "--save", "g.zarr", "--json", *HERE]
    for before in (0, 1):
        told = printed_json(line)
        assert [told[name] for name in ("cells", "done", "done_before", "failed")] == [2, 1 - before, before, 1]
        gc.collect()  # the error had kept the store
    assert told["problems"][0]["cell"] == {"checkpoint": "two.pt"}
    assert "two.pt" in told["problems"][0]["problem"]
    assert np.isfinite(dl.open("g.zarr")["log_norm"]).any(["sample", "time"]).values.tolist() == [True, False]


def test_cells_of_a_file_that_has_changed_are_not_joined_to_those_before(network, printed_json, refused):
    np.save("u.npy", np.ones((2, 5, 2)))
    line = ["sweep", "gradient", *network, "--inputs", "u.npy", "--save", "g.zarr", *HERE]
    told = [printed_json([*line, "--json"]) for _ in range(2)]
    assert [(each["done"], each["done_before"]) for each in told] == [(2, 0), (0, 2)]
    for name in network:
        one = dl.gradient(dl.load(name), np.load("u.npy"))
        np.testing.assert_array_equal(dl.open("g.zarr").sel(checkpoint=name)["log_norm"], one["log_norm"])
    np.save("u.npy", np.full((2, 5, 2), 3.0))
    refused(line, "g.zarr was begun with another command, grid, file or version")


def test_a_worker_elsewhere_reads_the_files_of_the_folder_that_the_sweep_was_begun_in(network, folder, monkeypatch):
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    cell = ["gradient", ["one.pt", "--inputs", "noise:1.0", "--steps", "5"], {"seed": "--seed="}]
    found = sweep_grid.cell_dataset(*cell, (dl.__version__, str(folder)), {"seed": 0})
    assert found["log_norm"].sizes["time"] == 6
    with pytest.raises(UserError, match=r"this worker has dynlab .*, and the sweep was begun with 0\.0\.1: install"):
        sweep_grid.cell_dataset(*cell, ("0.0.1", str(folder)), {"seed": 0})
