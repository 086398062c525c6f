"""Two networks beside each other: the eigenvalues of the maps fitted to them, and how far apart their runs are."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style, unit_circle
from dynlab.words import number

LOOKS = (("o", style.BLUE), ("s", style.VERMILION))
ALIKE = 1e-6  # of their size: distances that differ by less are one
SMALLEST = 1e-3  # of a step: distances below are equal, as in the test
BINS = 12


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    both = ds.assign_attrs(system=" and ".join(ds[schema.NETWORK].values), source="")
    return layout.panels(both, [(plot_compare, artist), (_draw_distances, {})], (9.2, 5.0), "Comparison")


@layout.picture(
    needs=("eigenvalue", "run_eigenvalue", "relabelled_distance", "between_runs", "within_runs"),
    figure=_figure,
)
def plot_compare(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the eigenvalues of both networks' maps, small those of their runs, and the distances of relabelled runs.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.compare`.
    ax : Axes, optional
        Axes for the eigenvalues alone.
    **artist
        For the large markers.

    Returns
    -------
    Axes
        The panel of the eigenvalues.
    """
    style.cross(ax)
    for place, (marker, colour) in enumerate(LOOKS):
        runs, whole = ds["run_eigenvalue"].values[place].ravel(), ds["eigenvalue"].values[place]
        ax.scatter(runs.real, runs.imag, s=6, marker=marker, color=colour, alpha=0.35, linewidths=0, zorder=2)
        ax.scatter(
            whole.real,
            whole.imag,
            label=str(ds[schema.NETWORK].values[place]),
            **{"s": 34 + 40 * place, "marker": marker, "facecolors": "none", "edgecolors": colour, **artist},
        )
    shown = np.concatenate([ds[name].values.ravel() for name in ("eigenvalue", "run_eigenvalue")])
    unit_circle.draw_circle(ax, label="unit circle: |μ| = 1")
    unit_circle.show(ax, shown, "μ")
    ax.set_title("Eigenvalues μ of fitted maps")
    ax.plot([], [], ls="none", marker=".", color=style.GREY, ms=4, label="small: of single runs")


def _draw_distances(ds: xr.Dataset, ax: Axes) -> None:
    """Draw the mean distances of all relabellings, hatched beyond that of the true labels."""
    distances, own, p = np.sort(ds["relabelled_distance"].values), float(ds["between_runs"]), float(ds["p_value"])
    if np.ptp([*distances, own]) <= ALIKE * distances[-1] or distances[-1] < SMALLEST:  # a histogram of rounding
        style.say(
            ax, f"All {len(distances)} exchanges of runs leave\nthe mean distance {number(own, 3)}:\nthe two run alike"
        )
        ax.set_axis_off()
        return
    as_far = round(p * len(distances))
    edges = np.linspace(min(distances[0], own), max(distances[-1], own) * (1 + 1e-9), BINS + 1).tolist()
    nearer, far = np.split(distances, [len(distances) - as_far])
    words = f"at least as far: {as_far} of {len(distances)}"
    ax.hist(nearer, edges, lw=0.8, color=style.FAINT, ec=style.GREY, label="runs exchanged")
    ax.hist(far, edges, lw=0.8, color="none", ec=style.BLACK, hatch="////", label=words)
    ax.axvline(own, color=style.BLACK, lw=1.6, label=f"runs not exchanged: {number(own, 3)}")
    for network, (_, colour), dashes in zip(ds[schema.NETWORK].values, LOOKS, ("--", ":"), strict=True):
        within = float(ds["within_runs"].sel({schema.NETWORK: network}))
        ax.axvline(within, color=colour, lw=1.6, ls=dashes, label=f"two runs of {network}: {number(within, 3)}")
    ax.set(
        xlabel="mean distance of two runs",
        ylabel="ways to exchange runs",
        title=f"Distance of the networks (p = {number(p, 2)})",
    )
    style.whole(ax.yaxis)
