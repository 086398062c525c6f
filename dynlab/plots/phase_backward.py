"""What leads to and from the equilibria of a phase portrait: eigenvectors, separatrices, orbits backward in time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.phase_portrait import mover

LENGTH = 0.16  # of an eigenvector to each side, times half the width of the window
NEUTRAL = 1e-9  # an eigenvalue that near to the border between growing and decaying tells neither
BEFORE = (0, (1.2, 1.8))


def draw_backward(ds: xr.Dataset, ax: Axes) -> None:
    """Where the starts have come from, dotted."""
    if "backward_orbit" not in ds:
        return
    line: dict[str, Any] = {"color": style.GREY, "linestyle": BEFORE, "linewidth": 1.1, "zorder": 2.2}
    for orbit in ds["backward_orbit"].values:
        ax.plot(*orbit.T, **line)
    if np.isfinite(ds["backward_orbit"].values[:, 1:]).any():
        ax.plot([], [], label=f"{mover(ds)} backward, before the start", **line)


def draw_separatrices(ds: xr.Dataset, ax: Axes) -> None:
    """The curves that end at a saddle, which part the plane."""
    curves = ds["separatrix"].values if "separatrix" in ds else np.empty((0, 2, 1, 2))
    known = curves[np.isfinite(curves).all(axis=(-2, -1))]
    for number, curve in enumerate(known):
        label = None if number else "separatrix: ends at the saddle"
        ax.plot(*curve.T, color=style.BLACK, linewidth=1.8, zorder=2.6, label=label)


def draw_eigenvectors(ds: xr.Dataset, ax: Axes) -> None:
    """The directions of real eigenvalues: arrows away from the equilibrium where they grow, towards it else."""
    if "eigenvector" not in ds:
        return
    half = LENGTH * float(np.ptp(ds[schema.X].values)) / 2
    seen: set[str] = set()
    for point, vectors, rates in zip(ds["equilibrium"].values, ds["eigenvector"].values, _rates(ds), strict=True):
        for vector, rate in zip(vectors, rates, strict=True):
            if not np.isfinite(vector).all() or abs(rate) <= NEUTRAL:
                continue
            colour, label = (
                (style.UNSTABLE, "eigenvector: grows") if rate > 0 else (style.STABLE, "eigenvector: decays")
            )
            for side in (half, -half):
                near, far = point + 0.3 * side * vector, point + side * vector
                ends = (near, far) if rate > 0 else (far, near)
                arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "mutation_scale": 11}
                ax.annotate("", ends[1], ends[0], arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0}, zorder=6.5)
            if label not in seen:
                ax.plot([], [], color=colour, linewidth=1.8, marker=">", markersize=5, label=label)
            seen.add(label)


def _rates(ds: xr.Dataset) -> Any:
    """Positive where a direction grows: ln |μ| of the map where there is one, else Re λ."""
    if "map_eigenvalue" not in ds:
        return ds["flow_eigenvalue"].values.real
    return np.log(np.maximum(np.abs(ds["map_eigenvalue"].values), np.finfo(float).tiny))
