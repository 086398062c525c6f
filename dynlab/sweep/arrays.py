"""The arrays of a sweep's store, opened to be written: what they hold of the cells, made and lengthened as it comes.

What is said of an array in the store's attribute is said before the array is so: what ends in between is made whole
by the next process that opens the store.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import files
from dynlab.errors import UserError, require_extra
from dynlab.reading import bounded, damage_refused
from dynlab.sweep import coordinates, digests
from dynlab.sweep.grid import Index, box
from dynlab.sweep.layout import (
    DIGEST,
    MOST_IN_CHUNK,
    STATUS,
    SWEEP,
    arrays_in,
    dims_of,
    layout_of,
    nothing_of,
    reading,
)

CHUNK = 2**18  # bytes: a chunk holds so many cells' values of one variable, and is written anew with each of them


class Arrays:
    """The sweep's own arrays in a store.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    layout : Layout
        What the store says of itself.
    named : dict
        Each array by its name.
    coordinates : dict
        The values of those that are coordinates.

    Raises
    ------
    UserError
        Where there is no store of a sweep, or one that is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.layout = path, layout_of(path)
        with bounded(path), damage_refused(path, "the store of a sweep"):
            self._group = require_extra("zarr", "sweep").open_group(path, mode="r+")
        self.named = arrays_in(path, self._group, self.layout)
        self._sizes = dict(zip(self.layout.dims, self.layout.lengths, strict=True)) | self.layout.sizes
        self.coordinates: dict[str, np.ndarray] = {}
        for name in [name for name, array in self.named.items() if dims_of(array) == (name,)]:
            if name not in self.layout.dims and self.layout.arrays[name] is None:
                del self.named[name]  # a process ended while it wrote it
            else:
                self.coordinates[name] = coordinates.values_of(path, name, self.named[name], self.layout)

    @property
    def version(self) -> object:
        """The version of dynlab that began the store, as it says."""
        return self._group.attrs.get("dynlab_version")

    def of_cells(self) -> list[str]:
        """The variables of the cells; why one failed is among them, so that it is seen where a done one has that."""
        return [name for name in self.named if name not in (*self.coordinates, STATUS, DIGEST)]

    def make_whole(self) -> None:
        """Make every array and coordinate what a process that ended while it lengthened a dimension left undone."""
        self._even()
        for name, values in self.coordinates.items():
            if not np.array_equal(self.named[name][...], values):
                self.named[name][...] = values

    def shared(self, name: str, variable: xr.Variable) -> bool:
        """Whether the store's coordinate is the cell's too; one that counts 1, 2, 3 … is made as long as the cell's."""
        array = self.named.get(name)
        if array is None:
            self.begin([name])
            self._lengthen({name: variable.size})
            self.named[name] = coordinates.create(self._group, name, variable)
            self.coordinates[name] = variable.values
            self.layout.arrays[name] = coordinates.stamp(name, variable.values)
            self._tell()  # now that it has its values
            self._even()
            return True
        stored = self.coordinates[name]
        if stored.shape == variable.shape and np.array_equal(stored, variable.values):
            return True
        if not (coordinates.counts(stored) and coordinates.counts(variable.values) and stored[0] == variable.values[0]):
            return False
        self._lengthen({name: variable.size})
        return True

    def _lengthen(self, sizes: Mapping[Any, int]) -> None:
        longer = {str(dim): length for dim, length in sizes.items() if length > self._sizes.get(str(dim), -1)}
        if longer:
            self._sizes |= longer
            self.layout.sizes.update(longer)
            self._tell()  # first: no array is longer than is said
            self._even()

    def begin(self, names: Sequence[str]) -> None:
        """Say that arrays are the sweep's own, before they are made; somebody else's of that name are left alone."""
        new = [name for name in names if name not in self.layout.arrays]
        for name in new:
            if files.exists(self.path / name):
                raise UserError(f"{self.path} has a {name} that this sweep did not write: move it away.")
        if new:
            self.layout.arrays.update(dict.fromkeys(new))
            self._tell()

    def _tell(self) -> None:
        self._group.attrs.update({SWEEP: self.layout.text()})

    def _even(self) -> None:
        """Make every array as long as the longest along each dimension."""
        for name, array in self.named.items():
            shape = tuple(self._sizes[dim] for dim in dims_of(array))
            if shape != array.shape:
                array.resize(shape)
                if name in self.coordinates:
                    if coordinates.counts(before := self.coordinates[name]):
                        array[...] = before[0] + np.arange(shape[0])
                    self.coordinates[name] = array[...]

    def lay(self, name: str, cells: Mapping[Index, xr.Variable], indices: Sequence[Index]) -> dict[Index, int]:
        """Write one variable of the cells at `indices` into the smallest box around them, padded where a cell has less.

        Returns
        -------
        dict
            The digest of what each cell has.
        """
        for variable in cells.values():
            self._lengthen(variable.sizes)
        if name not in self.named:
            self.named[name] = self._made(name, next(iter(cells.values())))
        array = self.named[name]
        places = np.array(indices)
        low, high = places.min(axis=0), places.max(axis=0) + 1
        part = (*(slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)), ...)
        with reading(self.path, name):
            region = np.array(array[part])
        for index in indices:
            region[tuple((np.array(index) - low).tolist())] = array.fill_value
        found = {}
        for index, variable in cells.items():
            place = tuple((np.array(index) - low).tolist())
            region[(*place, *(slice(0, length) for length in variable.shape))] = variable.values
            found[index] = digests.of_values(name, region[place], array.fill_value)
        array[part] = region
        return found

    def _made(self, name: str, variable: xr.Variable) -> Any:
        """A new array for a variable of the cells, with nothing in it yet."""
        dims = (*self.layout.dims, *map(str, variable.dims))
        inner = tuple(self._sizes[dim] for dim in dims[len(self.layout.dims) :])
        cells = max(1, min(MOST_IN_CHUNK, CHUNK // max(1, 8 * int(np.prod(inner)))))
        lengths = [len(each.values) for each in self.layout.grid]
        text = variable.dtype.kind in "OUT"
        return self._group.create_array(
            name,
            shape=(*lengths, *inner),
            chunks=(*box(lengths, cells), *(max(1, length) for length in inner)),
            dtype=str if text else variable.dtype,
            fill_value=nothing_of(name, variable.dtype.kind),
            dimension_names=dims,
            attributes=coordinates.plain(variable.attrs),
            overwrite=True,  # what is there has lost its description: `begin` has seen that it is the sweep's own
        )
