"""Basin entropy: how uncertain it is where a start ends.

References
----------
Daza, Wagemakers, Georgeot, Guéry-Odelin and Sanjuán, "Basin entropy: a new tool to analyze uncertainty in dynamical
systems", Scientific Reports 6 (2016), equations 4 and 7, and the criterion ln 2 for fractal borders.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BOX = 5  # points on a side, as the authors take


def basin_entropy(
    basins: NDArray[np.int64], counted: NDArray[np.bool_] | None = None
) -> tuple[float, float, float, int]:
    """The mean entropy of the boxes, that of the boxes on a border, its standard error, and how many there are.

    The second and third are NaN where no box lies on a border.

    Parameters
    ----------
    basins : ndarray of int, shape (y, x)
        Points that do not fill a box at the upper border are left out.
    counted : ndarray of bool, shape (y, x), optional
        Points that belong to a basin: one on a border, or undecided, belongs to none, and would make a smooth border
        between two basins look like one of three.
    """
    boxes = _boxes(basins)
    if not len(boxes):
        return float("nan"), float("nan"), float("nan"), 0
    belongs = np.ones_like(boxes, dtype=bool) if counted is None else _boxes(counted)
    names = np.unique(boxes)
    whole = np.maximum(belongs.sum(axis=1), 1)
    shares = np.stack([((boxes == name) & belongs).sum(axis=1) / whole for name in names])
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=0)
    on_border = entropies[(shares > 0).sum(axis=0) > 1]
    if not len(on_border):
        return float(entropies.mean()), float("nan"), float("nan"), 0
    error = float(on_border.std() / np.sqrt(len(on_border)))
    return float(entropies.mean()), float(on_border.mean()), error, len(on_border)


def _boxes(grid: NDArray[Any]) -> NDArray[Any]:
    rows, columns = (size // BOX for size in grid.shape)
    return grid[: rows * BOX, : columns * BOX].reshape(rows, BOX, columns, BOX).swapaxes(1, 2).reshape(-1, BOX**2)
