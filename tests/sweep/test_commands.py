"""Commands that are swept: each cell of the store has all that the command alone gives, value by value."""

import json

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.cli.main import run
from dynlab.sweep.store import NOT_THERE, OWN_COORDINATE, TEXTS

DRIVEN = "rnn.pt --inputs noise:1.0 --steps 6 --samples 2"
LINES = {  # a small line, and what it is swept over
    "spectrum": (DRIVEN, "steps=4,6"),
    "lyapunov": ("--seed 0", "system=henon,logistic"),
    "basins": ("--matrix diff --steps 200 --no-follow", "grid=4,5"),
}


@pytest.fixture
def networks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    dl.save_checkpoint(dl.create("vanilla", input_size=2, state_size=3), "rnn.pt")


@pytest.mark.parametrize("name", LINES)
def test_a_cell_has_all_that_the_command_gives(name, networks):
    words, grid = LINES[name]
    option, values = grid.split("=")[0], grid.split("=")[1].split(",")
    here = ["--workers", "0", "--quiet"]
    assert run(["sweep", name, *words.split(), "--grid", grid, "--save", "all.zarr", *here]) == 0
    ds = dl.open("all.zarr")
    (axis,) = json.loads(ds.attrs["sweep"])["dims"]
    assert axis.replace("_", "-") in (option, f"grid-{option}")
    assert (ds["done"] == 1).all()
    for place, value in enumerate(values):
        alone = [name, *words.split(), f"--{option}={value}", "--save", f"{place}.nc", "--quiet", "--no-figure"]
        assert run(alone) == 0
        one, cell = dl.open(f"{place}.nc"), ds.isel({axis: place})
        for key, variable in one.variables.items():
            kept = cell[key]
            if key in cell.dims and there(own := cell.get(OWN_COORDINATE.format(key))):
                kept = own
            assert kept.dims == variable.dims
            assert same(kept.values[tuple(slice(0, length) for length in variable.shape)], variable.values), key
            assert kept.attrs == variable.attrs or key in cell.dims
        for key in one.attrs.keys() & {*TEXTS}:
            assert str(cell[key].values) == one.attrs[key]


def there(coordinate):
    """Tell whether a cell has a coordinate of its own."""
    if coordinate is None:
        return False
    return (coordinate != NOT_THERE if coordinate.dtype.kind in "OUT" else coordinate.notnull()).any()


def same(one, other):
    if other.size == 0 or other.dtype.kind in "OUT":
        return one.astype(str).tolist() == other.astype(str).tolist()
    return np.array_equal(one, other, equal_nan=True)
