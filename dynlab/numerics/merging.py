"""Which of many computed roots are the same one, whatever order they come in."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

SAME = 1e-7  # times max(1, ‖h‖): two computed roots this near are one
DECIMALS = 6  # roots are put in order by their coordinates rounded so, which rounding errors do not change
FEW = 64  # points whose distances from each other are all computed at once


def scale(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """What distances between points (m, n) are relative to: max(1, ‖h‖₂), shape (m,), of any finite size."""
    sizes = np.abs(points).max(axis=-1, initial=1.0)
    sizes = np.where(np.isfinite(sizes), sizes, 1.0)
    return np.asarray(np.maximum(1.0, sizes * np.linalg.norm(points / sizes[..., None], axis=-1)))


def merged(points: NDArray[np.float64], same: float = SAME) -> NDArray[np.int64]:
    """The number of the root that each point is a copy of.

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
    labels = np.arange(len(points))
    for some in _side_by_side(points, float(reach.max())):
        near = cdist(points[some], points[some]) <= np.maximum(reach[some, None], reach[None, some])
        if near[0].all():
            labels[some] = some[0]
        else:
            labels[some] = some[connected_components(csr_array(near), directed=False)[1]]
    return in_order(points, labels)


def _side_by_side(points: NDArray[np.float64], reach: float) -> list[NDArray[np.int64]]:
    """The points in groups of several: each is farther than `reach` from all of other groups in some coordinate."""
    if len(points) < FEW:
        return [np.arange(len(points))]
    order = np.argsort(points, axis=0)
    apart = np.diff(np.take_along_axis(points, order, axis=0), axis=0) > 2 * reach  # twice, for what rounding may do
    runs = np.zeros(points.shape, dtype=np.int64)
    np.put_along_axis(runs, order[1:], apart.cumsum(axis=0), axis=0)
    group = np.unique(runs, axis=0, return_inverse=True)[1].reshape(-1)
    together = np.argsort(group, kind="stable")
    parts = np.split(together, np.flatnonzero(np.diff(group[together])) + 1)
    return [part for part in parts if len(part) > 1]


def in_order(points: NDArray[np.float64], labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The same labels, numbered from 0 by the first point of each in the order of `ordered`."""
    order = ordered(points)
    _, first = np.unique(labels[order], return_index=True)
    names = labels[order][np.sort(first)]
    number = np.zeros(labels.max(initial=-1) + 1, dtype=np.int64)
    number[names] = np.arange(len(names))
    return number[labels]


def ordered(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices that sort points by their first coordinate, then by the second, and so on."""
    rounded = np.round(points, DECIMALS) + 0.0  # + 0.0 makes −0 and 0 one
    return np.lexsort(rounded.T[::-1])
