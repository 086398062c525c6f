"""What a worker does: it computes some cells, and says of each what came out or why nothing did."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from dynlab.reading import in_words
from dynlab.sweep.grid import Index, Value

Compute = Callable[[Mapping[str, Value]], xr.Dataset]  # from the values of a cell to its Dataset


@dataclass(frozen=True)
class Outcome:
    """What came of one cell.

    Attributes
    ----------
    index : tuple of int
        Its place in the grid.
    dataset : Dataset or None
    problem : str
        Why there is no Dataset.
    """

    index: Index
    dataset: xr.Dataset | None
    problem: str = ""


def outcomes(compute: Compute, cells: Iterable[tuple[Index, dict[str, Any]]]) -> list[Outcome]:
    """Compute cells one after the other; one that fails leaves the others as they are."""
    found = []
    for index, values in cells:
        try:
            found.append(Outcome(index, compute(values)))
        except Exception as error:  # the sweep goes on, and the store says which cell to look at
            found.append(Outcome(index, None, in_words(error)))
    return found
