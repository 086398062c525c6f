"""Datasets survive their files to the last bit, and refuse with a sentence."""

import json

import numpy as np
import pytest
import xarray as xr

from dynlab import io, schema
from dynlab.errors import UserError


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
