"""The eigenvalues of every fixed point beside the unit circle."""

import textwrap
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.unit_circle import CIRCLE, TITLES, close_up
from dynlab.wording import of_map

NEEDS = ("eigenvalue", "kind", "stable", "status")
SIZES = ((6.0, 6.2), (9.4, 5.8))  # inches, of one panel and of two
MARGIN = 1.08  # times the largest coordinate
LARGEST = 1e300  # an eigenvalue that an axis still reaches: limits near the largest number there is overflow
HEADING = "Eigenvalues of"
CROWDED = "Eigenvalues of these fixed points;\nthe leading one of each is large:"
CROWD = 60  # eigenvalues, beyond which only the leading one of each point has a large marker
WIDE = 6.0  # of the window: in a wider one the circle is too small to have its name beside it


def plot_fixed_points(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Draw eigenvalues at each point: directions grow outside the unit circle, of a flow right of the imaginary axis.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.fixed_points`.
    ax : Axes, optional
        Where to draw; without it a figure is made, with the legend and the verdict below.
    **artist
        For the markers.

    Returns
    -------
    Axes
        One set of markers for each kind, its legend saying how many fixed points are of it, how many proved.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return _figure(ds, **artist)
    _draw(ds, ax, **artist)
    if ds.sizes[schema.FIXED_POINT]:
        ax.legend(title=_heading(ds), alignment="left", loc="best")
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    """All eigenvalues, beside them those near |μ| = 1 from close up, or each point's largest; the legend below."""
    drawn: list[style.Panel] = [(_draw, artist | {"below": True})]
    if _of_flow(ds):
        return style.panels(ds, drawn, SIZES[0], "Equilibria")
    if (window := close_up(ds["eigenvalue"].values.ravel())) is not None:
        drawn = [(_draw, artist | {"title": TITLES[0]}), (_draw, artist | window | {"below": True})]
    elif ds.sizes[schema.FIXED_POINT] > 1:
        drawn = [(_draw, artist | {"below": True}), (_draw_largest, artist)]
    return style.panels(ds, drawn, SIZES[len(drawn) - 1], "Fixed points")


def _draw_largest(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """The modulus of each point's leading eigenvalue, by the number of the point that other commands name."""
    ax.axvline(1, color=style.BLACK, lw=1, ls="--", zorder=1)
    largest = np.abs(ds["eigenvalue"].values).max(axis=1)
    for (status, kind, stable), members in sorted(_groups(ds).items(), key=lambda group: -len(group[1])):
        marker, colour = style.kind_look(kind, stable)
        face, edge = (colour, "white") if status == "fixed point" else ("none", colour)
        look: dict[str, Any] = {"marker": marker, "s": 36, "facecolors": face, "edgecolors": edge, "linewidths": 0.6}
        ax.scatter(largest[members], members, **(look | artist))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(x=0.06)
    ax.set(
        ylim=(-0.6, len(largest) - 0.4),
        xlabel="largest |μ|",
        ylabel="number of the fixed point, from 0",
        title="Largest |μ| at each fixed point",
    )


def _draw(
    ds: xr.Dataset,
    ax: Axes,
    title: str = "Eigenvalues μ at each fixed point",
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    below: bool = False,
    **artist: Any,
) -> None:
    """The window is that of all eigenvalues where no limits are given; a legend only below."""
    flow = _of_flow(ds)
    if flow:
        ax.axvline(0, color=style.GREY, lw=0.9, zorder=1)
        title = "Eigenvalues λ at each equilibrium"
    else:
        ax.fill(CIRCLE.real, CIRCLE.imag, color=style.FAINT, alpha=0.35, lw=0, zorder=0)
        ax.plot(CIRCLE.real, CIRCLE.imag, color=style.GREY, lw=0.9, zorder=1)
    style.cross(ax)
    crowded = ds["eigenvalue"].size > CROWD
    for (status, kind, stable), members in sorted(_groups(ds).items(), key=lambda group: -len(group[1])):
        marker, colour = style.kind_look(kind, stable)
        found = ds["eigenvalue"].values[members]
        if crowded:
            leads = np.isclose(found, found[:, :1]) | np.isclose(found, found[:, :1].conj())  # of a pair both
            rest, found = found[~leads], found[leads]
            small: dict[str, Any] = {"s": 7, "alpha": 0.6, "color": colour, "marker": marker, "linewidths": 0}
            ax.scatter(rest.real, rest.imag, zorder=2, **small)
        found = found.ravel()
        face, edge = (colour, "white") if status == "fixed point" else ("none", colour)
        look: dict[str, Any] = {"marker": marker, "alpha": 0.85, "zorder": 3, "facecolors": face, "edgecolors": edge}
        look |= {"s": 30, "linewidths": 0.4} if crowded else {"s": 44, "linewidths": 0.9}
        ax.scatter(found.real, found.imag, label=_entry(ds, status, kind, members), **(look | artist))
    sizes = np.abs(ds["eigenvalue"].values)
    least = 0.0 if flow and sizes.any() else 1.0
    reach = MARGIN * min(float(sizes.max(initial=least, where=np.isfinite(sizes))), LARGEST)
    whole = (-reach, reach)
    ax.locator_params(nbins=6)
    labels = ("Re λ (1/s)", "Im λ (1/s)") if flow else ("Re μ", "Im μ")
    ax.set(xlim=xlim or whole, ylim=ylim or whole, aspect="equal", xlabel=labels[0], ylabel=labels[1], title=title)
    if xlim is None and reach < WIDE and not flow:
        where, away = (-np.sqrt(0.5), np.sqrt(0.5)), (-3, 3)
        ax.annotate("|μ| = 1", where, away, textcoords="offset points", ha="right", color=style.GREY)
    if below and ds.sizes[schema.FIXED_POINT]:
        style.legend_below(ax, 2, title=_heading(ds), alignment="left")
    if ds.sizes[schema.FIXED_POINT] == 0:
        ax.text(0, 0.1, "no fixed point found", ha="center", va="bottom", color=style.GREY)


def _of_flow(ds: xr.Dataset) -> bool:
    return ds["eigenvalue"].attrs["units"] == schema.PER_SECOND


def _heading(ds: xr.Dataset) -> str:
    return CROWDED if ds["eigenvalue"].size > CROWD else HEADING


def _groups(ds: xr.Dataset) -> dict[tuple[str, str, int], list[int]]:
    """The fixed points of each status, kind and stability, in the Dataset's order."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    named = zip(ds["status"].values.tolist(), ds["kind"].values.tolist(), ds["stable"].values.tolist(), strict=True)
    for index, key in enumerate(named):
        groups.setdefault(key, []).append(index)
    return groups


def _entry(ds: xr.Dataset, status: str, kind: str, members: list[int]) -> str:
    words = kind if _of_flow(ds) else of_map(kind)
    what = words if status == "fixed point" else f"{status}: {words}"
    if "certified" in ds:
        proved = int(((ds["certified"] == 1) & (ds["proved_stable"] >= 0)).values[members].sum())
        what += ", proved" if proved == len(members) else f", {proved} proved" if proved else ", not proved"
    return f"{len(members)} × " + textwrap.fill(what, 30)
