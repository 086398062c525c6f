"""An array of inputs from a file of anybody's: .npy, .npz or .nc, whose claims are checked before memory is taken."""

from pathlib import Path

import numpy as np

from dynlab import io, numpy_files, schema
from dynlab.errors import UserError
from dynlab.reading import bounded, check_readable, damage_refused

NAME = "inputs"  # of the array, where a .npz holds several


def read_array(path: Path) -> np.ndarray:
    """The array of real numbers in a .npy, .npz or .nc file.

    Raises
    ------
    UserError
        For a file that is missing, damaged, no ordinary file, or too large, and one that holds something else.
    """
    size = check_readable(path)
    with bounded(path), damage_refused(path, "an array of inputs"):
        if path.suffix == ".nc":
            return _of_netcdf(path)
        if path.suffix == ".npz":
            return _of_archive(path)
        with path.open("rb") as file:
            return numpy_files.read_numbers(path, file, size)


def _of_archive(path: Path) -> np.ndarray:
    with numpy_files.archive(path) as inside:
        name = NAME if NAME in inside else next(iter(inside), "") if len(inside) == 1 else None
        if not name:
            held = ", ".join([*list(inside)[:10], *(["…"] if len(inside) > 10 else [])]) or "nothing"
            raise UserError(f"{path} holds {held}; name the array of inputs {NAME!r}.")
        return inside[name]()


def _of_netcdf(path: Path) -> np.ndarray:
    ds = io.open(path)
    dims = (schema.SAMPLE, schema.TIME, schema.INPUT)
    fitting = [name for name, array in ds.data_vars.items() if set(array.dims) == set(dims)]
    if len(fitting) != 1:
        raise UserError(f"{path} must hold one variable with the dimensions {', '.join(dims)}, got {len(fitting)}.")
    return np.asarray(ds[fitting[0]].transpose(*dims).values)
