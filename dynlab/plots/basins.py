"""Basins as areas of one colour each, numbered, with the attractors that they lead to."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import of_map, share

MOST_NAMED = 10  # attractors in the legend
LIGHT = (0.45, 0.75, 0.22)  # opacity of a basin's colour; one that comes again has another shade
FEW = 3  # names in one column
MARKERS = "osD^vP*X<>"
ARROWS, LARGE = "→↗↑↖←↙↓↘", 18  # of the ways in which orbits run away, and how large they are in the picture: points
LEAVES, UNDECIDED = f"{style.GREY}33", f"{style.GREY}88"
OFF = 1e-6  # of the window: what is farther from its plane is off it
ROOM = 0.02  # of the window: a basin that holds no disc of that radius has no number written in it
BESIDE = 0.06  # of the window: so far a number stays from its attractor


@layout.picture(
    "Basins",
    (5.8, 5.6),
    needs=("basin", "kind", "share", "attractor_x", "attractor_y", "attractor_state", "origin", "direction"),
)
def plot_basins(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw each start in the colour of its attractor; fixed points and cycles as markers, others as dots.

    Numbers in the basins are those of the attractors, by the share of the starts that end on each.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.basins`.
    ax : Axes, optional
    **artist
        For the attractors' markers.

    Returns
    -------
    Axes
    """
    count, basin = ds.sizes[schema.ATTRACTOR], ds["basin"].values
    ways = [code for code in range(int(basin.min()), -2) if (basin == code).any()][::-1]  # in which orbits run away
    colours: list[Any] = [UNDECIDED, LEAVES, *map(_shade, range(count + len(ways)))]
    x, y = ds[schema.X].values, ds[schema.Y].values
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    places = np.where(basin < -2, count - 3 - basin, basin) + 2
    ax.imshow(
        places,
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=len(colours) - 0.5,
        origin="lower",
        interpolation="nearest",
        rasterized=True,
        extent=extent,
    )
    handles = [_draw_attractor(ds, place, ax, **artist) for place in range(count)][:MOST_NAMED]
    for place in range(min(count, MOST_NAMED) if count > 1 else 0):
        _write(ds, place, f"{place}", ax)
    for place, code in enumerate(ways):
        arrow = _arrow(ds, code)
        handles.append(style.patch(_shade(count + place), f"drifts {arrow} ({share((basin == code).mean())})"))
        _write(ds, code, arrow, ax, fontsize=LARGE)
    for colour, words, here in (
        ("none", f"{count - MOST_NAMED} more", basin >= MOST_NAMED),
        (LEAVES, "leaves every bound, or overflows", basin == -1),
        (UNDECIDED, "where it ends is undecided", basin == -2),
    ):
        if here.any():
            handles.append(style.patch(colour, f"{words} ({share(here.mean())})"))
    ax.set(
        xlim=extent[:2],
        ylim=extent[2:],
        aspect="equal" if np.isclose(extent[1] - extent[0], extent[3] - extent[2]) else "auto",
        xlabel=style.label(ds[schema.X]),
        ylabel=style.label(ds[schema.Y]),
        title="Where starts end (share of the starts)",
    )
    style.legend_below(ax, 2 if len(handles) > FEW else 1, handles=handles, handlelength=3.2)


def _draw_attractor(ds: xr.Dataset, place: int, ax: Axes, **artist: Any) -> Any:
    """Draw it, and return its entry in the legend: the colour of the starts that end there, and its marker."""
    one = ds.isel({schema.ATTRACTOR: place})
    kind = str(one["kind"].values)
    label = f"{of_map(kind)} ({share((ds['basin'].values == place).mean())})"
    area = style.patch(_shade(place), f"{place}  {label}" if ds.sizes[schema.ATTRACTOR] > 1 else label)
    if kind.startswith("continuum"):  # no one of its points stands for it
        return area
    colour = style.CYCLE[place % len(style.CYCLE)]
    look: dict[str, Any] = {"marker": ".", "ms": 3, "mew": 0, "color": colour}
    away = one["attractor_state"].values - ds["origin"].values
    ways = ds["direction"].values
    off = np.linalg.norm(away - away @ ways.T @ ways) > OFF * np.abs(ds[schema.X].values).max()
    rests = np.ptp(one["attractor_x"].dropna(schema.ITERATION).values) == 0.0
    if one["period"] or rests:
        face = "none" if off else colour if one["stable"] == 1 else style.GROUND
        look = {"marker": MARKERS[place % len(MARKERS)], "ms": 7, "mfc": face, "mec": colour if off else style.BLACK}
    if off:
        area.set_label(f"{area.get_label()}, projected")
    return area, ax.plot(one["attractor_x"], one["attractor_y"], ls="none", zorder=3, **look | artist)[0]


def _arrow(ds: xr.Dataset, code: int) -> str:
    """The arrow nearest to how orbits run away in the plane, that of most of them; "" where they leave it squarely."""
    across, up = ds["outward_step"].values[:, ds["basin"].values == code].mean(axis=1)
    if max(abs(across), abs(up)) <= OFF * np.abs(ds["outward_step"]).max():
        return ""
    return ARROWS[round(float(np.arctan2(up, across)) / (2 * np.pi / len(ARROWS))) % len(ARROWS)]


def _write(ds: xr.Dataset, code: int, words: str, ax: Axes, **artist: Any) -> None:
    """The words, as an attractor's number, where the starts of that code have most room."""
    inside: NDArray[np.bool_] = ds["basin"].values == code
    x, y = ds[schema.X].values, ds[schema.Y].values
    room = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1] / len(x)
    for at_x, at_y in zip(ds["attractor_x"].values.ravel(), ds["attractor_y"].values.ravel(), strict=True):
        room[np.hypot(x[None, :] - at_x, y[:, None] - at_y) < BESIDE * (x[-1] - x[0])] = 0.0
    row, column = np.unravel_index(np.argmax(room), room.shape)
    if room[row, column] >= ROOM:
        ax.text(x[column], y[row], words, ha="center", va="center", fontweight="bold", **artist)


def _shade(place: int) -> tuple[float, float, float, float]:
    again, colour = divmod(place, len(style.CYCLE))
    return *to_rgb(style.CYCLE[colour]), LIGHT[again % len(LIGHT)]
