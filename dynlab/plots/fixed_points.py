"""The eigenvalues of every fixed point beside the unit circle."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.plots.unit_circle import draw_circle
from dynlab.words import of_map

SIZES = ((6.0, 6.2), (9.4, 5.4))  # inches, of one panel and of two
MARGIN = 1.08  # times the largest coordinate
LARGEST = 1e300  # an eigenvalue that an axis still reaches: limits near the largest number there is overflow
CROWD = 60  # eigenvalues, beyond which only the leading one of each point has a marker, and the others are dots


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    beside = [(_draw_leading, artist)] * (ds.sizes[schema.FIXED_POINT] > 1)
    drawn: list[layout.Panel] = [(plot_fixed_points, artist), *beside]
    return layout.panels(ds, drawn, SIZES[len(beside)], "Equilibria" if _of_flow(ds) else "Fixed points")


@layout.picture(needs=("eigenvalue", "kind", "stable", "status"), figure=_figure)
def plot_fixed_points(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw eigenvalues at each point: directions grow outside the unit circle, of a flow right of the imaginary axis.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.fixed_points`.
    ax : Axes, optional
        Axes to draw on; without it a figure is made that also shows the leading eigenvalue of each of several points.
    **artist
        For the markers.

    Returns
    -------
    Axes
        One set of markers for each kind, its legend saying how many fixed points are of it, how many proved. Filled
        markers are of verified points whose stability is decided; of many points all but the leading eigenvalues are
        grey dots.
    """
    flow = _of_flow(ds)
    if not flow:
        draw_circle(ax)
    style.cross(ax)
    crowded = ds["eigenvalue"].size > CROWD
    for key, members in _groups(ds).items():
        found = ds["eigenvalue"].values[members]
        if crowded:
            leads = np.isclose(found, found[:, :1]) | np.isclose(found, found[:, :1].conj())  # of a pair both
            ax.scatter(found[~leads].real, found[~leads].imag, s=3, color=style.GREY, alpha=0.4, linewidths=0)
            found = found[leads]
        look = _look(*key) | {"alpha": 0.85} | artist
        ax.scatter(found.real.ravel(), found.imag.ravel(), label=_entry(ds, *key, members), **look)
    sizes = np.abs(ds["eigenvalue"].values)
    least = 0.0 if flow and sizes.any() else 1.0
    reach = MARGIN * min(float(sizes.max(initial=least, where=np.isfinite(sizes))), LARGEST)
    if flow:
        ax.axvspan(-reach, 0, color=style.SHADED, lw=0, zorder=0)
    ax.locator_params(nbins=6)
    symbol, unit, place = ("λ", " (1/s)", "equilibrium") if flow else ("μ", "", "fixed point")
    ax.set(
        xlim=(-reach, reach),
        ylim=(-reach, reach),
        aspect="equal",
        xlabel=f"Re {symbol}{unit}",
        ylabel=f"Im {symbol}{unit}",
        title=f"Eigenvalues {symbol} at each {place}",
    )
    if ds.sizes[schema.FIXED_POINT]:
        style.legend_below(ax, 2, title="large: the leading one of each point" if crowded else None)
    else:
        style.say(ax, f"no {place} found")


def _draw_leading(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """The leading eigenvalue's size at each point, by the number of the point that other commands name."""
    flow, values = _of_flow(ds), ds["eigenvalue"].values
    largest = (values.real if flow else np.abs(values)).max(axis=1)
    ax.axvline(float(not flow), color=style.BLACK, lw=1, ls="--", zorder=1)
    for key, members in _groups(ds).items():
        ax.scatter(largest[members], members, **(_look(*key) | artist))
    style.whole(ax.yaxis)
    name = "largest Re λ (1/s)" if flow else "largest |μ|"
    ax.set(xlabel=name, ylabel="number of the point, from 0", title=f"{name[0].upper()}{name[1:]} at each point")


def _look(status: str, kind: str, stable: int) -> dict[str, Any]:
    """Filled where the point is verified and its stability is decided, else open."""
    marker, colour = style.kind_look(kind, stable)
    decided = status == "fixed point" and stable >= 0
    face, edge, width = (colour, style.GROUND, 0.5) if decided else ("none", colour, 1.2)
    return {
        "marker": marker,
        "s": 36,
        "facecolors": face,
        "edgecolors": edge,
        "linewidths": width,
        "zorder": 3 + (not decided),
    }


def _of_flow(ds: xr.Dataset) -> bool:
    return ds["eigenvalue"].attrs["units"] == schema.PER_SECOND


def _groups(ds: xr.Dataset) -> dict[tuple[str, str, int], NDArray[np.int64]]:
    """The fixed points of each status, kind and stability, the most frequent first."""
    groups = ds[["status", "kind", "stable"]].to_dataframe().groupby(["status", "kind", "stable"], sort=False).indices
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _entry(ds: xr.Dataset, status: str, kind: str, stable: int, members: NDArray[np.int64]) -> str:
    words = kind if _of_flow(ds) else of_map(kind)
    words = words if status == "fixed point" else f"{status}: {words}"
    if "certified" in ds:
        proved = int(((ds["certified"] == 1) & (ds["proved_stable"] >= 0)).values[members].sum())
        words += ", proved" if proved == len(members) else f", {proved} proved" if proved else ", not proved"
    return f"{len(members)} × {words}"
