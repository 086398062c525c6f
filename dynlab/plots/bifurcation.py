"""A bifurcation diagram: branches, bifurcations, and the points that orbits visit behind them."""

import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style

NEEDS = (
    "point_branch",
    "point_bifurcation",
    "branch_parameter",
    "branch_orbit",
    "eigenvalue",
    "stable",
    "bifurcation_kind",
    "bifurcation_parameter",
    "bifurcation_period",
)
SIZE = (8.4, 6.2)  # inches
TITLE_WIDTH = 125  # characters
MARGIN = 0.06  # of what is in view
# A branch that runs off to the bound would leave no room for the others: the view ends at so many times the reach of
# what is visited at nine of ten values of the parameter.
USUAL, MOST = 0.9, 3.0
TALLEST = 4.0  # times the largest leading size at a bifurcation or a stable point: beyond the lower panel is cut
# By `stable`: colour, line and width, so that grey print tells them apart.
LINES: dict[int, dict[str, Any]] = {
    1: {"color": style.BLUE, "ls": "-", "lw": 2.0, "label": "stable"},
    0: {"color": style.VERMILION, "ls": (0, (3.5, 1.8)), "lw": 1.3, "label": "unstable"},
    -1: {"color": style.BLACK, "ls": (0, (1, 1)), "lw": 1.3, "label": "undecided"},
}
MARKERS = {
    "fold": "^",
    "flip": "s",
    "pitchfork": "*",
    "transcritical": "X",
    "branch point": "P",
    "Hopf": "o",
    "Neimark–Sacker": "o",
    "border collision": "v",
    "degenerate": "d",
    "continuum": "D",
    "undecided: a branch point or a fold nearby": "h",
}
WORDS = {"flip": "flip (period doubling)"}
SETTLED: dict[str, Any] = {"ms": 1.6, "mew": 0, "color": style.BLACK, "alpha": 0.10}
MOVING: dict[str, Any] = {"ms": 2.2, "mew": 0.5, "mfc": "white", "mec": style.GREY, "alpha": 0.5}
LESSER = 0.6  # times the size of a marker: a bifurcation of what is unstable before and after
MOST_NUMBERS = 4  # values of one kind that the legend lists
SAME = 1e-9  # relative: such parameters are written once


class Piece(NamedTuple):
    """A part of a branch of one stability, from bifurcation to bifurcation."""

    stable: int
    rows: NDArray[np.int64]


def plot_bifurcation(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """One coordinate of every branch over the parameter: solid where stable, dashed where not.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.bifurcation`.
    ax : Axes, optional
        Where only the diagram is drawn. Without it a figure is made with the verdict above, and the size of the leading
        eigenvalue below.
    **artist
        For the lines of the branches.

    Returns
    -------
    Axes
        Of the diagram.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return _figure(ds, **artist)
    period = ds.attrs["system"]
    if "visited" in ds:
        _draw_visited(ds, ax)
    p, orbit = ds["branch_parameter"].values, ds["branch_orbit"].values
    for piece in _pieces(ds):
        look = {name: value for name, value in LINES[piece.stable].items() if name != "label"}
        ax.plot(p[piece.rows], orbit[piece.rows], zorder=3, solid_capstyle="butt", **(look | artist))
    _draw_bifurcations(ds, ax)
    settings = schema.settings(ds)
    ax.set_xlim(settings["lowest"], settings["highest"])
    ax.set_ylim(*_in_view(ds))
    ax.set_xlabel(style.label(ds["branch_parameter"]))
    ax.set_ylabel(f"state $h_{{{settings['observed'] + 1}}}$")
    ax.set_title(f"{period}: branches and what orbits visit" if "visited" in ds else f"{period}: branches")
    if not len(orbit):
        _say(ax, "no isolated fixed point was found, and so no branch")
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style():
        figure, (top, bottom) = plt.subplots(2, 1, figsize=SIZE, sharex=True, gridspec_kw={"height_ratios": [3, 1.1]})
        plot_bifurcation(ds, ax=top, **artist)
        _draw_leading(ds, bottom, **artist)
        top.set_xlabel("")
        handles = _legend(ds)
        if handles:
            figure.legend(handles=handles, loc="outside right center", title="Branches", alignment="left")
        text = ds.attrs.get("verdict", "")
        figure.suptitle("\n".join(textwrap.wrap(text, TITLE_WIDTH)), x=0.01, ha="left", fontsize=8)
    axes: Axes = top
    return axes


def _draw_visited(ds: xr.Dataset, ax: Axes) -> None:
    """Every point that an orbit visits, so faint that density shows; open and grey where it has not settled."""
    visited = ds["visited"].transpose(schema.PARAMETER, schema.SAMPLE, schema.ITERATION).values
    at = np.broadcast_to(ds[schema.PARAMETER].values[:, None, None], visited.shape)
    moving = _moving(ds)
    look: dict[str, Any] = {"ls": "none", "rasterized": True}
    ax.plot(at[~moving].ravel(), visited[~moving].ravel(), marker=".", **SETTLED, **look, zorder=1.5)
    ax.plot(at[moving].ravel(), visited[moving].ravel(), marker="o", **MOVING, **look, zorder=1)


def _moving(ds: xr.Dataset) -> NDArray[np.bool_]:
    """Which orbits (value, sample) had not settled."""
    return np.asarray(ds["settled"].transpose(schema.PARAMETER, schema.SAMPLE).values == 0)


def _draw_bifurcations(ds: xr.Dataset, ax: Axes) -> None:
    """A marker at every point of the orbit that bifurcates."""
    rows = np.flatnonzero(ds["point_bifurcation"].values >= 0)
    numbers = ds["point_bifurcation"].values[rows]
    kinds, p, orbit = ds["bifurcation_kind"].values, ds["branch_parameter"].values, ds["branch_orbit"].values
    for row, number in zip(rows, numbers, strict=True):
        values = orbit[row][np.isfinite(orbit[row])]
        look = _marker(str(kinds[number]))
        if not _beside_stable(ds, int(row)):
            look["ms"] *= LESSER
        ax.plot(np.full(len(values), p[row]), values, **look, zorder=5)


def _beside_stable(ds: xr.Dataset, row: int) -> bool:
    """Whether the branch is not unstable on both sides of the bifurcation at `row`."""
    branch, stable = ds["point_branch"].values, ds["stable"].values
    sides = [side for side in (row - 1, row + 1) if 0 <= side < len(branch) and branch[side] == branch[row]]
    return any(stable[side] != 0 for side in sides)


def _draw_leading(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """The largest modulus of the multipliers, or real part of the eigenvalues, and the border of stability."""
    is_map = ds["eigenvalue"].attrs["units"] == schema.ONE
    values = ds["eigenvalue"].values
    ax.set_xlabel(style.label(ds["branch_parameter"]))
    if not len(values):
        _say(ax, "no branch")
        return
    size = (np.abs(values) if is_map else values.real).max(axis=1)
    p, border = ds["branch_parameter"].values, 1.0 if is_map else 0.0
    for piece in _pieces(ds):
        look = {name: value for name, value in LINES[piece.stable].items() if name != "label"}
        ax.plot(p[piece.rows], size[piece.rows], zorder=3, **(look | {"lw": 1.3} | artist))
    ax.axhline(border, color=style.BLACK, lw=0.9, ls=":", zorder=2)
    rows = np.flatnonzero(ds["point_bifurcation"].values >= 0)
    kinds = ds["bifurcation_kind"].values[ds["point_bifurcation"].values[rows]]
    for row, kind in zip(rows, kinds, strict=True):
        ax.plot(p[row], size[row], **_marker(str(kind)), zorder=5)
    calm = ds["stable"].values != 0
    low = float(size[calm].min()) if calm.any() else float(size.min())
    reach = max(abs(float(border)), float(np.abs(size[calm]).max()) if calm.any() else 1.0)
    high = min(float(size.max()), TALLEST * reach)
    low, high = min(low, border), max(high, border)
    room = 0.08 * max(high - low, 1e-3)
    ax.set_ylim(low - room, high + room)
    ax.set_ylabel("largest |μ|" if is_map else "largest Re λ (1/s)")
    ax.set_title("stable below the dotted line", fontsize=8)


def _say(ax: Axes, words: str) -> None:
    """Words in place of what there is not."""
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=style.GREY)
    ax.set_yticks([])


def _pieces(ds: xr.Dataset) -> Iterator[Piece]:
    """Parts of every branch that are of one stability; a bifurcation belongs to the part before and the one after."""
    branch, stable = ds["point_branch"].values, ds["stable"].values.astype(int)
    at_bifurcation = ds["point_bifurcation"].values >= 0
    for number in np.unique(branch):
        rows = np.flatnonzero(branch == number)
        current: list[int] = []
        look: int | None = None
        for row in rows:
            if at_bifurcation[row]:
                if look is not None:
                    yield Piece(look, np.array([*current, row]))
                current, look = [int(row)], None
                continue
            if look is not None and stable[row] != look:
                yield Piece(look, np.array([*current, row]))
                current = [int(row)]
            else:
                current.append(int(row))
            look = int(stable[row])
        if look is not None:
            yield Piece(look, np.array(current))


def _in_view(ds: xr.Dataset) -> tuple[float, float]:
    """What is visited, stable or bifurcates is in view, and where there is none of that all branches are."""
    orbit = ds["branch_orbit"].values
    calm = (ds["stable"].values == 1) | (ds["point_bifurcation"].values >= 0)
    parts = [orbit[calm].ravel(), ds["visited"].values.ravel() if "visited" in ds else orbit[:0].ravel()]
    seen = np.concatenate(parts)
    seen = seen[np.isfinite(seen)]
    if not len(seen):
        seen = orbit[np.isfinite(orbit)]
    if not len(seen):
        return -1.0, 1.0
    low, high = float(seen.min()), float(seen.max())
    if "visited" in ds and np.isfinite(ds["visited"].values).any():
        low, high = _without_outliers(ds, low, high)
    room = MARGIN * (high - low) if high - low > SAME * max(1.0, abs(high)) else max(1.0, abs(high)) / 2
    return low - room, high + room


def _without_outliers(ds: xr.Dataset, low: float, high: float) -> tuple[float, float]:
    """The range, cut where little of the parameter reaches so far; every bifurcation stays in view."""
    visited = ds["visited"].transpose(schema.PARAMETER, ...).values.reshape(ds.sizes[schema.PARAMETER], -1)
    visited = visited[np.isfinite(visited).any(axis=1)]
    middle = float(np.nanmedian(visited))
    reach = MOST * float(np.quantile(np.nanmax(np.abs(visited - middle), axis=1), USUAL))
    at = ds["branch_orbit"].values[ds["point_bifurcation"].values >= 0]
    kept = np.append(at[np.isfinite(at)], [max(low, middle - reach), min(high, middle + reach)])
    return float(kept.min()), float(kept.max())


def _marker(kind: str) -> dict[str, Any]:
    hollow = kind in ("Hopf", "Neimark–Sacker")
    return {
        "ls": "none",
        "marker": MARKERS[kind],
        "ms": 9 if kind == "pitchfork" else 6.5,
        "mfc": "white" if hollow else style.BLACK,
        "mec": style.BLACK if hollow else "white",
        "mew": 1.4 if hollow else 0.7,
    }


def _legend(ds: xr.Dataset) -> list[Line2D]:
    """The lines that are there, then every kind of bifurcation with its values."""
    found = set(ds["stable"].values[ds["point_bifurcation"].values < 0].tolist())
    handles = [Line2D([], [], **LINES[stable]) for stable in (1, 0, -1) if stable in found]
    if "visited" in ds and np.isfinite(ds["visited"].values).any():
        handles.append(Line2D([], [], ls="none", marker=".", color=style.BLACK, label="what settled orbits visit"))
        if _moving(ds).any():
            look = MOVING | {"ms": 4, "alpha": 1.0}
            handles.append(Line2D([], [], ls="none", marker="o", label="orbits that have\nnot settled", **look))
    kinds, values = ds["bifurcation_kind"].values, ds["bifurcation_parameter"].values
    for kind in dict.fromkeys(kinds.tolist()):
        here = np.unique(np.round(values[kinds == kind], 9)) + 0.0  # −0 is 0
        listed = ", ".join(f"{value:.6g}".replace("-", "−") for value in here[:MOST_NUMBERS]) + (
            ", …" if len(here) > MOST_NUMBERS else ""
        )
        label = f"{WORDS.get(kind, kind)} at\n{textwrap.fill(listed, 24)}"
        handles.append(Line2D([], [], label=label, **_marker(kind)))
    return handles
