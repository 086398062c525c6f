"""Trajectories and fixed points on the principal components, with the directions in which orbits leave."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import capital, number, share, with_error

NEEDS = (
    "trajectory",
    "fixed_point_position",
    "unstable_direction",
    "unstable_manifold",
    "explained_variance",
    "stable",
    "status",
)
PANEL = (4.9, 5.8)  # inches
MOST_DRAWN = 24  # trajectories: more are a cloud
LONGEST = 1.6  # times the smallest width: a picture of one scale would be a strip
LENGTH = 0.17  # of a drawn direction to each side, times half the width of all that is drawn
FEW_BARS, MOST_BARS = 12, 24
TOLD = 0.95  # of the variance, which so many components hold as the verdict names
BOX, ZOOM = (4, 4, 3), 0.96  # of a spatial picture, so that its labels stay beside it
AWAY = 0.8  # of the height of text: from a spatial axis to its label, beyond the numbers
SPATIAL_TICKS = 2  # more of them overlap where an axis is seen from its end
# By the number of growing directions, so that grey print tells them apart; the last for all beyond.
MARKERS = ("o", "^", "s", "D", "P")
STABLE, SADDLE, UNDECIDED, OTHER = ORDER = ("stable", "saddle", "undecided", "other")


def plot_geometry(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Trajectories and fixed points on the first two principal components, or three where `ax` is spatial.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.geometry`.
    ax : Axes, optional
        Where only that is drawn. Without it a figure is made that has both, where there are three components, and the
        components' shares of the variance, with the verdict above.
    **artist
        For the fixed points' markers.

    Returns
    -------
    Axes
        Of the first two components.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return _figure(ds, **artist)
    _draw(ds, ax, **artist)
    style.legend_below(ax, 2)
    return ax


def _dimensions(ax: Axes) -> int:
    return 3 if getattr(ax, "name", "") == "3d" else 2


def _draw(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """All but the legend."""
    count = _dimensions(ax)
    if count == 3:
        solid: Any = ax
        solid.view_init(elev=18, azim=-62)
        for axis in (solid.xaxis, solid.yaxis, solid.zaxis):
            axis.set_major_locator(MaxNLocator(SPATIAL_TICKS))
    for sequence in _padded(ds["trajectory"].values[:MOST_DRAWN], count):
        ax.plot(*sequence.T, color=style.GREY, lw=0.5, alpha=0.45, zorder=1)
    ax.plot([], [], color=style.GREY, lw=0.8, label=_trajectories(ds))
    _draw_manifolds(ds, ax, count)
    _draw_directions(ds, ax, count)
    _draw_points(ds, ax, count, **artist)
    ax.set(**{f"{'xyz'[index]}label": _axis_label(ds, index) for index in range(count)})
    roundish = _roundish(ds, count)
    if count == 3:  # which has its own way to have one scale
        limits = (solid.get_xlim(), solid.get_ylim(), solid.get_zlim())
        for axis in (solid.xaxis, solid.yaxis, solid.zaxis):
            axis.labelpad = AWAY * rcParams["font.size"]
        solid.set_box_aspect([high - low for low, high in limits] if roundish else BOX, zoom=ZOOM)
    elif roundish:
        ax.set_aspect("equal", adjustable="box")
    if ds.sizes[schema.AXIS] < 2:
        ax.set_yticks([])


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    spatial = ds.sizes[schema.AXIS] >= 3
    widths = [1, 1.2, 0.12, 0.54] if spatial else [1, 0.65]  # with room for the name of the third component
    with style.style((sum(widths) * PANEL[0], PANEL[1])) as size:
        figure = plt.figure(figsize=size)
        grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
        ax = figure.add_subplot(grid[0])
        _draw(ds, ax, **artist)
        ax.set_title("States and fixed points")
        if spatial:
            solid = figure.add_subplot(grid[1], projection="3d")
            _draw(ds, solid, **artist)
            solid.set_title("The same in three components")
        shares = figure.add_subplot(grid[-1])
        _draw_shares(ds, shares)
        named: dict[str, Any] = {}
        for each in (ax, shares):
            handles, labels = each.get_legend_handles_labels()
            named |= dict(zip(labels, handles, strict=True))
        style.finish(ds, figure, "State space", named)
    return ax


def _draw_points(ds: xr.Dataset, ax: Axes, count: int, **artist: Any) -> None:
    """One set of markers for each kind of point, its entry in the legend saying how many there are."""
    positions = _padded(ds["fixed_point_position"].values, count)
    for (what, growing), members in sorted(_groups(ds).items(), key=lambda item: (ORDER.index(item[0][0]), item[0][1])):
        marker = MARKERS[min(growing, len(MARKERS) - 1)] if what != UNDECIDED else "X"
        colour = {STABLE: style.STABLE, SADDLE: style.UNSTABLE}.get(what, style.UNDECIDED)
        look: dict[str, Any] = {"marker": marker, "s": 46, "linewidths": 1.3, "edgecolors": colour, "zorder": 5}
        look["facecolors"] = "white" if what in (SADDLE, OTHER) else colour
        look |= {"depthshade": False} if count == 3 else {}
        ax.scatter(*positions[members].T, label=_entry(what, growing, len(members)), **look | artist)


def _groups(ds: xr.Dataset) -> dict[tuple[str, int], list[int]]:
    """The fixed points of each look: (what it is, how many directions grow)."""
    groups: dict[tuple[str, int], list[int]] = {}
    rows = zip(ds["status"].values, ds["stable"].values, ds["unstable_directions"].values, strict=True)
    for index, (status, stable, growing) in enumerate(rows):
        what = {1: STABLE, 0: SADDLE, -1: UNDECIDED}[int(stable)] if status == "fixed point" else OTHER
        groups.setdefault((what, int(growing) if what == SADDLE else 0), []).append(index)
    return groups


def _entry(what: str, growing: int, count: int) -> str:
    if what == SADDLE:
        return f"{count} × unstable: {growing} direction{'s grow' if growing > 1 else ' grows'}"
    words = {STABLE: "stable", UNDECIDED: "stability undecided", OTHER: "slow, or not isolated"}
    return f"{count} × {words[what]}"


def _draw_manifolds(ds: xr.Dataset, ax: Axes, count: int) -> None:
    """The curves along which orbits leave the saddles with one growing direction."""
    curves = _padded(ds["unstable_manifold"].values, count)
    known = curves[np.isfinite(curves).all(axis=(-2, -1))]
    for place, curve in enumerate(known):
        ax.plot(*curve.T, color=style.BLUE, lw=1.1, zorder=3, label=None if place else "unstable manifold")


def _draw_directions(ds: xr.Dataset, ax: Axes, count: int) -> None:
    """Real growing directions as lines to both sides, complex pairs as ellipses."""
    length = LENGTH * _reach(ds)
    positions = _padded(ds["fixed_point_position"].values, count)
    axes = _padded(ds["unstable_direction"].values, count)
    axes[np.isfinite(ds["unstable_manifold"].values).all(axis=(1, 2, 3))] = np.nan  # which is drawn itself
    values = ds["eigenvalue"].values
    angle = np.linspace(0, 2 * np.pi, 73)[:, None]
    seen: set[str] = set()
    for point, mode in np.argwhere(np.isfinite(axes).all(axis=-1) & (values.imag >= 0)):
        colour, line, words = style.SKY, "-", "growing direction"
        curve = np.array([[-1.0], [1.0]]) * axes[point, mode]
        if values[point, mode].imag:
            colour, line, words = style.PURPLE, "--", "growing pair: the plane it turns in"
            curve = np.cos(angle) * axes[point, mode] + np.sin(angle) * axes[point, mode + 1]
        look: dict[str, Any] = {"color": colour, "ls": line, "lw": 1.3, "zorder": 4}
        ax.plot(*(positions[point] + length * curve).T, label=None if words in seen else words, **look)
        seen.add(words)


def _draw_shares(ds: xr.Dataset, ax: Axes) -> None:
    """The components' shares of the variance, with their errors."""
    shares = ds["explained_variance"].values
    told = int((np.cumsum(shares) < TOLD).sum()) + 1  # components, of which the verdict tells
    shares = shares[: max(FEW_BARS, min(told, MOST_BARS))]
    errors = np.nan_to_num(ds["explained_variance_error"].values[: len(shares)])
    index = np.arange(1, len(shares) + 1)
    ax.bar(
        index,
        np.nan_to_num(shares),
        yerr=errors,
        color=style.SKY,
        ecolor=style.BLACK,
        capsize=2,
        label="share of each component, with its error",
    )
    ratio = float(ds["participation_ratio"])
    if not np.isfinite(ratio):
        style.say(ax, "nothing varies")
    else:
        ax.plot(index, np.cumsum(shares), marker=".", color=style.BLACK, lw=1, label="shares added up")
        error = float(ds["participation_ratio_error"])
        known = with_error(ratio, error) if np.isfinite(error) else number(ratio, 3)
        ax.axvline(ratio, color=style.VERMILION, ls="--", lw=1.1, label=f"participation ratio {known}")
    title = capital(style.label(ds["explained_variance"]))
    ax.set(ylim=(0, 1.03), xticks=index, xlabel="principal component (PC)", title=title)


def _trajectories(ds: xr.Dataset) -> str:
    count = ds.sizes[schema.SAMPLE]
    many = f"{count} trajector{'ies' if count > 1 else 'y'}"
    return f"{MOST_DRAWN} of {many}" if count > MOST_DRAWN else many


def _axis_label(ds: xr.Dataset, index: int) -> str:
    if index >= ds.sizes[schema.AXIS]:
        return ""
    part = float(ds["explained_variance"].values[index])
    return f"PC {index + 1}" + (f" ({share(part)})" if np.isfinite(part) else "")


def _padded(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The first `count` coordinates, zero where the state has fewer."""
    there = values[..., :count]
    padded = np.zeros((*there.shape[:-1], count))
    padded[..., : there.shape[-1]] = there
    return padded


def _roundish(ds: xr.Dataset, count: int) -> bool:
    """Whether what is drawn is about as wide in all directions, so that one scale serves all."""
    widths = np.ptp(_drawn(ds)[:, :count], axis=0) if ds.sizes[schema.AXIS] >= count else np.zeros(1)
    return bool(widths.min() * LONGEST >= widths.max() > 0)


def _reach(ds: xr.Dataset) -> float:
    """Half the largest width of what is drawn."""
    return float(np.ptp(_drawn(ds), axis=0).max() / 2) or 1.0


def _drawn(ds: xr.Dataset) -> NDArray[np.float64]:
    """The places of states and fixed points, shape (k, axis)."""
    drawn = [ds["trajectory"].values.reshape(-1, ds.sizes[schema.AXIS]), ds["fixed_point_position"].values]
    together = np.concatenate(drawn)
    known = together[np.isfinite(together).all(axis=1)]
    return known if len(known) else np.zeros((1, together.shape[1]))
