"""An array of inputs from a file of anybody's: .npy, .npz or .nc, whose claims are checked before memory is taken."""

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from dynlab import io, schema
from dynlab.errors import UserError
from dynlab.reading import bounded, check_readable, check_size, out_of_memory

KINDS = "biuf"  # of numpy: real numbers
NAME = "inputs"  # of the array, where a .npz holds several


def read_array(path: Path) -> np.ndarray:
    """The array of real numbers in a .npy, .npz or .nc file.

    Raises
    ------
    UserError
        For a file that is missing, damaged, no ordinary file, or too large, and one that holds something else.
    """
    size = check_readable(path)
    with bounded(path):
        try:
            if path.suffix == ".nc":
                return _of_netcdf(path)
            if path.suffix == ".npz":
                return _of_archive(path)
            with path.open("rb") as file:
                return _of_numpy(path, file, size)
        except UserError:
            raise
        # a damaged file drives numpy and zipfile into any error at all
        except Exception as error:
            if out_of_memory(error):
                raise
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"{path} cannot be read as an array of inputs: {reason}") from error


def _of_numpy(path: Path, file: IO[bytes], size: int) -> np.ndarray:
    """The array of a .npy file of `size` bytes, which must be those of the array that its head describes."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise UserError(f"{path} has the format version {version[0]}.{version[1]}, which numpy does not know.")
    read_head: Any = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read_head = np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read_head(file)
    if dtype.kind not in KINDS:
        raise UserError(f"{path} must hold real numbers, got {str(dtype)[:100]}.")
    needed = math.prod(shape) * dtype.itemsize
    if needed > size - file.tell() or min(shape, default=0) < 0:
        raise UserError(f"{path} says that its array takes {needed:,} bytes, and has {size - file.tell():,}.")
    check_size(path, needed)
    array = np.frombuffer(file.read(needed), dtype)
    return array.reshape(shape, order="F" if by_columns else "C")


def _of_archive(path: Path) -> np.ndarray:
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        file.seek(0)
        if file.read(2) != b"PK":  # zipfile would also read an archive that stands behind something else
            raise UserError(f"{path} is no .npz file: it does not begin as one.")
        inside = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        name = NAME if NAME in inside else next(iter(inside), "") if len(inside) == 1 else None
        if not name:
            held = ", ".join(list(inside)[:10]) or "nothing"
            raise UserError(f"{path} holds {held}; name the array of inputs {NAME!r}.")
        check_size(path, inside[name].file_size)
        with archive.open(inside[name]) as entry:
            return _of_numpy(path, entry, inside[name].file_size)


def _of_netcdf(path: Path) -> np.ndarray:
    ds = io.open(path)
    dims = (schema.SAMPLE, schema.TIME, schema.INPUT)
    fitting = [name for name, array in ds.data_vars.items() if set(array.dims) == set(dims)]
    if len(fitting) != 1:
        raise UserError(f"{path} must hold one variable with the dimensions {', '.join(dims)}, got {len(fitting)}.")
    return np.asarray(ds[fitting[0]].transpose(*dims).values)
