"""Arrays from NumPy's .npy and .npz files of anybody's, whose claims are checked before memory is taken."""

import functools
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from dynlab.errors import UserError
from dynlab.reading import check_size

KINDS = "biuf"  # of numpy: real numbers
SUFFIX = ".npy"  # of an archive's members
STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive, and of an empty one


class NotNumbers(UserError):
    """An array holds something else than real numbers."""


def read_numbers(path: Path, file: IO[bytes], size: int) -> np.ndarray:
    """The array of a .npy file of `size` bytes, which must be those of the array that its head describes.

    Parameters
    ----------
    path : Path
        What is read, as an error names it.
    file : file
    size : int

    Raises
    ------
    NotNumbers
        For objects, texts and complex numbers; nothing is unpickled.
    UserError
        Where the head claims more than there is, or more than may be read. A damaged file raises other errors as well.
    """
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise UserError(f"{path} has the format version {version[0]}.{version[1]}, which numpy does not know.")
    read_head: Any = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read_head = np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read_head(file)
    if dtype.kind not in KINDS:
        raise NotNumbers(f"{path} must hold real numbers, got {str(dtype)[:100]}.")
    needed = math.prod(shape) * dtype.itemsize
    if needed > size - file.tell() or min(shape, default=0) < 0:
        raise UserError(f"{path} says that its array takes {needed:,} bytes, and has {size - file.tell():,}.")
    check_size(path, needed)
    array = np.frombuffer(file.read(needed), dtype)
    return array.reshape(shape, order="F" if by_columns else "C")


@contextmanager
def archive(path: Path) -> Iterator[dict[str, Callable[[], np.ndarray]]]:
    """The arrays of a .npz file by name, each of which is read by `read_numbers` when it is called for.

    Raises
    ------
    UserError
        Where the file does not begin as an archive, or gives two arrays one name.
    """
    with path.open("rb") as file, zipfile.ZipFile(file) as opened:
        file.seek(0)
        if file.read(4) not in STARTS:  # zipfile would also read an archive that stands behind something else
            raise UserError(f"{path} is no .npz file: it does not begin as one.")
        inside: dict[str, Callable[[], np.ndarray]] = {}
        for entry in opened.infolist():
            name = entry.filename.removesuffix(SUFFIX)
            if name in inside:
                raise UserError(f"{path} holds two arrays with the name {name!r}: which is meant cannot be told.")
            inside[name] = functools.partial(_member, path, opened, entry)
        yield inside


def _member(path: Path, opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    check_size(path, entry.file_size)
    with opened.open(entry) as file:
        return read_numbers(path, file, entry.file_size)
