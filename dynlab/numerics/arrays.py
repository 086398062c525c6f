"""Short names for arrays of one kind of number, and the Frobenius norm."""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]
Index = NDArray[np.int64]


def frobenius(matrix: Real) -> float:
    """Return the norm of an array, whose squares may under- or overflow; inf where an entry is not known."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if not largest < np.inf:
        return np.inf
    return largest * float(np.linalg.norm(matrix / largest)) if largest else 0.0
