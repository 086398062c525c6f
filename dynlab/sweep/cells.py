"""Cells of a grid, and what came of each."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import xarray as xr

from dynlab.errors import in_words

Value = int | float | str
Index = tuple[int, ...]
Compute = Callable[[Mapping[str, Value]], xr.Dataset]  # from the values of a cell to its Dataset
Cells = list[tuple[Index, dict[str, Value]]]


class Axis(NamedTuple):
    """One direction of a grid.

    Attributes
    ----------
    name : str
    values : tuple
        All whole numbers, all numbers, or all texts.
    """

    name: str
    values: tuple[Value, ...]


def size(grid: Sequence[Axis]) -> int:
    """Return how many cells there are."""
    return math.prod(len(each.values) for each in grid)


def cell(grid: Sequence[Axis], index: Index) -> dict[str, Value]:
    """Return the values of the cell at that place of the grid, by the name of their axis."""
    return {each.name: each.values[place] for each, place in zip(grid, index, strict=True)}


@dataclass(frozen=True)
class Outcome:
    """What came of one cell: its Dataset, or why there is none."""

    index: Index
    dataset: xr.Dataset | None
    problem: str = ""


def outcomes(compute: Compute, cells: Cells) -> list[Outcome]:
    """Compute cells one after the other; one that fails leaves the others as they are."""
    found = []
    for index, values in cells:
        try:
            found.append(Outcome(index, compute(values)))
        except Exception as error:  # the sweep goes on, and the store says which cell to look at
            found.append(Outcome(index, None, in_words(error)))
    return found
