"""Short names for arrays of one kind of number, where one is largest, and the Frobenius norm."""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]
Index = NDArray[np.int64]


def place_of_largest(values: Real, among: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Row and column of the largest of the values that are chosen; None where none is."""
    if not among.any():
        return None
    row, column = np.unravel_index(int(np.where(among, values, -np.inf).argmax()), values.shape)
    return int(row), int(column)


def frobenius(matrix: Real) -> float:
    """The norm of a number or of an array, whose squares may under- or overflow; inf where an entry is not known."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if not largest < np.inf:
        return np.inf
    return largest * float(np.linalg.norm(matrix / largest)) if largest else 0.0
