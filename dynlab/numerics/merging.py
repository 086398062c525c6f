"""Merging of computed roots that are the same one, whatever order they come in."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

SAME = 1e-7  # times max(1, ‖h‖): two computed roots this near are one
DECIMALS = 6  # roots are put in order by their coordinates rounded so, which rounding errors do not change
MOST_COORDINATES = 8  # of many, a tree looks at the few that spread most; the distance then decides


def scale(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what distances between points (m, n) are relative to: max(1, ‖h‖₂), shape (m,)."""
    return np.maximum(1.0, np.linalg.norm(points, axis=-1))


def merged(points: NDArray[np.float64], same: float = SAME) -> NDArray[np.int64]:
    """Return the number of the root that each point is a copy of.

    Points are copies of one root where a chain of them connects the two, each nearer to the next than `same` times
    their scale.

    Parameters
    ----------
    points : ndarray, shape (m, n)
    same : float

    Returns
    -------
    ndarray of int, shape (m,)
        Numbers from 0, in the order of `ordered`.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    reach = same * scale(points)
    spread = np.argsort(-np.ptp(points, axis=0))[:MOST_COORDINATES]
    one, other = KDTree(points[:, spread]).query_pairs(float(reach.max()), output_type="ndarray").T
    near = np.linalg.norm(points[one] - points[other], axis=1) <= np.maximum(reach[one], reach[other])
    joins = csr_array((near[near], (one[near], other[near])), shape=(len(points), len(points)))
    order, labels = ordered(points), connected_components(joins, directed=False)[1]
    _, first, inverse = np.unique(labels[order], return_index=True, return_inverse=True)
    number = np.empty(len(points), dtype=np.int64)
    number[order] = np.argsort(np.argsort(first))[inverse.reshape(-1)]
    return number


def ordered(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices that sort points by their first coordinate, then by the second, and so on."""
    return np.lexsort((np.round(points, DECIMALS) + 0.0).T[::-1])  # + 0.0 makes −0 and 0 one
