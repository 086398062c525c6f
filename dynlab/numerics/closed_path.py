"""A test whether the states of an orbit lie on one closed curve, or on several that the map permutes.

On a closed curve a map of it to itself that has no periodic point turns the points around: it keeps their cyclic order.
So an orbit's states are joined to some of their nearest neighbours by the shortest tree; on a curve it is a path. Along
the path the successors of neighbours must be neighbours, in the same cyclic order, and the orbit must go around more
than once. The path's length must not grow as states are added: that of a fractal does.

References
----------
Katok and Hasselblatt, Introduction to the Modern Theory of Dynamical Systems (1995), section 11.1 (the order of a
circle's orbits).
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree
from scipy.spatial import cKDTree

from dynlab.numerics.arrays import Index, Real

MOST_CURVES = 64  # that one orbit visits in turn
FEWEST_STATES = 64  # on each
BESIDE = 0.02  # of the states may hang beside the path, as where an orbit has not quite come to its curve
DISORDER = 0.005  # of the states may have successors out of order, for the same reason
TURNS = 2  # the orbit goes around at least so often
NEIGHBOURS = 48  # of each state, itself among them, to which the tree may join it
LENGTHS = 0.01  # of the path's length: by less than that it grows where the number of states doubles, twice


def closed_curves(orbit: Real) -> tuple[int, float] | None:
    """Return how many closed curves an orbit visits in turn, and the longest distance between neighbours on them.

    The orbit is consecutive states (m, n); None where no such curves are seen. Where there are several, states of one
    are farther from all others than from their nearest ones on it.

    Examples
    --------
    >>> angle = np.sqrt(2) * np.arange(512)
    >>> closed_curves(np.stack([np.cos(angle), np.sin(angle)], axis=1))[0]
    1
    """
    number = np.arange(len(orbit))
    for count in range(1, min(MOST_CURVES, len(orbit) // FEWEST_STATES) + 1):
        piece, others = orbit[::count], orbit[number % count > 0]
        tree = cKDTree(piece)
        if tree.query(others)[0].min(initial=np.inf) <= tree.query(piece, k=2)[0].max():
            continue
        path = _path(piece)
        if path is not None and _turns(path, len(piece)) and _has_length(piece, path):
            return count, float(np.linalg.norm(np.diff(piece[path], axis=0), axis=1).max())
    return None


def _path(points: Real) -> Index | None:
    """Return the points along the longest path of their tree, or None where more than a few are beside it."""
    distance, near = cKDTree(points).query(points, k=NEIGHBOURS)
    length = np.maximum(distance, np.finfo(np.float64).tiny).ravel()  # 0, of equal states, would be no edge
    ends = np.repeat(np.arange(len(points)), NEIGHBOURS), near.ravel()
    tree = minimum_spanning_tree(csr_array((length, ends), shape=2 * (len(points),)))
    start = int(dijkstra(tree, directed=False, indices=0).argmax())
    distance, before = dijkstra(tree, directed=False, indices=start, return_predecessors=True)
    if np.isinf(distance).any():  # a gap that no near neighbours bridge
        return None
    path = [int(distance.argmax())]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return np.array(path) if len(path) >= (1 - BESIDE) * len(points) else None


def _turns(path: Index, states: int) -> bool:
    """Return whether the successors of states along the path follow in the same cyclic order and go around once."""
    place = np.full(states + 1, -1)
    place[path] = np.arange(len(path))
    after = place[path + 1]
    here, after = place[path][after >= 0], after[after >= 0]
    back = int((np.diff(after) < 0).sum())
    half, around = len(path) / 2, np.diff(after, append=after[:1])
    degree = round(float(((around + half) % len(path) - half).sum()) / len(path))  # 2 of a map that doubles the angle
    rounds = min(int((after < here).sum()), int((after > here).sum()))
    return degree == 1 and back <= 1 + DISORDER * len(after) and rounds >= TURNS


def _has_length(points: Real, path: Index) -> bool:
    """Return whether the closed path through the last quarter, half and all of the states is nearly equally long."""
    lengths = []
    for part in (4, 2, 1):
        some = points[path[path >= len(points) - len(points) // part]]
        lengths.append(float(np.linalg.norm(some - np.roll(some, 1, axis=0), axis=1).sum()))
    return bool(np.abs(np.diff(lengths)).max() <= LENGTHS * lengths[-1])
