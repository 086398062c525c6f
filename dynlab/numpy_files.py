"""Arrays from NumPy's .npy and .npz files of anybody's, whose claims are checked before memory is taken."""

import functools
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from dynlab.choice import Choice
from dynlab.errors import UserError
from dynlab.reading import check_size

KINDS = "biuf"  # of numpy: real numbers
SUFFIX = ".npy"  # of an archive's members
STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive, and of an empty one
BEGINNINGS = {  # what else a file may be, with what to do about it, and how it begins
    "gzip; unpack it first": (b"\x1f\x8b",),
    "a pickle; save the array by numpy.save": (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    "an archive; let its name end in .npz": STARTS,
    "a .npy file; let its name end so": (np.lib.format.MAGIC_PREFIX,),
}
LONGEST_NAME = 1000  # letters of an array's name in an archive; of a longer one so many are told:
TOLD = 60
ENCRYPTED = 1  # the bit of a member that says so


class NotNumbers(UserError):
    """An array holds something else than real numbers."""


def read_numbers(path: Path, file: IO[bytes], size: int, member: str = "") -> np.ndarray:
    """The array of a .npy file of `size` bytes, which must be those of the array that its head describes.

    Parameters
    ----------
    path : Path
        What is read, as an error names it.
    file : file
    size : int
    member : str
        Its name in the archive that `path` is.

    Raises
    ------
    NotNumbers
        For objects, texts and complex numbers; nothing is unpickled.
    UserError
        Where the head claims more than there is, or more than may be read. A damaged file raises other errors as well.
    """
    shape, by_columns, dtype = _head(path, file, size, member)
    needed = math.prod(shape) * dtype.itemsize
    check_size(path, needed)
    array = np.frombuffer(file.read(needed), dtype)
    return array.reshape(shape, order="F" if by_columns else "C")


def read_rows(path: Path, file: IO[bytes], size: int, choice: Choice) -> np.ndarray:
    """Some of the sequences of a .npy file, as `read_numbers` reads all: no others take memory.

    An array that is no (sample, time, input) in the order of C is read whole.
    """
    shape, by_columns, dtype = _head(path, file, size)
    begin = file.tell()
    if by_columns or len(shape) != 3:
        file.seek(0)
        return read_numbers(path, file, size)
    chosen, each = choice.of(shape[0]), math.prod(shape[1:]) * dtype.itemsize
    check_size(path, len(chosen) * each)
    array = np.empty((len(chosen), *shape[1:]), dtype)
    for row, number in zip(array, chosen.tolist(), strict=True):
        file.seek(begin + number * each)
        row[...] = np.frombuffer(file.read(each), dtype).reshape(shape[1:])
    return array


def _head(path: Path, file: IO[bytes], size: int, member: str = "") -> tuple[tuple[int, ...], bool, np.dtype]:
    """The shape, whether it is in the order of Fortran, and the type; the file stands where the numbers begin."""
    start, known = file.read(np.lib.format.MAGIC_LEN), np.lib.format.MAGIC_PREFIX
    if not start.startswith(known):
        named = f"{path} holds {cut(member)!r}, which" if member else path
        raise UserError(f"{named} is no .npy file: {_beginning(start)}.")
    version = tuple(start[len(known) :])
    if len(version) < 2:
        raise UserError(f"{path} is cut short: it ends with its first {len(start)} bytes. Copy the file again.")
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise UserError(f"{path} has the format version {version[0]}.{version[1]}, which numpy does not know.")
    read_head: Any = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read_head = np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read_head(file)
    check_numbers(path, dtype)
    if min(shape, default=0) < 0:
        raise UserError(f"{path} says that its array has the shape {cut(str(shape))}: no length is negative.")
    needed = math.prod(shape) * dtype.itemsize
    if needed != size - file.tell():
        raise UserError(f"{path} says that its array takes {needed:,} bytes, and has {size - file.tell():,}.")
    return shape, by_columns, dtype


def check_numbers(path: Path, dtype: np.dtype) -> None:
    """Refuse objects, texts, dates, complex numbers and records.

    Raises
    ------
    NotNumbers
    """
    if dtype.kind not in KINDS:
        raise NotNumbers(f"{path} must hold real numbers, got {cut(str(dtype))}.")


def cut(name: str) -> str:
    """A name from a file, of a length that a sentence can hold."""
    return name if len(name) <= TOLD else f"{name[:TOLD]}…"


def _beginning(start: bytes) -> str:
    """What the first bytes of a file that is none of the expected kind say that it is."""
    if not start:
        return "it is empty"
    found = next((kind for kind, known in BEGINNINGS.items() if start.startswith(known)), "")
    return f"it begins as {found}" if found else "it does not begin as one"


@contextmanager
def archive(path: Path) -> Iterator[dict[str, Callable[[], np.ndarray]]]:
    """The arrays of a .npz file by name, each of which is read by `read_numbers` when it is called for.

    Raises
    ------
    UserError
        Where the file does not begin as an archive, gives two arrays one name, or one a name without end.
    """
    with path.open("rb") as file:
        start = file.read(np.lib.format.MAGIC_LEN)
        if not start.startswith(STARTS):  # zipfile would also read an archive that stands behind something else
            raise UserError(f"{path} is no .npz file: {_beginning(start)}.")
        with zipfile.ZipFile(file) as opened:
            yield _members(path, opened)


def _members(path: Path, opened: zipfile.ZipFile) -> dict[str, Callable[[], np.ndarray]]:
    """What reads each array of an archive, by its name."""
    inside: dict[str, Callable[[], np.ndarray]] = {}
    for entry in opened.infolist():
        name = entry.filename.removesuffix(SUFFIX)
        if len(name) > LONGEST_NAME:
            raise UserError(f"{path} holds an array whose name {cut(name)!r} has {len(name):,} letters: shorten it.")
        if name in inside:
            raise UserError(f"{path} holds two arrays with the name {cut(name)!r}: which is meant cannot be told.")
        inside[name] = functools.partial(_member, path, opened, entry)
    return inside


def _member(path: Path, opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    check_size(path, entry.file_size)
    if entry.flag_bits & ENCRYPTED:
        raise UserError(f"{path} is encrypted: save it without a password.")
    with opened.open(entry) as file:
        return read_numbers(path, file, entry.file_size, entry.filename)
