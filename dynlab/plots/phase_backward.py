"""What leads to and from the equilibria of a phase portrait: eigenvectors, separatrices, orbits backward in time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab.plots import style
from dynlab.plots.phase_portrait import mover

LENGTH, BEGINS = 0.16, 0.3  # of an eigenvector to each side, times half the width of the window; of which it begins at
NEUTRAL = 1e-9  # an eigenvalue that near to the border between growing and decaying tells neither
BEFORE = (0, (1.2, 1.8))


def draw_backward(ds: xr.Dataset, ax: Axes) -> None:
    """Where the starts have come from, dotted, and the separatrices: curves that end at a saddle."""
    if "backward_orbit" in ds:
        line: dict[str, Any] = {"color": style.GREY, "linestyle": BEFORE, "linewidth": 1.1, "zorder": 2.2}
        ax.plot(*np.moveaxis(ds["backward_orbit"].values, -1, 0).swapaxes(1, 2), **line)
        ax.plot([], [], label=f"{mover(ds)}, backward in time", **line)
    curves = ds["separatrix"].values if "separatrix" in ds else np.empty((0, 2, 1, 2))
    for number, curve in enumerate(curves[np.isfinite(curves).all(axis=(-2, -1))]):
        label = None if number else "separatrix: ends at the saddle"
        ax.plot(*curve.T, color=style.BLACK, linewidth=1.8, zorder=2.6, label=label)


def draw_eigenvectors(ds: xr.Dataset, ax: Axes) -> None:
    """The directions of real eigenvalues: arrows away from the equilibrium where they grow, towards it else."""
    if "eigenvector" not in ds:
        return
    if "map_eigenvalue" in ds:
        rates = np.log(np.maximum(np.abs(ds["map_eigenvalue"].values), np.finfo(float).tiny))
    else:
        rates = ds["flow_eigenvalue"].values.real
    half = LENGTH * np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]) / 2
    vectors, seen = ds["eigenvector"].values, set[str]()
    known = np.isfinite(vectors).all(axis=-1) & (np.abs(rates) > NEUTRAL)
    for point, mode in np.argwhere(known):
        grows = rates[point, mode] > 0
        colour, label = (style.UNSTABLE, "direction that grows") if grows else (style.STABLE, "direction that decays")
        vector, at = vectors[point, mode], ds["equilibrium"].values[point]
        length = 1 / np.hypot(*(vector / half))
        for side in (length, -length):
            ends = at + BEGINS * side * vector, at + side * vector
            arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "mutation_scale": 11}
            arrow |= {"shrinkA": 0, "shrinkB": 0}
            ax.annotate("", ends[int(grows)], ends[1 - int(grows)], arrowprops=arrow, zorder=6.5)
        if label not in seen:
            ax.plot([], [], color=colour, linewidth=1.8, marker=">", markersize=5, label=label)
        seen.add(label)
