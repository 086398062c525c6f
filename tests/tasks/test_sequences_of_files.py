"""Some of the sequences of a file, in bounded memory, and all of them by a sweep of blocks."""

import numpy as np
import pytest
import torch
import xarray as xr

import dynlab as dl
from dynlab import schema
from dynlab.cli.main import run
from dynlab.errors import UserError
from dynlab.systems import create
from dynlab.tasks import driving_inputs
from dynlab.tasks.array_files import Choice, read_sequences

SUFFIXES = [".npy", ".npz", ".nc", ".zarr"]
DIMS = (schema.SAMPLE, schema.TIME, schema.INPUT)


def written(folder, suffix, values, chunk=3):
    path = folder / f"u{suffix}"
    chunks = (chunk, *values.shape[1:])
    ds = xr.Dataset({"u": (DIMS, values)})
    if suffix == ".npy":
        np.save(path, values)
    elif suffix == ".npz":
        np.savez_compressed(path, inputs=values)
    elif suffix == ".nc":
        ds.to_netcdf(path, engine="h5netcdf", encoding={"u": {"chunksizes": chunks}})
    else:
        ds.to_zarr(path, consolidated=False, encoding={"u": {"chunks": chunks}})
    return path


def numbers(samples=11, steps=6, width=2):
    return np.random.default_rng(0).normal(size=(samples, steps, width)).astype(np.float32)


def network():
    torch.manual_seed(0)
    return create("vanilla", input_size=2, state_size=4).double()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("choice", [Choice(4, 7), Choice(9, 0, 5), Choice(99)])
def test_what_is_read_is_what_the_choice_picks_of_all(choice, suffix, tmp_path):
    values = numbers()
    found = read_sequences(written(tmp_path, suffix, values), choice)
    np.testing.assert_array_equal(found, values[choice.of(len(values))])
    assert found.dtype == values.dtype


def test_a_choice_is_a_draw_or_a_block():
    assert Choice(3, 0, 5).of(11).tolist() == [5, 6, 7]
    assert Choice(3, 0, 9).of(11).tolist() == [9, 10]
    assert Choice(11).of(11).tolist() == list(range(11))
    drawn = Choice(3, 1).of(11)
    assert len(drawn) == 3
    assert (np.diff(drawn) > 0).all()
    with pytest.raises(UserError, match="There are 11 sequences, and 11 are skipped"):
        Choice(1, 0, 11).of(11)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_another_order_of_dimensions_and_other_variables_are_taken(suffix, tmp_path):
    values = numbers()
    ds = xr.Dataset({"u": (DIMS, values), "label": ("sample", np.arange(11))}).transpose("input", "time", "sample")
    dl.save(ds.assign_coords(time=np.arange(6)), tmp_path / f"u{suffix}")
    np.testing.assert_array_equal(read_sequences(tmp_path / f"u{suffix}", Choice(2, 0, 4)), values[4:6])


@pytest.mark.parametrize("made, sentence", [({}, "got 0"), ({"u": 1, "v": 1}, "got 2")])
def test_which_variable_holds_the_inputs_must_be_clear(made, sentence, tmp_path):
    ds = xr.Dataset({name: (DIMS, numbers()) for name in made} | {"other": ("sample", np.arange(11))})
    dl.save(ds, tmp_path / "u.nc")
    with pytest.raises(
        UserError, match=f"u.nc must hold one variable with the dimensions sample, time, input, {sentence}"
    ):
        read_sequences(tmp_path / "u.nc", Choice(1))


def test_skip_is_of_what_has_an_order():
    system = network()
    with pytest.raises(UserError, match="There is nothing to skip in 16 sequences of white noise"):
        driving_inputs("noise:1.0", system, skip=1)
    whole = driving_inputs("task:adding", system, samples=8, skip=0).inputs
    np.testing.assert_array_equal(driving_inputs("task:adding", system, samples=2, skip=3).inputs, whole[3:5])


@pytest.mark.parametrize("suffix, command", [(".nc", "gradient"), (".zarr", "spectrum")])
def test_a_sweep_of_blocks_is_the_analysis_of_all(suffix, command, tmp_path, monkeypatch):
    """The seventh of seven sequences is alone in its block."""
    values = numbers(7, 12)
    path, system = written(tmp_path, suffix, values), network()
    dl.save_checkpoint(system, tmp_path / "net.pt")
    monkeypatch.chdir(tmp_path)
    sweep = ["sweep", command, "net.pt", "--inputs", path.name, "--samples", "3", "--grid", "skip=0:6:3"]
    assert run([*sweep, "--save", "all.zarr", "--workers", "0", "--quiet"]) == 0
    found, whole = dl.open("all.zarr"), getattr(dl, command)(system, values.astype(np.float64))
    assert (found["done"] == 1).all()
    of_samples = [
        name for name, array in whole.data_vars.items() if "sample" in array.dims and array.dtype.kind in "fc"
    ]
    for name in of_samples:
        blocks = found[name].transpose("skip", "sample", ...).values
        joined = np.concatenate([blocks[0], blocks[1], blocks[2, :1]])
        there = whole[name].transpose("sample", ...).values
        np.testing.assert_allclose(joined, there, rtol=1.0 if "error" in name else 1e-9, atol=1e-9, err_msg=name)
