"""Written files are whole, in its own place, and nothing else is touched: links, folders, kills, full disks."""

import contextlib
import resource
import signal

import numpy as np
import pytest
import xarray as xr

from dynlab import checkpoints, create, files, io
from dynlab.errors import UserError

PRECIOUS = b"precious"


def test_a_link_in_the_way_is_never_written_through_and_nothing_replaced_without_leave(tmp_path):
    victim, path = tmp_path / "victim", tmp_path / "result.nc"
    victim.write_bytes(PRECIOUS)
    path.symlink_to(victim)
    with pytest.raises(UserError, match="exists"):
        files.write_text(path, "new", overwrite=False)
    io.save(xr.Dataset(), path, overwrite=True)
    assert victim.read_bytes() == PRECIOUS
    assert not path.is_symlink()


@pytest.mark.parametrize("name", ["x" * 300, "nul\0"])
def test_a_name_that_cannot_be_is_refused_in_a_sentence(tmp_path, name):
    with pytest.raises(UserError, match="could not be written"):
        files.write_text(tmp_path / name, "new")
    assert list(tmp_path.iterdir()) == []


def notes_in_a_store(path):
    io.save(xr.Dataset({"a": ("x", np.arange(3.0))}), path)
    (path / "a" / "notes.txt").write_bytes(PRECIOUS)


def link_to_a_store(path):
    io.save(xr.Dataset(), path.with_name("real.zarr"))
    path.symlink_to(path.with_name("real.zarr"))


@pytest.mark.parametrize("make", [notes_in_a_store, link_to_a_store, lambda path: path.write_bytes(PRECIOUS)])
def test_what_is_not_a_store_and_nothing_else_is_never_replaced(tmp_path, make):
    path = tmp_path / "x.zarr"
    make(path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(UserError, match="not replaced"):
        io.save(xr.Dataset(), path, overwrite=True)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@contextlib.contextmanager
def full_disk():
    """No file can grow beyond a few bytes, nor can what pytest writes to while this holds."""
    kept, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("name", ["x.nc", "x.zarr", "x.pt"])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path, name):
    path, network = tmp_path / name, create("vanilla", input_size=1, state_size=2)
    ds = xr.Dataset({"a": ("x", np.arange(99.0))})
    write = checkpoints.save_checkpoint if path.suffix == ".pt" else io.save
    with full_disk(), pytest.raises(UserError, match=r"could not be written \(File too large"):
        write(network if write is not io.save else ds, path)
    assert list(tmp_path.iterdir()) == []
