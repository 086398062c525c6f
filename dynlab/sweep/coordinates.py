"""The coordinates of a sweep's store: what their values are in a word, how they are written, and their comparison."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab.sweep import digests
from dynlab.sweep.layout import Layout, damaged, nothing_of, reading


def stamp(name: str, values: np.ndarray) -> int | str:
    """What the values of a coordinate are: the first of numbers that count one by one, else their digest."""
    if counts(values):
        return int(values[0])
    return f"{digests.of_values(name, values, nothing_of(name, values.dtype.kind)):x}"


def counts(values: np.ndarray) -> bool:
    """Whether they are whole numbers, each one more than the one before."""
    return values.dtype.kind == "i" and values.size > 0 and bool((np.diff(values) == 1).all())


def create(group: Any, name: str, variable: xr.Variable) -> Any:
    """Write a coordinate, whole."""
    text = variable.dtype.kind in "OUT"
    array = group.create_array(
        name,
        shape=variable.shape,
        dtype=str if text else variable.dtype,
        fill_value=nothing_of(name, variable.dtype.kind),
        dimension_names=variable.dims,
        attributes=plain(variable.attrs),
        overwrite=True,  # one that a process ended while it wrote it
    )
    array[...] = variable.values.astype(object) if text else variable.values
    return array


def values_of(path: Path, name: str, array: Any, layout: Layout) -> np.ndarray:
    """The values of a coordinate, which are those that the sweep gave it.

    Raises
    ------
    UserError
        Where they are others, or cannot be read.
    """
    with reading(path, name):
        values: np.ndarray = array[...]
        said = layout.arrays.get(name)
        if name in layout.dims:
            right = values.tolist() == np.array(layout.grid[layout.dims.index(name)].values).tolist()
        elif isinstance(said, int):  # a process may have ended before it counted on
            values = said + np.arange(values.size)
            right = counts(values) and array.dtype.kind == "i"
        else:
            right = stamp(name, values) == said
    if not right:
        raise damaged(path, name, "has other values than this sweep gave it")
    return values


def plain(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes as a store takes them."""
    return {str(name): value.item() if isinstance(value, np.generic) else value for name, value in attributes.items()}
