"""Datasets survive their files to the last bit; a file is written whole or not at all, and nothing else is touched."""

import contextlib
import datetime
import json
import resource
import signal

import numpy as np
import pytest
import xarray as xr

from dynlab import checkpoints, create, files, io, schema
from dynlab.errors import UserError

PRECIOUS = b"precious"


@pytest.fixture
def ds() -> xr.Dataset:
    rng = np.random.default_rng(0)
    eigenvalues = rng.normal(size=(2, 3, 4)) + 1j * rng.normal(size=(2, 3, 4))
    eigenvalues[0, 0, 0] = complex(np.nan, -0.0)
    return schema.dataset(
        {
            "eigenvalue": schema.variable((schema.SAMPLE, schema.TIME, schema.MODE), eigenvalues, "eigenvalue"),
            "log_norm": schema.variable((schema.SAMPLE,), [-np.inf, np.pi], "norm"),
            "kind": schema.variable((schema.FIXED_POINT,), ["stable focus"], "kind"),
        },
        system="vanilla",
        settings={"seed": 3},
        verdict="It does.",
        coords={schema.TIME: schema.time_coordinate([1, 2, 5])},
        flags={"log_norm": "the product is exactly singular"},
    )


def test_attributes_are_those_of_the_contract(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    ds = schema.dataset({}, system="lstm", settings={"seed": 1}, source={"file": "a.pt", "sha256": "0" * 64})
    assert datetime.datetime.fromisoformat(ds.attrs["created"]).timestamp() == 86400
    assert schema.settings(ds) == {"seed": 1}
    assert "source" in ds.attrs
    assert "source" not in schema.dataset({}, system="lstm", settings={}).attrs


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_what_was_saved_is_opened_bit_for_bit_and_replaced_only_when_told(tmp_path, ds, suffix):
    path = io.save(ds, tmp_path / f"result{suffix}")
    opened = io.open(path)
    xr.testing.assert_identical(opened, ds)
    assert opened["eigenvalue"].values.tobytes() == ds["eigenvalue"].values.tobytes()
    with pytest.raises(UserError, match="exists"):
        io.save(ds, path)
    io.save(ds.assign_attrs(verdict="New."), path, overwrite=True)
    assert io.open(path).attrs["verdict"] == "New."


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_complex_numbers_of_both_precisions_are_opened_and_a_dimension_of_another_s_stays(tmp_path, suffix):
    short = xr.Dataset({"z": ("mode", np.array([1 + 2j, -3j], np.complex64))})
    xr.testing.assert_identical(io.open(io.save(short, tmp_path / f"short{suffix}")), short)
    other = xr.Dataset({"u": (("part", "time"), np.arange(4.0).reshape(2, 2))})
    xr.testing.assert_identical(io.open(io.save(other, tmp_path / f"other{suffix}")), other)


def test_the_document_is_strict_json_with_a_reason_for_every_null(ds):
    document = io.as_document(ds)
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text)["variables"]["log_norm"]["values"] == [None, np.pi]
    assert document["flags"] == {"eigenvalue": "not a finite number", "log_norm": "the product is exactly singular"}
    assert document["variables"]["eigenvalue"]["values"][0][0][0][0] is None


@pytest.mark.parametrize(
    "name, message", [("a.txt", "ends in .nc or .zarr"), ("missing.nc", "no file"), ("b.nc", "cannot be read")]
)
def test_a_file_that_is_no_dataset_is_refused_in_a_sentence(tmp_path, name, message):
    (tmp_path / "b.nc").write_bytes(b"hello")
    with pytest.raises(UserError, match=message):
        io.open(tmp_path / name)


def test_a_store_that_names_a_pickle_is_not_unpickled(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=2)
    group.create_array("a", shape=(2,), dtype="f8")
    head = tmp_path / "a.zarr" / "a" / ".zarray"
    head.write_text(head.read_text().replace('"filters": null', '"filters": [{"id": "pickle", "protocol": 5}]'))
    mark = tmp_path / "mark"
    (tmp_path / "a.zarr" / "a" / "0").write_bytes(b"cos\nsystem\n(S'touch " + str(mark).encode() + b"'\ntR.")
    with pytest.raises(UserError, match=r"a\.zarr cannot be read as a Zarr store"):
        io.open(tmp_path / "a.zarr")
    assert not mark.exists()


def test_a_link_in_the_way_is_never_written_through_and_nothing_replaced_without_leave(tmp_path):
    victim, path = tmp_path / "victim", tmp_path / "result.nc"
    victim.write_bytes(PRECIOUS)
    path.symlink_to(victim)
    with pytest.raises(UserError, match="exists"):
        files.write_text(path, "new", overwrite=False)
    io.save(xr.Dataset(), path, overwrite=True)
    assert victim.read_bytes() == PRECIOUS
    assert not path.is_symlink()


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
