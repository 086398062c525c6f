"""A new store of a sweep, with its axes, the coordinates of a first cell, and a record in which nothing is done."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import dynlab
from dynlab import files, schema
from dynlab.errors import UserError, require_extra
from dynlab.io import split_complex
from dynlab.stores import made
from dynlab.sweep import coordinates
from dynlab.sweep.grid import Axis, box
from dynlab.sweep.layout import (
    DIGEST,
    DONE,
    FAILED,
    MOST_IN_CHUNK,
    PROBLEM,
    RECORD,
    STATUS,
    SWEEP,
    TEXTS,
    WAITING,
    Layout,
)


def create(path: Path, grid: Sequence[Axis], about: Mapping[str, Any], first: xr.Dataset) -> None:
    """Make a store for a grid, whose cells give Datasets such as the `first`."""
    zarr = require_extra("zarr", "sweep")
    taken = {str(name) for name in (*first.variables, *first.dims, *RECORD, *TEXTS)}
    dims = [f"grid_{each.name}" if each.name in taken else each.name for each in grid]
    lengths = [len(each.values) for each in grid]
    plain = split_complex(first)
    indexes = {str(dim): plain.variables[dim] for dim in plain.indexes}
    stamps: dict[str, int | str | None] = {dim: coordinates.stamp(dim, each.values) for dim, each in indexes.items()}
    sizes = {dim: variable.size for dim, variable in indexes.items()}
    layout = Layout(dict(about), [*grid], tuple(dims), stamps, sizes)
    attributes = {"dynlab_version": dynlab.__version__, SWEEP: layout.text(), "created": schema.created()}
    private = files.private_name(path)

    def write(place: Path) -> None:
        group = zarr.create_group(place, attributes=attributes)
        for dim, each in zip(dims, grid, strict=True):
            coordinates.create(
                group, dim, xr.Variable((dim,), np.array(each.values), {"long_name": f"{each.name}, swept"})
            )
        for dim, variable in indexes.items():
            coordinates.create(group, dim, variable)
        chunks = box(lengths, MOST_IN_CHUNK)
        common = {"shape": lengths, "chunks": chunks, "dimension_names": dims}
        meanings = f"{WAITING}: not computed yet; {DONE}: done; {FAILED}: failed, for the reason in {PROBLEM}"
        words = {"long_name": "what became of the cell", "units": schema.ONE, "comment": meanings}
        group.create_array(STATUS, dtype="int8", fill_value=WAITING, attributes=words, **common)
        words = {"long_name": "why the cell failed", "units": schema.ONE}
        group.create_array(PROBLEM, dtype=str, fill_value="", attributes=words, **common)
        words = {"long_name": "digest of what was written for the cell", "units": schema.ONE}
        group.create_array(DIGEST, dtype="uint64", fill_value=0, attributes=words, **common)

    with files.told_of_failure(path), made(private, write):
        try:
            files.put(private, path)
        except FileExistsError as error:
            raise UserError(f"Another process has begun {path} meanwhile: wait until it is done.") from error
