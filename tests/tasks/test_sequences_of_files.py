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

DIMS = (schema.SAMPLE, schema.TIME, schema.INPUT)
VALUES = np.random.default_rng(0).normal(size=(11, 6, 2)).astype(np.float32)


def written(folder, suffix, values=VALUES):
    path, chunks = folder / f"u{suffix}", (3, *values.shape[1:])
    ds = xr.Dataset({"u": (DIMS, values), "label": ("sample", np.arange(len(values)))})
    if suffix == ".npy":
        np.save(path, values)
    elif suffix == ".npz":
        np.savez_compressed(path, inputs=values, other=np.zeros(1))
    elif suffix == ".nc":
        ds.to_netcdf(path, engine="h5netcdf", encoding={"u": {"chunksizes": chunks}})
    else:
        ds.transpose("input", "time", "sample").to_zarr(
            path, consolidated=False, encoding={"u": {"chunks": chunks[::-1]}}
        )
    return path


@pytest.fixture
def network():
    torch.manual_seed(0)
    return create("vanilla", input_size=2, state_size=4).double()


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".nc", ".zarr"])
def test_what_is_read_is_what_the_choice_picks_of_all(suffix, network, tmp_path):
    path = written(tmp_path, suffix)
    for choice in (Choice(4, 7), Choice(9, 0, 5), Choice(99)):
        found, _ = read_sequences(path, choice)
        np.testing.assert_array_equal(found, VALUES[choice.of(len(VALUES))])
        assert found.dtype == VALUES.dtype
    driving = driving_inputs(str(path), network, samples=99)
    np.testing.assert_array_equal(driving.inputs, VALUES)
    assert driving.real


def test_a_choice_is_a_draw_or_a_block():
    assert Choice(3, 0, 5).of(11).tolist() == [5, 6, 7]
    assert Choice(3, 0, 9).of(11).tolist() == [9, 10]
    assert Choice(11).of(11).tolist() == list(range(11))
    drawn = Choice(3, 1).of(11)
    assert len(drawn) == 3
    assert (np.diff(drawn) > 0).all()
    with pytest.raises(UserError, match="11 are skipped"):
        Choice(1, 0, 11).of(11)


@pytest.mark.parametrize("made, count", [((), 0), (("u", "v"), 2)])
def test_which_variable_holds_the_inputs_must_be_clear(made, count, tmp_path):
    ds = xr.Dataset(dict.fromkeys(made, (DIMS, VALUES)) | {"other": ("sample", np.arange(11))})
    dl.save(ds, tmp_path / "u.nc")
    with pytest.raises(UserError, match=f"must hold one variable of real numbers with the dimensions .* got {count}"):
        read_sequences(tmp_path / "u.nc", Choice(1))


def test_skip_is_of_what_has_an_order(network):
    with pytest.raises(UserError, match="nothing to skip"):
        driving_inputs("noise:1.0", network, skip=1)
    whole = driving_inputs("task:adding", network, samples=8, skip=0).inputs
    np.testing.assert_array_equal(driving_inputs("task:adding", network, samples=2, skip=3).inputs, whole[3:5])


@pytest.mark.parametrize("suffix, command", [(".nc", "gradient"), (".zarr", "spectrum")])
def test_a_sweep_of_blocks_is_the_analysis_of_all(suffix, command, network, tmp_path, monkeypatch):
    """The seventh of seven sequences is alone in its block."""
    path = written(tmp_path, suffix, VALUES[:7])
    dl.save_checkpoint(network, tmp_path / "net.pt")
    monkeypatch.chdir(tmp_path)
    sweep = ["sweep", command, "net.pt", "--inputs", path.name, "--samples", "3", "--grid", "skip=0:6:3"]
    assert run([*sweep, "--save", "all.zarr", "--workers", "0", "--quiet"]) == 0
    found, whole = dl.open("all.zarr"), getattr(dl, command)(network, VALUES[:7].astype(np.float64))
    assert (found["done"] == 1).all()
    of_samples = [name for name, one in whole.data_vars.items() if "sample" in one.dims and one.dtype.kind in "fc"]
    for name in of_samples:
        blocks = found[name].transpose("skip", "sample", ...).values
        joined = np.concatenate([blocks[0], blocks[1], blocks[2, :1]])
        there = whole[name].transpose("sample", ...).values
        np.testing.assert_allclose(joined, there, rtol=1.0 if "error" in name else 1e-9, atol=1e-9, err_msg=name)
