"""Two networks beside each other: the eigenvalues of the maps fitted to them, and how far apart their runs are."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.spectrum import window_of

SIZE = (9.2, 4.2)  # inches
LOOKS = (("o", style.BLUE), ("s", style.VERMILION))
ALIKE = 1e-9  # of their size: distances that differ by less are one
BINS = 12


def plot_compare(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The eigenvalues of both networks' maps, small those of their runs, and the distances of relabelled runs.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.compare`.
    ax : Axes, optional
        Where only the eigenvalues are drawn.
    **artist
        For the large markers.

    Returns
    -------
    Axes
        Of the eigenvalues.
    """
    schema.check(ds, needs=["eigenvalue", "run_eigenvalue", "relabelled_distance", "between_runs", "within_runs"])
    if ax is None:
        both = ds.assign_attrs(system=" and ".join(ds[schema.NETWORK].values), source="")
        return style.panels(both, [(plot_compare, artist), (_draw_distances, {})], SIZE, "Comparison")
    style.cross(ax)
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.BLACK, linewidth=1, zorder=1))
    for place, (marker, colour) in enumerate(LOOKS):
        runs, whole = ds["run_eigenvalue"].values[place].ravel(), ds["eigenvalue"].values[place]
        ax.scatter(runs.real, runs.imag, s=6, marker=marker, color=colour, alpha=0.35, linewidths=0, zorder=2)
        look: dict[str, Any] = {"s": 34, "marker": marker, "facecolors": "none", "edgecolors": colour, "zorder": 3}
        ax.scatter(whole.real, whole.imag, label=str(ds[schema.NETWORK].values[place]), **look | artist)
    middle, half = window_of(np.concatenate([ds[name].values.ravel() for name in ("eigenvalue", "run_eigenvalue")]))
    ax.set(xlim=(middle - half, middle + half), ylim=(-half, half), aspect="equal", xlabel="Re μ", ylabel="Im μ")
    ax.set_title("Eigenvalues μ of the fitted maps")
    ax.plot([], [], ls="none", marker=".", color=style.GREY, ms=4, label="small: of single runs")
    style.legend_below(ax, 2)
    return ax


def _draw_distances(ds: xr.Dataset, ax: Axes) -> None:
    """How many relabellings have which mean distance, and where the true labels stand."""
    distances = ds["relabelled_distance"].values
    alike = np.ptp(distances) <= ALIKE * np.abs(distances).max()  # as of a network and itself
    ax.hist(
        np.full_like(distances, distances.mean()) if alike else distances,
        1 if alike else BINS,
        color=style.FAINT,
        edgecolor=style.GREY,
        label="one of each, runs exchanged",
    )
    ax.axvline(float(ds["between_runs"]), color=style.BLACK, lw=2, label="one run of each network")
    for (_, colour), name, value in zip(LOOKS, ds[schema.NETWORK].values, ds["within_runs"].values, strict=True):
        ax.axvline(float(value), color=colour, lw=1.2, ls="--", label=f"two runs of {name}")
    ax.set(xlim=(0, None), xlabel="mean distance between two runs", ylabel="number of exchanges of runs")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(f"Exchanges of runs at least as far apart: p = {float(ds['p_value']):.2g}")
    style.legend_below(ax, 2)
