"""Basins of attraction beside loops over all starts, by NumPy and compiled by numba, that retire what has settled."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from table import Row, Way

from dynlab import basins, create
from dynlab.matrices import planar_matrix
from dynlab.systems import System
from dynlab.systems.planar import planar_system
from dynlab.words import counted

GRID, STEPS, EXTENT = 1000, 500, 3.0
GONE, SETTLED = 1e6, 1e-12  # a start that is farther away, or has moved less in one step, is not followed on
MATRIX = np.array([[-0.15, -2.0], [2.0, -0.15]])  # W_diff
EPSILON = 0.1

Real = NDArray[np.float64]


def _starts() -> Real:
    line = np.linspace(-EXTENT, EXTENT, GRID)
    return np.stack([part.ravel() for part in np.meshgrid(line, line)])


def _tanh(h: Real) -> Real:
    return h + EPSILON * np.tanh(MATRIX @ h)


def _henon(h: Real) -> Real:
    return np.stack([1 - 1.4 * h[0] ** 2 + h[1], 0.3 * h[0]])


def _by_numpy(step: Callable[[Real], Real]) -> Real:
    ends, left = _starts(), np.arange(GRID * GRID)
    for _ in range(STEPS):
        before = ends[:, left]
        after = step(before)
        ends[:, left] = after
        far, moved = np.abs(after).max(axis=0), np.abs(after - before).max(axis=0)
        left = left[(far < GONE) & (moved > SETTLED)]
    return ends


@cache
def _compiled(name: str) -> Callable[[Real, int], None]:
    """The same start after start, in both threads."""
    import numba

    ((a, b), (c, d)), epsilon = MATRIX.tolist(), EPSILON

    @numba.njit
    def tanh(x, y):
        return x + epsilon * np.tanh(a * x + b * y), y + epsilon * np.tanh(c * x + d * y)

    @numba.njit
    def henon(x, y):
        return 1 - 1.4 * x * x + y, 0.3 * x

    step = {"tanh": tanh, "henon": henon}[name]

    @numba.njit(parallel=True)
    def follow(ends, steps):
        for i in numba.prange(ends.shape[1]):
            x, y = ends[0, i], ends[1, i]
            for _ in range(steps):
                u, v = step(x, y)
                moved = max(abs(u - x), abs(v - y))
                x, y = u, v
                if moved <= SETTLED or not max(abs(x), abs(y)) < GONE:
                    break
            ends[0, i], ends[1, i] = x, y

    follow(_starts()[:, :10].copy(), 2)  # compiled before it is timed
    return follow


def _by_numba(name: str) -> Real:
    ends = _starts()
    _compiled(name)(ends, STEPS)
    return ends


def _found(ds) -> str:
    return counted(ds.sizes["attractor"], "attractor")


def rows(network: str | None) -> list[Row]:
    """The job is dynlab's whole answer: attractors found, told apart and judged, and the plane divided among them."""
    diff = planar_system(planar_matrix("diff"), step_size=EPSILON)
    jobs: list[tuple[str, System, str, Callable[[Real], Real]]] = [
        ("W_diff's Euler map", diff, "tanh", _tanh),
        ("the Hénon map", create("henon"), "henon", _henon),
    ]
    found = []
    for title, system, name, step in jobs:
        ways = [Way("a NumPy loop", lambda s=step: _by_numpy(s), reach=1 / 3)]
        try:
            _compiled(name)
        except ImportError:
            print(f"numba is not installed (pip install .[bench]): basins of {title} go without it.")
        else:
            ways.append(Way("numba", lambda n=name: _by_numba(n), reach=1.5))
        found.append(
            Row(
                f"basins of {title}: {GRID:,} × {GRID:,} starts, {STEPS} steps",
                lambda s=system: basins(s, grid=GRID, steps=STEPS, extent=EXTENT),
                tuple(ways),
                lambda ds, _: _found(ds),
            )
        )
    return found
