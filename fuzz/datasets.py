"""Datasets: NetCDF and Zarr, whose reading process is a copy of this one, so that it starts in no time."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import coverage
import h5py
import numpy as np
import xarray as xr
from branches import steps
from mutation import EDGES, TEXTS, damaged, in_archive, packed
from reader import IN_COPIES, Reader, Wrong

from dynlab import io, reading_child
from dynlab.errors import UserError

FACTS = ("settings", "_NCProperties", "flags", "a")
SCALES = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid")
CODES = "units calendar scale_factor add_offset _FillValue missing_value coordinates dtype".split()
VALUES = (
    "[" * 9000,
    '{"a": NaN}',
    "null",
    3,
    np.zeros((2, 2)),
    h5py.Empty("S1"),
    np.array([b"a", b"\xff"]),
    "",
    np.inf,
)
ODD = ("days since 0000-00-00", "s since 9e9", 0, 1e308, -1, "w", "\x1b[2J", np.nan, [1, 2])
ATTRIBUTES = {"settings": '{"a": 1}', "system": "gru", "flags": "{}", "dynlab_version": "0", "created": "2000"}


class Copied:
    """In the place of `subprocess.Popen`: the reading process is a copy of this one, with all that it imports."""

    def __init__(self, command: list[str], **_: Any) -> None:
        out, into = os.pipe()
        self.stdout = os.fdopen(out, "rb")
        self.steps = os.memfd_create("steps")
        self.pid = os.fork()
        if not self.pid:
            end, os._exit = os._exit, self.tell
            try:
                os.dup2(into, 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                sys.argv = ["-c", *command[4:]]
                reading_child.main()
            finally:
                end(1)
        os.close(into)

    def tell(self, code: int) -> None:
        """In the copy, where it would end: leave the steps that it took."""
        if measured := coverage.Coverage.current():
            os.write(self.steps, json.dumps([*steps(measured)]).encode())

    def kill(self) -> None:
        """Stop it, if it has not ended."""
        os.kill(self.pid, 9)

    def __enter__(self) -> "Copied":
        return self

    def __exit__(self, *_: object) -> None:
        os.waitpid(self.pid, 0)
        self.stdout.close()
        with open(self.steps, "rb") as told:
            told.seek(0)
            IN_COPIES.update(map(tuple, json.loads(told.read() or b"[]")))


def prepare() -> None:
    """Import what a reading process imports, and let it be a copy."""
    import h5netcdf  # noqa: F401
    import zarr  # noqa: F401

    names = ("DEVNULL", "PIPE")
    own = {name: getattr(subprocess, name) for name in names}
    reading_child.subprocess = types.SimpleNamespace(Popen=Copied, **own)


@functools.cache
def dataset() -> xr.Dataset:
    """With real and complex numbers, text and times."""
    values = np.arange(24.0).reshape(2, 3, 4)
    variables = {
        "u": (("sample", "time", "input"), values, {"long_name": "input", "units": "1"}),
        "eigenvalue": (("time", "mode"), np.exp(1j * np.arange(6.0)).reshape(3, 2)),
        "kind": (("mode",), np.array(["stable focus", "é"])),
        "stable": (("mode",), np.array([1, -1], np.int8)),
    }
    return xr.Dataset(variables, {"time": np.arange(3)}, ATTRIBUTES)


@functools.cache
def netcdf() -> list[bytes]:
    """Valid .nc files."""
    with tempfile.TemporaryDirectory() as folder:
        path, every = Path(folder) / "x.nc", (dataset(), dataset()[["u"]])
        return [io.save(ds, path, overwrite=True).read_bytes() for ds in every]


@functools.cache
def stores() -> list[bytes]:
    """Valid Zarr stores, each as an archive: dynlab's, and another's."""
    with tempfile.TemporaryDirectory() as folder:
        own, strange = Path(folder) / "a.zarr", Path(folder) / "b.zarr"
        io.save(dataset(), own)
        dataset()[["u"]].to_zarr(strange, consolidated=False)
        return [packed(found(store)) for store in (own, strange)]


def found(store: Path) -> dict[str, bytes]:
    """The files below a folder."""
    return {
        each.relative_to(store).as_posix(): each.read_bytes() for each in sorted(store.rglob("*")) if each.is_file()
    }


def make_netcdf(draw: Random) -> bytes:
    """An input of NetCDF: damaged, or any HDF5 file."""
    pieces = (b"DIMENSION_LIST", b"CLASS", b"OHDR", b"FRHP")
    return hdf5(draw) if draw.random() < 0.3 else damaged(draw, netcdf(), pieces)


def hdf5(draw: Random) -> bytes:
    """An HDF5 file of things that NetCDF does not know, or not so."""
    enumerated = h5py.enum_dtype({"a": 0, "b": 1}, basetype="i1")
    things = (
        lambda file: file.create_dataset("u", data=np.zeros(draw.choices((0, 1, 2), k=draw.randrange(5)))),
        lambda file: file.create_dataset("v", shape=(abs(draw.choice(EDGES)) % 2**40, 3), chunks=(1, 1), dtype="f8"),
        lambda file: file.create_dataset("s", data=[draw.choice(TEXTS).replace("\0", "") for _ in range(3)]),
        lambda file: file.create_dataset("c", data=np.ones(3, [("r", "f8"), ("x", "i2")])),
        lambda file: file.create_dataset("e", data=np.array([0, 1, 9], "i1").astype(enumerated), dtype=enumerated),
        lambda file: file.create_dataset("o", data=np.array([b"\0\1", b"ab"], "V2")),
        lambda file: file.create_dataset("l", (2,), dtype=h5py.vlen_dtype(np.dtype("f8"))),
        lambda file: file.create_dataset("n", dtype="f8", data=h5py.Empty("f8")),
        lambda file: file.create_dataset("x", (3,), "f8", external=[("/etc/hostname", 0, 24)]),
        lambda file: file.__setitem__("soft", h5py.SoftLink(draw.choice(("/soft", "/none", "/")))),
        lambda file: file.__setitem__("far", h5py.ExternalLink(draw.choice(("/etc/hostname", "none.h5")), "/x")),
        lambda file: file.__setitem__("t", np.dtype("f8")),
        lambda file: file.create_group("g").__setitem__("up", file["/"]),
        lambda file: file.attrs.__setitem__(draw.choice(FACTS), draw.choice(VALUES)),
        lambda file: scaled(file, draw),
        lambda file: encoded(file, draw),
    )
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        for _ in range(draw.choice((1, 2, 4))):
            try:
                draw.choice(things)(file)
            except Exception:  # what HDF5 does not take, such as a name twice
                continue
        file.flush()
        return bytes(file.id.get_file_image())


def scaled(file: Any, draw: Random) -> None:
    """A dimension with a scale, or what looks like one."""
    file["time"] = np.arange(3.0)
    file["u"] = np.zeros((2, 3))
    file["time"].make_scale("time")
    file["u"].dims[draw.randrange(2)].attach_scale(file["time"])
    for name in SCALES:
        if draw.random() < 0.3:
            file[draw.choice(("u", "time"))].attrs[name] = draw.choice(VALUES)


def encoded(file: Any, draw: Random) -> None:
    """A variable with the attributes by which xarray decodes."""
    file["w"] = np.arange(4.0) if draw.random() < 0.5 else np.arange(4)
    file["w"].dims[0].label = "x"
    for name in CODES:
        if draw.random() < 0.4:
            file["w"].attrs[name] = draw.choice(ODD)


def make_store(draw: Random) -> bytes:
    """An input of Zarr."""
    return in_archive(draw, stores(), (b"zarr_format", b"codecs", b"chunk_shape", b"dynlab_files", b'"float64"'))


def read_store(path: Path) -> None:
    """Unpack the store, and open it."""
    store = Path(tempfile.mkdtemp()) / "store.zarr"
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.filename.startswith("..") and not entry.is_dir():
                    try:
                        archive.extract(entry, store)
                    except OSError:  # a file where a folder has to be
                        continue
        read(store)
    finally:
        shutil.rmtree(store.parent)


def read(path: Path) -> None:
    """Open it, and make a JSON document of it."""
    ds = io.open(path)
    try:
        io.as_document(ds)
    except ValueError as error:
        if not isinstance(error, UserError):
            raise
    if any(array.size > 10**7 for array in ds.variables.values()):
        raise Wrong("more numbers than any of these files has")


READERS = [
    Reader("netcdf", ".nc", make_netcdf, read, prepare),
    Reader("zarr", ".zip", make_store, read_store, prepare),
]
