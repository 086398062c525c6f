"""A bifurcation diagram: branches, bifurcations, and the points that orbits visit behind them."""

import textwrap
from itertools import pairwise
from typing import Any

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
MARGIN = 0.06  # of what is in view
# A branch that runs off to the bound would leave no room for the others: the view ends at so many times the reach of
# what is visited at nine of ten values of the parameter.
USUAL, MOST = 0.9, 3.0
TALLEST = 4.0  # times the largest leading size at a bifurcation or a stable point: beyond the lower panel is cut
# By `stable`: colour, line and width, so that grey print tells them apart.
LINES: dict[int, dict[str, Any]] = {
    1: {"color": style.BLUE, "ls": "-", "lw": 2.0, "label": "stable"},
    0: {"color": style.VERMILION, "ls": (0, (3.5, 1.8)), "lw": 0.9, "label": "unstable"},
    -1: {"color": style.BLACK, "ls": (0, (1, 1)), "lw": 1.3, "label": "stability undecided"},
}
MARKERS = {
    "fold": "^",
    "flip": "s",
    "pitchfork": "*",
    "transcritical": "X",
    "Hopf": "o",
    "Neimark–Sacker": "o",
    "border collision": "v",
    "degenerate": "d",
    "continuum": "D",
    "continuum of orbits": "D",
}
SIZES = {"pitchfork": 9.0, "flip": 3.6}  # of markers, in points; flips crowd, and do not hide the branches between
WORDS = {"flip": "flip (period doubling)"}
SETTLED: dict[str, Any] = {"ms": 1.6, "mew": 0, "color": style.BLACK, "alpha": 0.10}
MOVING: dict[str, Any] = {"ms": 2.6, "mew": 0.5, "mfc": "white", "mec": style.GREY}
MANY, SMALL = 0.02, 2.2  # of the orbits: more that have not settled are drawn in this size
LESSER = 0.6  # times the size of a marker: a bifurcation of what is unstable before and after
WIDEST = 60  # letters of a line of the legend
MOST_NUMBERS = 4  # values of one kind that the legend lists
COVERED = 0.004  # of the height in view: what is so near to a line of a stable branch lies under it
NO_LINE = -2  # beside the values of `stable`
HIDDEN = 1e-2  # of the size: lines so near to each other are one to the eye
SAME = 1e-9  # relative: such parameters are written once


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
    if "visited" in ds:
        _draw_visited(ds, ax)
    _draw_branches(ds, ax, ds["branch_orbit"].values, **artist)
    settings = schema.settings(ds)
    ax.set(xlim=(settings["lowest"], settings["highest"]), ylim=_in_view(ds))
    ax.set(xlabel=style.label(ds["branch_parameter"]), ylabel=f"state $h_{{{settings['observed'] + 1}}}$")
    ax.set_title("Branches" + (" and what orbits visit" if _shows_visited(ds) else ""))
    if not len(ds["branch_orbit"]):
        style.say(ax, "no isolated fixed point was found, and so no branch")
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style(SIZE) as size:
        figure, (top, bottom) = plt.subplots(2, 1, figsize=size, sharex=True, height_ratios=[3, 1.1])
        plot_bifurcation(ds, ax=top, **artist)
        _draw_leading(ds, bottom, **artist)
        top.set_xlabel("")
        style.finish(ds, figure, "Bifurcations", {str(handle.get_label()): handle for handle in _legend(ds)})
    return figure.axes[0]


def _draw_visited(ds: xr.Dataset, ax: Axes) -> None:
    """Every point that an orbit visits, so faint that density shows; open and large where it has not settled."""
    visited = ds["visited"].transpose(schema.PARAMETER, schema.SAMPLE, schema.ITERATION).values
    at = np.broadcast_to(ds[schema.PARAMETER].values[:, None, None], visited.shape)
    moving = _moving(ds)
    look: dict[str, Any] = {"ls": "none", "rasterized": True}
    hollow = MOVING | ({"ms": SMALL} if moving.mean() > MANY else {})
    if not _settles_on_branches(ds):
        ax.plot(at[~moving].ravel(), visited[~moving].ravel(), marker=".", **SETTLED, **look, zorder=1.5)
    ax.plot(at[moving].ravel(), visited[moving].ravel(), marker="o", **hollow, **look, zorder=2)


def _moving(ds: xr.Dataset) -> NDArray[np.bool_]:
    """Which orbits (value, sample) had not settled."""
    return np.asarray(ds["settled"].transpose(schema.PARAMETER, schema.SAMPLE).values == 0)


def _shows_visited(ds: xr.Dataset) -> bool:
    return "visited" in ds and (not _settles_on_branches(ds) or bool(_moving(ds).any()))


def _settles_on_branches(ds: xr.Dataset) -> bool:
    """Whether all that settled orbits visit lies under the lines of stable branches, where none of it is seen."""
    p, y, first = ds["branch_parameter"].values, ds["branch_orbit"].values, _segments(ds, 1)
    visited = ds["visited"].transpose(schema.PARAMETER, schema.SAMPLE, schema.ITERATION).values
    near, moving = COVERED * np.ptp(_in_view(ds)), _moving(ds)
    if not len(first) or moving.all():
        return False
    for at, values, still in zip(ds[schema.PARAMETER].values, visited, ~moving, strict=True):
        here = first[(np.minimum(p[first], p[first + 1]) <= at) & (at <= np.maximum(p[first], p[first + 1]))]
        step = p[here + 1] - p[here]
        part = np.divide(at - p[here], step, out=np.zeros_like(step), where=step != 0)[:, None]
        lines = (y[here] + part * (y[here + 1] - y[here])).ravel()
        lines = lines[np.isfinite(lines)]
        points = values[still]
        points = points[np.isfinite(points)]
        if len(points) and (not len(lines) or np.abs(points[:, None] - lines).min(axis=1).max() > near):
            return False
    return True


def _segments(ds: xr.Dataset, stability: int) -> NDArray[np.int64]:
    """The points from each of which a line of that stability leads to the next."""
    return np.flatnonzero(_stability_to_the_next(ds) == stability)


def _stability_to_the_next(ds: xr.Dataset) -> NDArray[np.int64]:
    """From each point to the next, that of an end that is no bifurcation; `NO_LINE` where none joins them."""
    branch, stable = ds["point_branch"].values, ds["stable"].values.astype(np.int64)
    bifurcates = ds["point_bifurcation"].values >= 0
    joined = (branch[1:] == branch[:-1]) & ~(bifurcates[1:] & bifurcates[:-1])
    return np.where(joined, np.where(bifurcates[:-1], stable[1:], stable[:-1]), NO_LINE)


def _draw_branches(ds: xr.Dataset, ax: Axes, values: NDArray[np.float64], **artist: Any) -> None:
    """Lines of the values (point, …) along every branch by its stability, and a marker where it bifurcates."""
    p, branch, stable = (ds[name].values for name in ("branch_parameter", "point_branch", "stable"))
    numbers = ds["point_bifurcation"].values
    for value, line in LINES.items():
        first = _segments(ds, value)
        look: dict[str, Any] = line | {"label": None, "zorder": 3, "solid_capstyle": "butt"} | artist
        for run in np.split(first, np.flatnonzero(np.diff(first) > 1) + 1):
            rows = np.append(run, run[-1:] + 1)
            turns = np.flatnonzero(np.diff(np.sign(np.diff(p[rows])))) + 1  # where it goes back in the parameter
            for first_row, last_row in pairwise([0, *turns, len(rows) - 1]):
                part = rows[first_row : last_row + 1]
                if not any(_covers(line, p[part], values[part]) for line in ax.lines):
                    ax.plot(p[part], values[part], **look)
    for row in np.flatnonzero(numbers >= 0).tolist():
        marker = _marker(str(ds["bifurcation_kind"].values[numbers[row]]))
        marker["ms"] *= LESSER if _is_lesser(branch, stable, row) else 1.0
        ax.plot(np.broadcast_to(p[row], values[row].shape), values[row], zorder=5, **marker)


def _is_lesser(branch: NDArray[np.int64], stable: NDArray[np.int8], row: int) -> bool:
    """Whether a branch is unstable on both sides of the bifurcation at this point."""
    beside = [side for side in (row - 1, row + 1) if 0 <= side < len(branch) and branch[side] == branch[row]]
    return not (stable[beside] != 0).any()


def _covers(line: Line2D, x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """Whether a line drawn before hides these points: the dashes of two such would fill each other's gaps."""
    across, up = (np.asarray(data, dtype=float) for data in line.get_data())
    if len(across) and across[0] > across[-1]:
        across, up = across[::-1], up[::-1]
    if y.ndim > 1 or len(across) < 2 or not len(x) or (np.diff(across) <= 0).any():
        return False
    within = across[0] - HIDDEN * np.ptp(x) <= x.min() and x.max() <= across[-1] + HIDDEN * np.ptp(x)
    return bool(within and (np.abs(np.interp(x, across, up) - y) <= HIDDEN * np.abs(y).max()).all())


def _draw_leading(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """The largest modulus of the multipliers, or real part of the eigenvalues, and the border of stability."""
    is_map = ds["eigenvalue"].attrs["units"] == schema.ONE
    values, border = ds["eigenvalue"].values, 1.0 if is_map else 0.0
    ax.set_xlabel(style.label(ds["branch_parameter"]))
    if not len(values):
        ax.set_yticks([])
        style.say(ax, "no branch")
        return
    size = (np.abs(values) if is_map else values.real).max(axis=1)
    _draw_branches(ds, ax, size, **{"lw": 1.3} | artist)
    ax.axhline(border, color=style.BLACK, lw=0.9, ls=":", zorder=2)
    calm = size[ds["stable"].values != 0]
    low = min(border, float((calm if calm.size else size).min()))
    reach = max(border, float(np.abs(calm).max())) if calm.size else 1.0
    high = max(border, min(float(size.max()), TALLEST * reach))
    room = 0.08 * max(high - low, 1e-3)
    ax.set(ylim=(low - room, high + room), ylabel="largest multiplier |μ|" if is_map else "largest Re λ (1/s)")
    ax.set_title("Stable below the dotted line")


def _in_view(ds: xr.Dataset) -> tuple[float, float]:
    """What is visited, stable or bifurcates is in view, and where there is none of that all branches are."""
    orbit = ds["branch_orbit"].values
    calm = (ds["stable"].values == 1) | (ds["point_bifurcation"].values >= 0)
    visited = ds["visited"].values.ravel() if "visited" in ds else np.empty(0)
    seen = np.append(orbit[calm], visited)
    if not np.isfinite(seen).any():
        seen = np.append(orbit, [-1.0, 1.0] if not np.isfinite(orbit).any() else [])
    seen = seen[np.isfinite(seen)]
    low, high = float(seen.min()), float(seen.max())
    if np.isfinite(visited).any():
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
    hollow = kind in ("Hopf", "Neimark–Sacker", "flip")
    return {
        "ls": "none",
        "marker": MARKERS[kind],
        "ms": SIZES.get(kind, 6.5),
        "mfc": "none" if kind == "flip" else "white" if hollow else style.BLACK,
        "mec": style.BLACK if hollow else "white",
        "mew": 1.0 if kind == "flip" else 1.4 if hollow else 0.7,
    }


def _legend(ds: xr.Dataset) -> list[Line2D]:
    """The lines that are there, then every kind of bifurcation with its values."""
    found = set(ds["stable"].values[ds["point_bifurcation"].values < 0].tolist())
    handles = [Line2D([], [], **LINES[stable]) for stable in (1, 0, -1) if stable in found]
    if "visited" in ds and np.isfinite(ds["visited"].values).any():
        if _settles_on_branches(ds):
            all_of = "every orbit that settled" if _moving(ds).any() else "every orbit that was followed"
            handles[0].set_label(f"{LINES[1]['label']}: {all_of} ends there")
        else:
            label = "what settled orbits visit, darker where more often"
            handles.append(Line2D([], [], ls="none", marker=".", color=style.BLACK, label=label))
        if _moving(ds).any():
            handles.append(Line2D([], [], ls="none", marker="o", label="orbits that have not settled", **MOVING))
    kinds, values = ds["bifurcation_kind"].values, ds["bifurcation_parameter"].values
    branch, stable, numbers = (ds[name].values for name in ("point_branch", "stable", "point_bifurcation"))
    lesser = [row for row in np.flatnonzero(numbers >= 0).tolist() if _is_lesser(branch, stable, row)]
    large = ~np.isin(np.arange(len(kinds)), numbers[lesser])
    for kind in dict.fromkeys(kinds.tolist()):
        of_kind = kinds == kind
        here = np.unique(np.round(values[of_kind & (large | ~(of_kind & large).any())], 9)) + 0.0  # −0 is 0
        listed = ", ".join(f"{value:.6g}".replace("-", "−") for value in here[:MOST_NUMBERS]) + (
            ", …" if len(here) > MOST_NUMBERS else ""
        )
        label = textwrap.fill(f"{WORDS.get(kind, kind)} at {listed}", WIDEST)
        handles.append(Line2D([], [], label=label, **_marker(kind)))
    if lesser:
        small = _marker(str(kinds[numbers[lesser[0]]]))
        label = "small: unstable on both sides of it"
        handles.append(Line2D([], [], label=label, **small | {"ms": small["ms"] * LESSER}))
    return handles
