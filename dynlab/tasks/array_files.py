"""Inputs from a file of anybody's: .npy, .npz, .nc or .zarr, whose claims are checked before memory is taken."""

from pathlib import Path

import numpy as np

from dynlab import numpy_files, reading_child, schema
from dynlab.choice import Choice
from dynlab.errors import UserError, require_extra
from dynlab.reading import bounded, check_readable, damage_refused
from dynlab.stores import found_files

NAME = "inputs"  # of the array, where a .npz holds several


def read_sequences(path: Path, choice: Choice) -> np.ndarray:
    """Some of the sequences of real numbers in a .npy, .npz, .nc or .zarr file.

    The others take no memory, so that a file may be larger than it: all but the compressed .npz, which is read whole.

    Returns
    -------
    ndarray, shape (sample, time, input)
        Of a .npy or .npz in any other shape that it has, and then with all its numbers.

    Raises
    ------
    UserError
        For a file that is missing, damaged, no ordinary file, or too large, and one that holds something else.
    """
    if path.suffix == ".zarr":
        require_extra("zarr", "zarr")
        if not path.exists():
            raise UserError(f"There is no file {path}; check the path.")
        if found_files(path) is None:
            raise UserError(f"{path} is no Zarr store, which is a folder of ordinary files.")
        size = 0
    else:
        size = check_readable(path, whole=path.suffix == ".npz")
    with bounded(path), damage_refused(path, "an array of inputs"):
        if path.suffix in reading_child.KINDS:
            return np.asarray(reading_child.read_sequences(path, (schema.SAMPLE, schema.TIME, schema.INPUT), choice))
        if path.suffix == ".npz":
            found = _of_archive(path)
            return found[choice.of(len(found))] if found.ndim == 3 else found
        with path.open("rb") as file:
            return numpy_files.read_rows(path, file, size, choice)


def _of_archive(path: Path) -> np.ndarray:
    with numpy_files.archive(path) as inside:
        name = NAME if NAME in inside else next(iter(inside), "") if len(inside) == 1 else None
        if not name:
            held = ", ".join([*list(inside)[:10], *(["…"] if len(inside) > 10 else [])]) or "nothing"
            raise UserError(f"{path} holds {held}; name the array of inputs {NAME!r}.")
        return inside[name]()
