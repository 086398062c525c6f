"""A bifurcation diagram: branches, bifurcations, and the points that orbits visit behind them."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import number

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
# By kind, where it differs from a black marker of 6.5 points; flips crowd, and do not hide the branches between.
MARKERS: dict[str, dict[str, Any]] = {
    "fold": {"marker": "^"},
    "flip": {"marker": "s", "mfc": "none", "ms": 3.6},
    "pitchfork": {"marker": "*", "ms": 9.0},
    "transcritical": {"marker": "X"},
    "Hopf": {"marker": "o", "mfc": style.GROUND},
    "Neimark–Sacker": {"marker": "o", "mfc": style.GROUND},
    "border collision": {"marker": "v"},
    "degenerate": {"marker": "d"},
}
WORDS = {"flip": "flip (period doubling)"}
SETTLED: dict[str, Any] = {"marker": ".", "ms": 1.6, "mew": 0, "color": style.BLACK, "alpha": 0.15}
MOVING: dict[str, Any] = {"marker": "o", "ms": 2.4, "mew": 0.5, "mfc": "none", "mec": style.GREY}
MOST_NUMBERS = 3  # values of one kind that the legend lists


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style((8.4, 6.2)):
        figure, (top, bottom) = plt.subplots(2, 1, sharex=True, height_ratios=[3, 1.1])
        plot_bifurcation(ds, ax=top, **artist)
        _draw_leading(ds, bottom, **artist)
        top.set_xlabel("")
        layout.finish(ds, figure, "Bifurcations", {str(handle.get_label()): handle for handle in _legend(ds)})
    return figure.axes[0]


@layout.picture(
    needs=(
        "point_branch",
        "point_bifurcation",
        "branch_parameter",
        "branch_orbit",
        "eigenvalue",
        "stable",
        "bifurcation_kind",
        "bifurcation_parameter",
        "bifurcation_period",
    ),
    figure=_figure,
)
def plot_bifurcation(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw one coordinate of every branch over the parameter: solid where stable, dashed where not.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.bifurcation`.
    ax : Axes, optional
        Axes for the diagram alone. Without it a figure is made with the verdict below, and the size of the leading
        eigenvalue in a second panel.
    **artist
        For the lines of the branches.

    Returns
    -------
    Axes
        Axes of the diagram.
    """
    if "visited" in ds:
        _draw_visited(ds, ax)
    _draw_branches(ds, ax, ds["branch_orbit"].values, **artist)
    settings = schema.settings(ds)
    ax.set(
        xlim=(settings["lowest"], settings["highest"]),
        ylim=_in_view(ds),
        xlabel=style.label(ds["branch_parameter"]),
        ylabel=style.label(ds["bifurcation_observed"]),
        title="Branches" + " and what orbits visit" * ("visited" in ds),
    )
    if not len(ds["branch_orbit"]):
        style.say(ax, "no nondegenerate fixed point was found, and so no branch")


def _draw_visited(ds: xr.Dataset, ax: Axes) -> None:
    """Draw every point that an orbit visits, so faint that density shows; open where it has not settled."""
    visited = ds["visited"].transpose(schema.PARAMETER, schema.SAMPLE, schema.ITERATION).values
    at = np.broadcast_to(ds[schema.PARAMETER].values[:, None, None], visited.shape)
    moving = ds["settled"].transpose(schema.PARAMETER, schema.SAMPLE).values == 0
    for which, look, over in ((~moving, SETTLED, 1.5), (moving, MOVING, 2.0)):
        ax.plot(at[which].ravel(), visited[which].ravel(), ls="none", rasterized=True, zorder=over, **look)


def _stability_to_the_next(ds: xr.Dataset) -> NDArray[np.int64]:
    """Return the stability from each point to the next, of an end that is no bifurcation; −2 without a line."""
    branch, stable = ds["point_branch"].values, ds["stable"].values.astype(np.int64)
    bifurcates = ds["point_bifurcation"].values >= 0
    joined = (branch[1:] == branch[:-1]) & ~(bifurcates[1:] & bifurcates[:-1])
    return np.where(joined, np.where(bifurcates[:-1], stable[1:], stable[:-1]), -2)


def _draw_branches(ds: xr.Dataset, ax: Axes, values: NDArray[np.float64], **artist: Any) -> None:
    """Draw lines of the values (point, …) along every branch by its stability, and a marker where it bifurcates."""
    p, joins = ds["branch_parameter"].values, _stability_to_the_next(ds)
    for value, line in LINES.items():
        first = np.flatnonzero(joins == value)
        look = line | {"label": None, "zorder": 3, "solid_capstyle": "butt"} | artist
        for run in np.split(first, np.flatnonzero(np.diff(first) > 1) + 1):
            rows = np.append(run, run[-1:] + 1)
            ax.plot(p[rows], values[rows], **look)
    numbers = ds["point_bifurcation"].values
    for row in np.flatnonzero(numbers >= 0).tolist():
        kind = str(ds["bifurcation_kind"].values[numbers[row]])
        ax.plot(np.broadcast_to(p[row], values[row].shape), values[row], zorder=5, **_marker(kind))


def _draw_leading(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the largest modulus of the multipliers, or real part of the eigenvalues, and the border of stability."""
    is_map = ds["eigenvalue"].attrs["units"] == schema.ONE
    values, border = ds["eigenvalue"].values, 1.0 if is_map else 0.0
    ax.set_xlabel(style.label(ds["branch_parameter"]))
    if not len(values):
        style.say(ax, "no branch")
        return
    size = (np.abs(values) if is_map else values.real).max(axis=1)
    _draw_branches(ds, ax, size, **{"lw": 1.3} | artist)
    ax.axhline(border, color=style.BLACK, lw=0.9, ls=":", zorder=2)
    calm = size[ds["stable"].values != 0]
    low, high = min(border, float((calm if calm.size else size).min())), max(border, float(size.max()))
    if calm.size:
        high = min(high, TALLEST * max(border, float(np.abs(calm).max())))
    room = 0.08 * max(high - low, 1e-3)
    ax.set(
        ylim=(low - room, high + room),
        ylabel="largest multiplier |μ|" if is_map else "largest Re λ (1/s)",
        title="Stable below the dotted line",
    )


def _in_view(ds: xr.Dataset) -> tuple[float, float]:
    """Return the range of visited, stable and bifurcating states, and of unstable ones up to as far again beside them.

    What orbits reach at few values only is left out.
    """
    orbit = ds["branch_orbit"].values
    bifurcates = ds["point_bifurcation"].values >= 0
    seen = orbit[(ds["stable"].values == 1) | bifurcates]
    if "visited" in ds:
        visited = ds["visited"].transpose(schema.PARAMETER, ...).values.reshape(ds.sizes[schema.PARAMETER], -1)
        visited = visited[np.isfinite(visited).any(axis=1)]
        if len(visited):
            middle = float(np.nanmedian(visited))
            reach = MOST * float(np.quantile(np.nanmax(np.abs(visited - middle), axis=1), USUAL))
            seen = np.append(np.clip(np.append(seen, visited), middle - reach, middle + reach), orbit[bifurcates])
    seen = seen if np.isfinite(seen).any() else np.append(orbit, [-1.0, 1.0])
    low, high = (float(end(seen[np.isfinite(seen)])) for end in (np.min, np.max))
    beside = orbit[(orbit >= 2 * low - high) & (orbit <= 2 * high - low)]
    low, high = beside.min(initial=low), beside.max(initial=high)
    room = MARGIN * (high - low) or max(1.0, abs(high)) / 2
    return low - room, high + room


def _marker(kind: str) -> dict[str, Any]:
    return {"ls": "none", "ms": 6.5, "mec": style.BLACK, "mew": 1.0, "mfc": style.BLACK} | MARKERS[kind]


def _legend(ds: xr.Dataset) -> list[Line2D]:
    """Return the lines that are there, what orbits visit, then every kind of bifurcation with its values."""
    found = set(ds["stable"].values[ds["point_bifurcation"].values < 0].tolist())
    handles = [Line2D([], [], **LINES[stable]) for stable in LINES if stable in found]
    if "visited" in ds:
        settled = set(ds["settled"].values.ravel().tolist())
        for value, words, look in ((1, "settled orbits", SETTLED | {"alpha": 1}), (0, "orbits not settled", MOVING)):
            handles += [Line2D([], [], ls="none", label=words, **look)] * (value in settled)
    kinds, values = ds["bifurcation_kind"].values, ds["bifurcation_parameter"].values
    for kind in dict.fromkeys(kinds.tolist()):
        here = [number(float(value), 6) for value in np.unique(np.round(values[kinds == kind], 9))]
        listed = ", ".join(here[:MOST_NUMBERS]) + ", …" * (len(here) > MOST_NUMBERS)
        handles.append(Line2D([], [], label=f"{WORDS.get(kind, kind)} at {listed}", **_marker(kind)))
    return handles
