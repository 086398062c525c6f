"""Trajectories and fixed points on the principal components, with the directions in which orbits leave."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import counted, number, share, with_error

PANEL = (5.0, 4.6)  # inches
MOST_DRAWN = 24  # trajectories: more are a cloud
LONGEST = 1.6  # times the smallest width: a picture of one scale would be a strip
LENGTH = 0.17  # of a drawn direction to each side, times half the width of all that is drawn
MOST_BARS = 12
BOX, ZOOM = (4, 4, 3), 0.9  # of a spatial picture, so that its labels stay beside it
# By the number of growing directions, so that grey print tells them apart; the last for all beyond.
MARKERS = ("o", "^", "s", "D", "P")
STABLE, UNDECIDED, OTHER = "stable", "stability undecided", "slow, or degenerate"


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    spatial = ds.sizes[schema.AXIS] >= 3
    widths = [1, 1, 0.55] if spatial else [1, 0.55]
    with style.style((sum(widths) * PANEL[0], PANEL[1])):
        figure = plt.figure()
        grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
        ax, shares = figure.add_subplot(grid[0]), figure.add_subplot(grid[-1])
        _draw(ds, ax, **artist)
        ax.set_title("States and fixed points")
        if spatial:
            _draw(ds, figure.add_subplot(grid[1], projection="3d", title="In three components"), **artist)
        _draw_shares(ds, shares)
        layout.finish(ds, figure, "State space", style.entries(ax, shares))
    return ax


@layout.picture(
    needs=(
        "trajectory",
        "fixed_point_position",
        "unstable_direction",
        "unstable_manifold",
        "explained_variance",
        "stable",
        "status",
    ),
    figure=_figure,
)
def plot_geometry(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw trajectories and fixed points on the first two principal components, or three where `ax` is spatial.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.geometry`.
    ax : Axes, optional
        Axes for that alone. Without it a figure is made that has both, where there are three components, and the
        components' shares of the variance, with the verdict below.
    **artist
        For the fixed points' markers.

    Returns
    -------
    Axes
        The panel of the first two components.
    """
    _draw(ds, ax, **artist)


def _draw(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw all but the legend."""
    count = 3 if getattr(ax, "name", "") == "3d" else 2
    trajectories = _padded(ds["trajectory"].values, count)
    for sequence in trajectories[:MOST_DRAWN]:
        ax.plot(*sequence.T, color=style.GREY, lw=0.5, alpha=0.45, zorder=1)
    of = f"{MOST_DRAWN} of " * (len(trajectories) > MOST_DRAWN)
    ax.plot([], [], color=style.GREY, lw=0.8, label=of + counted(len(trajectories), "trajectory", "trajectories"))
    curves = _padded(ds["unstable_manifold"].values, count)
    for place, curve in enumerate(curves[np.isfinite(curves).all(axis=(-2, -1))]):
        ax.plot(*curve.T, color=style.BLUE, lw=1.1, zorder=3, label=None if place else "unstable manifold")
    states = np.concatenate([trajectories.reshape(-1, count), _padded(ds["fixed_point_position"].values, count)])
    widths = np.ptp(states[np.isfinite(states).all(axis=1)], axis=0)
    _draw_directions(ds, ax, count, LENGTH * (float(widths.max()) / 2 or 1.0))
    _draw_points(ds, ax, count, **artist)
    for index, name in enumerate("xyz"[:count]):
        shares = ds["explained_variance"].values[index : index + 1]
        ax.set(**{f"{name}label": f"PC {index + 1} ({share(float(shares[0]))})" if np.isfinite(shares).any() else ""})
    roundish = bool(widths.min() * LONGEST >= widths.max() > 0)
    if count == 3:  # which has its own way to have one scale
        solid: Any = ax
        solid.view_init(elev=18, azim=-62)
        solid.locator_params(nbins=3)
        limits = (solid.get_xlim(), solid.get_ylim(), solid.get_zlim())
        solid.set_box_aspect([high - low for low, high in limits] if roundish else BOX, zoom=ZOOM)
    elif roundish:
        ax.set_aspect("equal", adjustable="box")


def _draw_points(ds: xr.Dataset, ax: Axes, count: int, **artist: Any) -> None:
    """Draw one set of markers for each kind of point; the legend counts them."""
    positions = _padded(ds["fixed_point_position"].values, count)
    groups: dict[tuple[int, str], list[int]] = {}
    rows = zip(ds["status"].values, ds["stable"].values, ds["unstable_directions"].values, strict=True)
    for index, (status, stable, growing) in enumerate(rows):
        words = {1: STABLE, 0: "unstable", -1: UNDECIDED}[int(stable)] if status == "fixed point" else OTHER
        groups.setdefault((int(growing) if words == "unstable" else 0, words), []).append(index)
    for (growing, words), members in sorted(groups.items()):
        colour = {STABLE: style.STABLE, "unstable": style.UNSTABLE}.get(words, style.UNDECIDED)
        marker = "X" if words == UNDECIDED else MARKERS[min(growing, len(MARKERS) - 1)]
        look: dict[str, Any] = {
            "marker": marker,
            "s": 46,
            "facecolors": colour if words == STABLE else style.GROUND,
            "edgecolors": colour,
            "linewidths": 1.3,
            "zorder": 5,
            **({"depthshade": False} if count == 3 else {}),
        }
        said = f"{words}: {growing} direction{'s grow' if growing > 1 else ' grows'}" if growing else words
        ax.scatter(*positions[members].T, label=f"{len(members)} × {said}", **look | artist)


def _draw_directions(ds: xr.Dataset, ax: Axes, count: int, length: float) -> None:
    """Real growing directions as lines to both sides, complex pairs as ellipses."""
    positions, values = _padded(ds["fixed_point_position"].values, count), ds["eigenvalue"].values
    axes = _padded(ds["unstable_direction"].values, count)
    axes[np.isfinite(ds["unstable_manifold"].values).all(axis=(1, 2, 3))] = np.nan  # which is drawn itself
    angle = np.linspace(0, 2 * np.pi, 73)[:, None]
    for point, mode in np.argwhere(np.isfinite(axes).all(axis=-1) & (values.imag >= 0)):
        colour, line, words = style.SKY, "-", "growing direction"
        curve = np.array([[-1.0], [1.0]]) * axes[point, mode]
        if values[point, mode].imag:
            colour, line, words = style.PURPLE, "--", "growing pair: its plane"
            curve = np.cos(angle) * axes[point, mode] + np.sin(angle) * axes[point, mode + 1]
        ax.plot(
            *(positions[point] + length * curve).T,
            label=style.once(ax, words),
            color=colour,
            ls=line,
            lw=1.3,
            zorder=4,
        )


def _draw_shares(ds: xr.Dataset, ax: Axes) -> None:
    """The components' shares of the variance, with their errors."""
    shares = ds["explained_variance"].values[:MOST_BARS]
    errors = np.nan_to_num(ds["explained_variance_error"].values[: len(shares)])
    ratio, error = float(ds["participation_ratio"]), float(ds["participation_ratio_error"])
    index = np.arange(1, len(shares) + 1)
    ax.set(ylim=(0, 1.03), xlabel="principal component (PC)", title="Share of the variance")
    style.whole(ax.xaxis, nbins=5)
    if not np.isfinite(ratio):
        style.say(ax, "nothing varies")
        return
    ax.bar(
        index,
        np.nan_to_num(shares),
        yerr=errors,
        label="share of each component, with its error",
        color=style.SKY,
        ecolor=style.BLACK,
        capsize=2,
    )
    ax.plot(index, np.cumsum(shares), marker=".", color=style.BLACK, lw=1, label="shares added up")
    known = with_error(ratio, error) if np.isfinite(error) else number(ratio, 3)
    ax.axvline(ratio, color=style.VERMILION, ls="--", lw=1.1, label=f"participation ratio {known}")


def _padded(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The first `count` coordinates, zero where the state has fewer."""
    there = values[..., :count]
    return np.pad(there, [(0, 0)] * (there.ndim - 1) + [(0, count - there.shape[-1])])
