"""Inputs from a file: .npy, .npz, .nc or .zarr, and which of its sequences an analysis takes."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import io, schema
from dynlab.errors import UserError, told_of_damage
from dynlab.files import check_readable

NAME = "inputs"  # of the array, if a .npz holds several
DIMS = (schema.SAMPLE, schema.TIME, schema.INPUT)


class Choice(NamedTuple):
    """Some of the sequences, in their own order.

    Attributes
    ----------
    samples : int, optional
        Number at most; without it all.
    seed : int
        Seed of the draw, if there are more.
    skip : int, optional
        Take the `samples` sequences after the first `skip` instead of a draw.
    """

    samples: int | None
    seed: int = 0
    skip: int | None = None

    def of(self, available: int) -> NDArray[np.int64]:
        """Return their numbers, from 0, out of so many.

        Raises
        ------
        UserError
            If all of them are skipped.
        """
        if self.skip is not None:
            if self.skip >= available:
                raise UserError(f"There are {available:,} sequences, and {self.skip:,} are skipped: skip fewer.")
            return np.arange(available)[self.skip :][: self.samples]
        if self.samples is None or available <= self.samples:
            return np.arange(available)
        return np.sort(np.random.default_rng(self.seed).choice(available, self.samples, replace=False))


def read_sequences(path: Path, choice: Choice) -> tuple[np.ndarray, int]:
    """Read some of the sequences of a .npy, .npz, .nc or .zarr file.

    The others take no memory, so that a file may be larger than it: all but the .npz, whose array is read whole.

    Returns
    -------
    sequences : ndarray, shape (sample, time, input)
        With NaN after the ends of sequences of different lengths: a .npz may have an array (time, input) for each. An
        array of a .npy or .npz of any other shape is returned whole.
    available : int
        Number of sequences in the file.

    Raises
    ------
    UserError
        If the file is missing, damaged or no ordinary file, and if it holds something else.
    """
    if path.suffix in io.KINDS:
        with io.open_lazily(path) as stored:
            variable = _of_dataset(path, stored)
            return _numbers(path, variable.isel({schema.SAMPLE: choice.of(len(variable))}).values), len(variable)
    check_readable(path)
    with told_of_damage(f"{path} cannot be read as an array of inputs, which must hold real numbers"):
        array = _of_archive(path) if path.suffix == ".npz" else np.lib.format.open_memmap(path, mode="r")
    some = array[choice.of(len(array))] if array.ndim == len(DIMS) else array
    return _numbers(path, np.array(some)), len(array) if array.ndim else 0


def _of_archive(path: Path) -> np.ndarray:
    """Return the array of inputs, or those of single sequences as one with NaN after their ends."""
    # numpy leaves a file open that it cannot read, so it is given an open one
    with path.open("rb") as file, np.load(file, allow_pickle=False) as inside:
        if NAME in inside:
            return np.asarray(inside[NAME])
        arrays = [inside[name] for name in inside.files]
    if len(arrays) == 1:
        return arrays[0]
    if len({each.shape[1:] for each in arrays}) != 1 or arrays[0].ndim != 2:
        held = ", ".join(inside.files[:10]) or "nothing"
        raise UserError(
            f"{path} holds {held}; name the array of inputs {NAME!r}, or hold one array (time, input) a sequence."
        )
    found = np.full((len(arrays), max(map(len, arrays)), arrays[0].shape[1]), np.nan)
    for whole, sequence in zip(found, arrays, strict=True):
        whole[: len(sequence)] = sequence
    return found


def _of_dataset(path: Path, stored: xr.Dataset) -> xr.DataArray:
    """Return the one variable that has the dimensions of sequences, in their order."""
    fitting = [array for array in stored.data_vars.values() if {*array.dims} == {*DIMS}]
    if len(fitting) != 1:
        raise UserError(
            f"{path} must hold one variable of real numbers with the dimensions {', '.join(DIMS)}, got {len(fitting)}."
        )
    return fitting[0].transpose(*DIMS)


def _numbers(path: Path, array: np.ndarray) -> np.ndarray:
    """Return the array, or refuse objects, texts, dates, complex numbers and records."""
    if array.dtype.kind not in "biuf":
        raise UserError(f"{path} must hold real numbers, got {array.dtype}.")
    return array
