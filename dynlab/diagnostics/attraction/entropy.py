"""Basin entropy: how uncertain it is where a start ends.

References
----------
Daza, Wagemakers, Georgeot, Guéry-Odelin and Sanjuán, "Basin entropy: a new tool to analyze uncertainty in dynamical
systems", Scientific Reports 6 (2016), equations 4 and 7, and the criterion ln 2 for fractal borders.
"""

import numpy as np
from numpy.typing import NDArray

BOX = 5  # points on a side, as the authors take


def basin_entropy(basins: NDArray[np.int64]) -> tuple[float, float, int]:
    """The mean entropy of the boxes, that of the boxes on a border (NaN where there is none), and how many there are.

    Parameters
    ----------
    basins : ndarray of int, shape (y, x)
        Points that do not fill a box at the upper border are left out.
    """
    rows, columns = (size // BOX for size in basins.shape)
    boxes = basins[: rows * BOX, : columns * BOX].reshape(rows, BOX, columns, BOX).swapaxes(1, 2).reshape(-1, BOX**2)
    if not len(boxes):
        return float("nan"), float("nan"), 0
    names = np.unique(boxes)
    shares = np.stack([(boxes == name).mean(axis=1) for name in names])
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=0)
    border = (shares > 0).sum(axis=0) > 1
    on_border = float(entropies[border].mean()) if border.any() else float("nan")
    return float(entropies.mean()), on_border, int(border.sum())
