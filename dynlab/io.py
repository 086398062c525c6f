"""Save and open a Dataset: NetCDF (.nc) and Zarr (.zarr), losslessly, and as one strict JSON document.

Files cannot hold complex numbers portably: on disk a complex variable has a last dimension ``part`` with the
coordinate ``["real", "imag"]``, and `open` makes it complex again.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import files, schema
from dynlab.errors import UserError, require_extra, told_of_damage

KINDS = {".nc": "NetCDF file", ".zarr": "Zarr store"}
PART, PARTS = "part", ["real", "imag"]
COMPLEX: dict[Any, Any] = {np.dtype(np.float64): np.complex128, np.dtype(np.float32): np.complex64}  # by its parts
NOT_FINITE = "not a finite number"


def save(ds: xr.Dataset, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write `ds` to a ``.nc`` or ``.zarr`` file, whole or not at all.

    Parameters
    ----------
    ds : xarray.Dataset
    path : str or Path
        The suffix decides the format.
    overwrite : bool
        Replace a file, or a folder that is a Zarr store and nothing else.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UserError
        For another suffix, for a folder that does not exist, and if the file exists and `overwrite` is false.
    """
    path = Path(path)
    suffix = _suffix(path)
    files.check_place(path, overwrite=overwrite)
    if suffix == ".nc":  # in memory first: HDF5 ends the process when the disk is full
        files.write_bytes(path, bytes(split_complex(ds).to_netcdf(None, engine="h5netcdf")), overwrite=overwrite)
    else:
        write_store(path, ds, overwrite=overwrite)
    return path


def write_store(path: Path, ds: xr.Dataset, *, overwrite: bool = False) -> None:
    """Write a Zarr store whole or not at all.

    Raises
    ------
    UserError
        If the folder cannot be written, and if it exists and `overwrite` is false.
    """
    held: dict[str, Any] = {}  # in memory first: zarr's threads go on writing after one of them met a full disk
    memory = require_extra("zarr", "zarr").storage.MemoryStore(held)
    split_complex(ds).to_zarr(memory, mode="w-", consolidated=False)
    private, old = files.private_name(path), files.private_name(path)
    with files.told_of_failure(path), files.own(private, shutil.rmtree), files.own(old, shutil.rmtree):
        for name, content in held.items():
            (private / name).parent.mkdir(parents=True, exist_ok=True)
            (private / name).write_bytes(content.to_bytes())
        files.check_place(path, overwrite=overwrite)  # again: writing takes long
        if path.exists():
            os.rename(path, old)
        os.rename(private, path)


def open(path: str | Path) -> xr.Dataset:
    """Read a Dataset that `save` wrote; complex variables are complex again.

    Raises
    ------
    UserError
        If there is no such file, or it cannot be read.
    """
    path = Path(path)
    with open_lazily(path) as stored, told_of_damage(_unreadable(path)):
        return _join_complex(stored.load())


def open_lazily(path: Path) -> xr.Dataset:
    """Open a ``.nc`` or ``.zarr`` file without reading its numbers; complex variables are in two parts.

    Raises
    ------
    UserError
        If there is no such file, or it cannot be read.
    """
    suffix = _suffix(path)
    if not files.exists(path):
        raise UserError(f"There is no file {path}; check the path.")
    with told_of_damage(_unreadable(path)):
        if suffix == ".nc":
            return xr.open_dataset(path, engine="h5netcdf")
        return xr.open_zarr(path, consolidated=False, chunks=None, zarr_format=3)  # format 2 may hold pickles


def _unreadable(path: Path) -> str:
    return f"{path} cannot be read as a {KINDS[path.suffix]}"


def as_document(ds: xr.Dataset, longest: int | None = None) -> dict[str, Any]:
    """Return a Dataset as plain JSON-able values, with `None` for numbers that are not finite and why in ``flags``.

    Complex variables have the last dimension ``part`` as on disk. Of an array of more than `longest` numbers there are
    its shape and, where they are real, the least and the largest one.
    """
    plain = split_complex(ds)
    reasons = schema.flags(ds)
    flags = {
        str(name): reasons.get(str(name), NOT_FINITE)
        for name, array in plain.data_vars.items()
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array.values).all()
    }
    return {
        "attrs": {str(name): one for name, one in ds.attrs.items() if name not in ("settings", "source", "flags")},
        "settings": schema.settings(ds),
        "source": schema.told(ds, "source") if "source" in ds.attrs else None,
        "coords": {str(name): _entry(array, longest) for name, array in plain.coords.items()},
        "variables": {str(name): _entry(array, longest) for name, array in plain.data_vars.items()},
        "flags": flags,
    }


def _suffix(path: Path) -> str:
    if path.suffix not in KINDS:
        raise UserError(f"A dataset file ends in .nc or .zarr, got {path.name!r}.")
    if path.suffix == ".zarr":
        require_extra("zarr", "zarr")
    return path.suffix


def split_complex(ds: xr.Dataset) -> xr.Dataset:
    """Return the Dataset for a file: complex variables in two parts, and strings of any length (Zarr has no others)."""
    plain = ds.copy()
    for name, array in ds.variables.items():
        if np.iscomplexobj(array):
            parts = np.stack([array.values.real, array.values.imag], axis=-1)
            plain[name] = xr.Variable((*array.dims, PART), parts, array.attrs)
        elif array.dtype.kind == "U":
            plain[name] = xr.Variable(array.dims, array.values.astype(object), array.attrs)
    if any(np.iscomplexobj(array) for array in ds.variables.values()):
        plain = plain.assign_coords({PART: np.array(PARTS, dtype=object)})
    return plain


def _join_complex(ds: xr.Dataset) -> xr.Dataset:
    """Return what `split_complex` was given; somebody else's dimension of that name stays."""
    split = PART in ds.coords and ds[PART].values.tolist() == PARTS
    joined = ds.drop_vars(PART) if split else ds.copy()
    for name, array in joined.variables.items():
        if split and PART in array.dims and array.dtype in COMPLEX:
            last = array.transpose(..., PART)
            whole: np.ndarray = np.ascontiguousarray(last.values).view(COMPLEX[array.dtype])
            joined[name] = xr.Variable(last.dims[:-1], whole[..., 0], array.attrs)
        elif array.dtype.kind in "OT":
            joined[name] = xr.Variable(array.dims, array.values.astype(object).astype(str), array.attrs)
    return joined


def _entry(array: xr.DataArray, longest: int | None) -> dict[str, Any]:
    entry = {"dims": list(map(str, array.dims)), **array.attrs}
    one_part = array.isel({PART: 0}, missing_dims="ignore")
    if longest is None or one_part.size <= longest:
        return entry | {"values": _finite(array.values)}
    entry["shape"] = list(one_part.shape)
    if array.dtype.kind in "iuf" and PART not in array.dims and array.notnull().any():
        entry["least"], entry["largest"] = _finite(np.array([array.min(), array.max()]))
    return entry


def _finite(values: np.ndarray) -> Any:
    """Return numbers or words in lists, None for a number that is not finite."""
    if np.issubdtype(values.dtype, np.floating):
        values = np.where(np.isfinite(values), values.astype(object), np.array(None))
    return values.tolist()
