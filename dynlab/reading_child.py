"""NetCDF and Zarr read by a process of their own, since the libraries for them can hang, crash and fill the memory.

The process is stopped when it takes too long, and its memory is limited. It gives back no objects, but JSON and bytes.
"""

import contextlib
import ctypes
import itertools
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from dynlab import reading
from dynlab.choice import Choice
from dynlab.errors import UserError

MOST_VARIABLES = 10_000
KINDS = {".nc": "a NetCDF file", ".zarr": "a Zarr store"}
TOO_MANY = f"it has more than {MOST_VARIABLES:,} variables"
END_WITH_THE_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
# Kinds of numbers whose bytes are told as they are; of others the values.
PLAIN, TEXT = "biufcmM", "SUOT"
PART = "part"  # the dimension of complex numbers' two parts, as dynlab writes them
WORD = str | bytes | int | float | None  # what an item of an array of objects may be
STARTED = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import dynlab.reading_child as child; child.main()"


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a .nc or .zarr holds, read by another process.

    Returns
    -------
    variables : dict
        From a name to ``(dims, array or nested lists of text, attributes)`` and whether it is a coordinate.
    attributes : dict

    Raises
    ------
    UserError
        Where it cannot be read, or takes too much time or memory.
    """
    return _read(path)


def read_sequences(path: Path, dims: tuple[str, str, str], choice: Choice) -> Any:
    """Some of the sequences of the one variable that has these dimensions: no others take memory.

    Returns
    -------
    ndarray
        With the dimensions in that order.

    Raises
    ------
    UserError
        As of `read`, and where no variable has these dimensions, or several have.
    """
    variables, _ = _read(path, {"dims": dims, "choice": choice})
    ((_, values, _), _) = next(iter(variables.values()))
    return values


def _read(path: Path, wanted: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    most = reading.limits().bytes
    with told_by_another_process(path, wanted) as told:
        head = told.readline(most)
        try:
            found: dict[str, Any] = json.loads(head)
        except ValueError as error:
            raise UserError(f"{path} cannot be read: it is damaged, and ends the program that reads it.") from error
        if "too much" in found:
            raise reading.too_much(path)
        if "refused" in found:
            raise UserError(found["refused"])
        if "error" in found:
            raise UserError(f"{path} cannot be read as {KINDS[path.suffix]}: {found['error']}.")
        try:
            return _unpacked(found, told, most), _plain(found["attributes"])
        except MemoryError as error:
            raise reading.too_much(path) from error
        except (TypeError, ValueError) as error:
            raise UserError(f"{path} cannot be read: {error}.") from error


@contextmanager
def told_by_another_process(path: Path, wanted: dict[str, Any] | None = None) -> Iterator[IO[bytes]]:
    """What `tell` writes of a file in a process of its own, as it comes: a crash of the libraries ends it early."""
    allowed = reading.limits()
    command = [sys.executable, "-I", "-c", STARTED, json.dumps(sys.path), os.fspath(path), str(allowed.bytes)]
    command.append(json.dumps(wanted))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | threads
    ) as child:
        late = threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        clock = threading.Timer(allowed.seconds, stop)
        clock.daemon = True
        clock.start()
        try:
            yield cast(IO[bytes], child.stdout)
        except UserError as error:
            if late.is_set():
                raise reading.too_long(path) from error
            raise
        finally:
            clock.cancel()
            child.kill()


def _unpacked(found: dict[str, Any], told: IO[bytes], most: int) -> dict[str, Any]:
    """The variables, whose numbers come straight into their arrays, so that they are held once."""
    import numpy as np

    variables = {}
    for name, dims, dtype, shape, attributes, values, coordinate in found["variables"]:
        if values is None:
            count = math.prod(shape) * np.dtype(dtype).itemsize
            most -= count
            if most < 0:
                raise MemoryError
            array = _filled(np.empty(count, np.uint8), told).view(dtype).reshape(shape)
        else:
            array = np.array(values, dtype=object).reshape(shape)
            array = array if dtype == "object" else array.astype(dtype)
        variables[name] = (tuple(dims), array, _plain(attributes)), coordinate
    return variables


def _filled(array: Any, told: Any) -> Any:
    """An array of bytes, from a file that comes in pieces."""
    left = memoryview(array)
    while left:
        got = told.readinto(left)
        if not got:
            raise ValueError("the program that reads it ended before it had told all")
        left = left[got:]
    return array


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    return {name: value if dtype is None else np.array(value, dtype)[()] for name, (dtype, value) in attributes.items()}


def main() -> None:
    """Read the file that the command line names, and write what it holds to standard output."""
    _end_with_the_reader()
    _, _, name, most, wanted = sys.argv
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not what the file holds
    path = Path(name)
    import xarray  # noqa: F401 - before memory is limited

    if path.suffix == ".zarr":
        import zarr  # noqa: F401
    else:
        import h5netcdf  # noqa: F401
    tell(path, int(most), out, json.loads(wanted))
    out.flush()
    os._exit(0)  # the libraries' own ends may crash, too


def _end_with_the_reader() -> None:
    """On Linux, be killed with the process that reads what this one tells; it may have been killed before, too."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(END_WITH_THE_PARENT, signal.SIGKILL)
        told = select.poll()
        told.register(1, 0)
        if told.poll(0):  # an error, which is all that is asked for: nobody has the other end
            os._exit(1)


def tell(path: Path, most: int, out: IO[bytes], wanted: dict[str, Any] | None = None) -> None:
    """Write what a file holds, a line of JSON and the bytes of its numbers, or what is wrong with it.

    Parameters
    ----------
    path : Path
    most : int
        Bytes that its variables may take.
    out : file
    wanted : dict, optional
        Where it is not all of the file, what `read_sequences` asks for: the dimensions and the choice.
    """
    import xarray as xr

    try:
        with reading.bounded(path):
            if path.suffix == ".nc":
                _look_at_variables(path)
                opened = xr.open_dataset(path, engine="h5netcdf")
            else:
                opened = xr.open_zarr(path, consolidated=False, chunks=None)
            with opened as stored:
                if len(stored.variables) > MOST_VARIABLES:
                    raise UserError(TOO_MANY)
                if wanted:
                    stored = _some_sequences(path, stored, tuple(wanted["dims"]), Choice(*wanted["choice"]))
                if sum(array.nbytes for array in stored.variables.values()) > most:
                    raise MemoryError
                _tell(stored.load(), out)
    except MemoryError:
        out.write(b'{"too much": 1}\n')
    except Refused as error:
        out.write(json.dumps({"refused": str(error)}).encode() + b"\n")
    # a damaged file drives the libraries into any error at all
    except Exception as error:
        words = str(error) if isinstance(error, UserError) else reading.damage(error)
        report = {"too much": 1} if isinstance(error.__cause__, MemoryError) else {"error": words}
        out.write(json.dumps(report).encode() + b"\n")


class Refused(UserError):
    """What is asked of a file that can be read is not there."""


def _some_sequences(path: Path, stored: Any, dims: tuple[str, ...], choice: Choice) -> Any:
    """The one variable with these dimensions, in their order, of the sequences that are chosen; nothing is loaded."""
    fitting = [name for name, array in stored.data_vars.items() if {*array.dims} - {PART} == {*dims}]
    if len(fitting) != 1:
        raise Refused(f"{path} must hold one variable with the dimensions {', '.join(dims)}, got {len(fitting)}.")
    array = stored[fitting[0]].reset_coords(drop=True)
    if array.dtype.kind not in PLAIN or PART in array.dims:
        raise Refused(f"{path} must hold real numbers, got {'complex ones' if PART in array.dims else array.dtype}.")
    array = array.transpose(*dims)
    try:
        chosen = choice.of(len(array))
    except UserError as error:
        raise Refused(str(error)) from error
    return array.drop_vars(list(array.coords)).isel({dims[0]: chosen}).to_dataset(name="inputs")


def _look_at_variables(path: Path) -> None:
    """Refuse too many, which take long to open; and those whose numbers HDF5 would take from any other file."""
    import h5py

    count = itertools.count(1)

    def look(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if next(count) > MOST_VARIABLES:
            raise UserError(TOO_MANY)
        if item.external or item.is_virtual:
            raise UserError(f"its variable {name} has its numbers in another file")

    with h5py.File(path) as file:
        file.visititems(look)


def _tell(ds: Any, out: IO[bytes]) -> None:
    import numpy as np

    variables, parts = [], []
    for name, array in ds.variables.items():
        values = np.asarray(array.values)
        plain = values.dtype.kind in PLAIN
        if not plain and (values.dtype.kind not in TEXT or not all(isinstance(item, WORD) for item in values.flat)):
            raise UserError(f"its variable {name} holds neither numbers nor text")
        if plain:
            parts.append(np.ascontiguousarray(values))
        dtype = values.dtype.str if plain or values.dtype.kind in "SU" else "object"
        told = None if plain else [_text(item) for item in values.ravel().tolist()]
        coordinate = name in ds.coords
        variables.append((str(name), array.dims, dtype, values.shape, _told(array.attrs), told, coordinate))
    out.write(json.dumps({"variables": variables, "attributes": _told(ds.attrs)}).encode() + b"\n")
    for part in parts:
        out.write(part.reshape(-1).view(np.uint8).data)  # of dates numpy gives no buffer


def _told(attributes: Any) -> dict[str, Any]:
    """Attributes with the type of each that is numpy's."""
    import numpy as np

    told = {}
    for name, value in attributes.items():
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufSU":
            told[str(name)] = value.dtype.str, _text(value.tolist())
        elif isinstance(value, str | int | float | list | dict | None):
            told[str(name)] = None, value
    return told


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
