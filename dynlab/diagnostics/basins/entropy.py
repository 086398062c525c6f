"""The basin entropy: how uncertain it is where a start ends.

References
----------
Daza, Wagemakers, Georgeot, Guéry-Odelin and Sanjuán, "Basin entropy: a new tool to analyze uncertainty in dynamical
systems", Scientific Reports 6 (2016). Equations 4 and 7, and the criterion ln 2 for fractal borders.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BOX = 5  # points on a side, as the authors take


def basin_entropy(
    basins: NDArray[np.int64], counted: NDArray[np.bool_] | None = None
) -> tuple[float, float, float, int]:
    """Return the entropy −Σ p ln p of the basins in boxes of 5 × 5 points.

    Parameters
    ----------
    basins : ndarray of int, shape (y, x)
        Points that do not fill a box at the upper border are left out.
    counted : ndarray of bool, shape (y, x), optional
        Points that belong to a basin: one on a border, or undecided, belongs to none, and would make a smooth border
        between two basins look like one of three.

    Returns
    -------
    mean, border, error : float
        In nats: the mean over all boxes, that over the boxes on a border, and its standard error. NaN without boxes.
    boxes : int
        Number of boxes on a border.
    """
    boxes = _boxes(basins)
    if not len(boxes):
        return np.nan, np.nan, np.nan, 0
    belongs = np.ones_like(boxes, dtype=bool) if counted is None else _boxes(counted)
    whole = np.maximum(belongs.sum(axis=1), 1)
    shares = np.stack([((boxes == name) & belongs).sum(axis=1) / whole for name in np.unique(boxes)])
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=0)
    border = entropies[(shares > 0).sum(axis=0) > 1]
    if not len(border):
        return float(entropies.mean()), np.nan, np.nan, 0
    error = float(border.std() / np.sqrt(len(border)))
    return float(entropies.mean()), float(border.mean()), error, len(border)


def _boxes(grid: NDArray[Any]) -> NDArray[Any]:
    rows, columns = (size // BOX for size in grid.shape)
    return grid[: rows * BOX, : columns * BOX].reshape(rows, BOX, columns, BOX).swapaxes(1, 2).reshape(-1, BOX**2)
