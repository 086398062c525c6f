"""Save and open a Dataset: NetCDF (.nc) and Zarr (.zarr), losslessly, and as one strict JSON document.

Files cannot hold complex numbers portably: on disk a complex variable has a last dimension ``part`` with the
coordinate ``["real", "imag"]``, and `open` makes it complex again.
"""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import files, reading_child, schema
from dynlab.errors import UserError, require_extra
from dynlab.reading import check_readable, damage
from dynlab.reading_child import PART
from dynlab.stores import LIST, changed_file, found_files, missing_files, recover, write_store

PARTS = ["real", "imag"]
COMPLEX: dict[Any, Any] = {np.dtype(np.float64): np.complex128, np.dtype(np.float32): np.complex64}  # by its parts
NOT_FINITE = "not a finite number"
TRIES = 20  # to read a store that other processes replace meanwhile


def save(ds: xr.Dataset, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write `ds` to a ``.nc`` or ``.zarr`` file.

    Parameters
    ----------
    ds : xarray.Dataset
    path : str or Path
        The suffix decides the format.
    overwrite : bool
        Replace what exists.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UserError
        For another suffix, for a folder that does not exist, and where the file exists and `overwrite` is false.
    """
    path = Path(path)
    suffix = _suffix(path)
    if files.exists(path) and not overwrite:
        raise UserError(f"{path} exists: choose another name, or add --overwrite (overwrite=True).")
    if not path.parent.is_dir():
        raise UserError(f"The folder {path.parent} does not exist; create it first.")
    plain = split_complex(ds)
    if suffix == ".nc":  # made in memory: HDF5 ends the process where a disk is full
        files.write_bytes(path, plain.to_netcdf(None, engine="h5netcdf"), overwrite=overwrite)
    else:
        write_store(path, lambda place: plain.to_zarr(place, mode="w-", consolidated=False), overwrite=overwrite)
    return path


def open(path: str | Path) -> xr.Dataset:
    """Read a Dataset that `save` wrote; complex variables are complex again.

    Raises
    ------
    UserError
        Where there is no such file, or it is no Dataset of dynlab's.
    """
    path = Path(path)
    if _suffix(path) == ".nc":
        check_readable(path)
        return _join_complex(_read(path))
    recover(path)
    for _ in range(TRIES):
        before = _identity(path)
        try:
            ds = _read_store(path)
        except (UserError, OSError) as error:
            if _identity(path) != before:
                continue
            if isinstance(error, UserError):
                raise
            raise UserError(f"{path} cannot be read: {error.strerror}.") from error
        if _identity(path) == before:
            return _join_complex(ds)
    raise UserError(f"{path} is replaced by other programs all the time: open it when they are done.")


def shipped(path: str | Path) -> xr.Dataset:
    """A NetCDF file that dynlab itself wrote, as those it ships with: without the process that guards `open`.

    That process takes most of the time.
    """
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        return _join_complex(stored.load())


def _read_store(path: Path) -> xr.Dataset:
    if found_files(path) is None:
        raise UserError(f"{path} is no Zarr store, which is a folder of ordinary files.")
    if lacking := missing_files(path):
        raise UserError(f"{path} lacks {lacking[0]}, or has it in another size: copy the whole store again.")
    if changed := changed_file(path):
        raise UserError(f"{path} has another content in {changed} than dynlab wrote there: copy the whole store again.")
    ds = _read(path)
    ds.attrs.pop(LIST, None)
    return ds


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise UserError(f"There is no file {path}.") from error
    return found.st_ino, found.st_ctime_ns


def _read(path: Path) -> xr.Dataset:
    variables, attributes = reading_child.read(path)
    coordinates = {name: value for name, (value, is_coordinate) in variables.items() if is_coordinate}
    try:
        return xr.Dataset({n: v for n, (v, _) in variables.items() if n not in coordinates}, coordinates, attributes)
    except ValueError as error:  # sizes that clash
        raise UserError(f"{path} holds no Dataset: {damage(error)}.") from error


def as_document(ds: xr.Dataset) -> dict[str, Any]:
    """A Dataset as plain JSON-able values: no NaN and no infinity, `None` in their place with the reason in ``flags``.

    Complex variables have the last dimension ``part`` as on disk.
    """
    plain = split_complex(ds)
    reasons = schema.flags(ds)
    variables = {str(name): _entry(array) for name, array in plain.data_vars.items()}
    flags = {
        str(name): reasons.get(str(name), NOT_FINITE)
        for name, array in plain.data_vars.items()
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array.values).all()
    }
    attrs = {str(name): value for name, value in ds.attrs.items() if name not in ("settings", "source", "flags")}
    return {
        "attrs": attrs,
        "settings": schema.settings(ds),
        "source": schema.told(ds, "source") if "source" in ds.attrs else None,
        "coords": {str(name): _entry(array) for name, array in plain.coords.items()},
        "variables": variables,
        "flags": flags,
    }


def _suffix(path: Path) -> str:
    if path.suffix not in (".nc", ".zarr"):
        raise UserError(f"A dataset file ends in .nc or .zarr, got {path.name!r}.")
    if path.suffix == ".zarr":
        require_extra("zarr", "zarr")
    return path.suffix


def split_complex(ds: xr.Dataset) -> xr.Dataset:
    """For files: complex variables in two parts, and strings of any length (Zarr has no others)."""
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
    """What `split_complex` was given; a dimension of that name that is somebody else's stays what it is."""
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


def _entry(array: xr.DataArray) -> dict[str, Any]:
    return {"dims": list(map(str, array.dims)), **array.attrs, "values": _finite(array.values.tolist())}


def _finite(value: Any) -> Any:
    """Nested lists with None for every number that is not finite."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
