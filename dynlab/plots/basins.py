"""Basins as areas of one colour each, numbered, with the attractors that they lead to."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import joined, number, of_map, share, subscript

NEEDS = (
    "basin",
    "kind",
    "attractor_class",
    "share",
    "attractor_x",
    "attractor_y",
    "attractor_state",
    "origin",
    "direction",
)
MOST_NAMED = 10  # attractors in the legend
SIZE = (5.6, 5.9)  # inches
LIGHT = (0.45, 0.75, 0.22)  # of a basin's colour; the rest is white. A colour that comes again is another shade
FEW = 3  # names in one column
MARKERS = "osD^vP*X<>"
ARROWS, LARGE = "→↗↑↖←↙↓↘", 18  # of the ways in which orbits run away, and how large they are in the picture: points
LEAVES, UNDECIDED = "#EFEFEF", "#BDBDBD"  # neither is the paper's white
OFF = 1e-6  # of the window: what is farther from its plane is off it
SPATIAL = 3  # states, of which an axis says what it is made of
ROOM = 0.02  # of the window: a basin that holds no disc of that radius has no number written in it
BESIDE = 0.06  # of the window: so far a number stays from its attractor
HIDDEN = 9  # starts, which lie behind the marker of where they end
MOST_BORDERS = 12.0  # times the grid: so many edges between basins have lines, and no fractal ones


def plot_basins(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Each start in the colour of the attractor on which it ends; fixed points and cycles as markers, others as dots.

    Numbers in the basins are those of the attractors, by the share of the starts that end on each.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.basins`.
    ax : Axes, optional
    **artist
        For the attractors' markers.

    Returns
    -------
    Axes
    """
    schema.check(ds, needs=NEEDS)
    settings = schema.settings(ds)
    if ax is None:
        step = None if "euler_step" in settings else settings.get("step_size")
        whose = "" if step is None else f" of Euler's map, ε = {number(float(step), 3)}"
        return style.panels(ds, [(plot_basins, artist)], SIZE, f"Basins{whose}")
    count, basin = ds.sizes[schema.ATTRACTOR], ds["basin"].values
    shades = [_shade(place) for place in range(count)]
    ways = [code for code in range(int(basin.min()), -2) if (basin == code).any()][::-1]  # in which orbits run away
    table = ListedColormap([to_rgb(UNDECIDED), to_rgb(LEAVES), *map(_shade, range(count + len(ways)))])
    shown = np.where(basin < -2, count - 3 - basin, basin)
    x, y = ds[schema.X].values, ds[schema.Y].values
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    options: dict[str, Any] = {"origin": "lower", "interpolation": "nearest", "rasterized": True}
    ax.imshow(shown + 2, cmap=table, vmin=-0.5, vmax=count + len(ways) + 1.5, extent=extent, **options)
    _draw_borders(basin, x, y, half, ax)
    off = _off_the_plane(ds)
    handles = [_attractor(ds, place, shades[place], off[place], ax, **artist) for place in range(count)][:MOST_NAMED]
    for place in range(min(count, MOST_NAMED) if _numbered(ds) else 0):
        _write(ds, place, f"{place}", ax)
    for place, code in enumerate(ways):
        arrow = _arrow(ds, code)
        handles.append(_patch(_shade(count + place), f"drifts {arrow} ({share((basin == code).mean())})"))
        _write(ds, code, arrow, ax, fontsize=LARGE)
    for colour, words, here in (
        ("none", f"{count - MOST_NAMED} more", basin >= MOST_NAMED),
        (LEAVES, "leaves every bound, or overflows", basin == -1),
        (UNDECIDED, "where it ends is undecided", basin == -2),
    ):
        if here.any():
            handles.append(_patch(colour, f"{words} ({share(here.mean())})"))
    ax.set(xlim=extent[:2], ylim=extent[2:], aspect="equal" if np.isclose(*half) else "auto")
    astray = _astray(ds, off)
    for place in astray:
        at = float(ds["attractor_x"][place, 0]), float(ds["attractor_y"][place, 0])
        ax.annotate(f"{place}", at, (6, 4), textcoords="offset points", zorder=4)
    if (off & (ds["period"].values > 0)).any():
        hollow: dict[str, Any] = {"marker": "o", "mfc": "none", "mec": style.GREY, "mew": 1.6, "ms": 7}
        over = [f"that of {place} lies over the basin of {below}, not in it" for place, below in astray.items()]
        words = ";\n".join(["hollow: off the plane, projected onto it", *([joined(over)] if over else [])])
        handles.append(ax.plot([], [], ls="none", label=words, **hollow)[0])
    ax.set(xlabel=_axis(ds, 0), ylabel=_axis(ds, 1))
    if ds.sizes[schema.STATE] > 2 and settings.get("plane_share") is not None:
        ax.set_title(f"Starts on the plane of {share(float(settings['plane_share']))} of the states' variance")
    else:
        ax.set_title(f"Where starts end, one in each cell of {number(2 * half[0], 2)} × {number(2 * half[1], 2)}")
    if not count and not ways:
        style.say(ax, _why_no_basin(basin, int(settings["steps"]))).set_color(style.BLACK)
    legend: dict[str, Any] = {"title": "A start ends on (part of the starts)" if count else "Part of the starts"}
    legend["labels"] = [(handle[0] if isinstance(handle, tuple) else handle).get_label() for handle in handles]
    legend |= {"columnspacing": 1.4, "labelspacing": 0.9, "handlelength": 3.2, "handleheight": 1.7}
    style.legend_below(ax, 2 if len(handles) > FEW else 1, handles=handles, **legend)
    return ax


def _why_no_basin(basin: NDArray[np.int64], steps: int) -> str:
    """What all starts do where nothing was found on which one ends."""
    if (basin == -1).all():
        return "every orbit leaves:\nthere is no basin here"
    settled = "no other orbit has settled" if (basin == -1).any() else "no orbit has settled"
    return f"{settled} after {steps:,} steps:\nno basin is known here"


def _patch(colour: Any, label: str) -> Patch:
    """An area of the legend."""
    return Patch(facecolor=colour, edgecolor="none" if colour == "none" else style.GREY, lw=0.6, label=label)


def _off_the_plane(ds: xr.Dataset) -> NDArray[np.bool_]:
    """Of each attractor, whether the state that stands for it lies off the plane of the starts."""
    away = ds["attractor_state"].values - ds["origin"].values
    ways = ds["direction"].values
    distance = np.linalg.norm(away - away @ ways.T @ ways, axis=1)
    return np.asarray(distance > OFF * np.abs(ds[schema.X].values).max())


def _astray(ds: xr.Dataset, off: NDArray[np.bool_]) -> dict[int, int]:
    """The attractors off the plane whose projections fall into the basin of another, and of which."""
    x, y, basin = ds[schema.X].values, ds[schema.Y].values, ds["basin"].values
    found = {}
    for place in np.flatnonzero(off & (ds["period"].values > 0)).tolist():
        at_x, at_y = (float(ds[name][place, 0]) for name in ("attractor_x", "attractor_y"))
        inside = x[0] <= at_x <= x[-1] and y[0] <= at_y <= y[-1]
        below = int(basin[np.abs(y - at_y).argmin(), np.abs(x - at_x).argmin()]) if inside else place
        if below not in (place, -1, -2):
            found[place] = below
    return found


def _numbered(ds: xr.Dataset) -> bool:
    """Whether several attractors have starts that are seen, so that they have numbers."""
    starts = np.bincount(ds["basin"].values[ds["basin"].values >= 0], minlength=1)
    return int((starts > HIDDEN).sum()) > 1


def _axis(ds: xr.Dataset, which: int) -> str:
    """Its name; of three states with what it is made of."""
    name = style.label(ds[(schema.X, schema.Y)[which]])
    if ds.sizes[schema.STATE] != SPATIAL:
        return name
    parts = [(f"{part:+.2f}", f"h{subscript(place + 1)}") for place, part in enumerate(ds["direction"].values[which])]
    words = " ".join(f"{value[0]} {value[1:]} {state}" for value, state in parts if float(value))
    return f"{name}: {words.removeprefix('+ ')}".replace("-", "−")


def _draw_borders(
    basin: NDArray[np.int64], x: NDArray[np.float64], y: NDArray[np.float64], half: tuple[float, float], ax: Axes
) -> None:
    """Lines along the edges between starts that end differently, which grey print does not show."""
    places = np.argwhere(basin[:, 1:] != basin[:, :-1])
    upright = [[(x[j] + half[0], y[i] - half[1]), (x[j] + half[0], y[i] + half[1])] for i, j in places]
    places = np.argwhere(basin[1:] != basin[:-1])
    level = [[(x[j] - half[0], y[i] + half[1]), (x[j] + half[0], y[i] + half[1])] for i, j in places]
    if len(upright) + len(level) <= MOST_BORDERS * len(x):
        ax.add_collection(LineCollection(upright + level, colors=style.GREY, linewidths=0.6))


def _attractor(
    ds: xr.Dataset, place: int, shade: tuple[float, float, float], off: bool, ax: Axes, **artist: Any
) -> Any:
    """Draw it, and return its entry in the legend: the colour of the starts that end there, its marker on it.

    Of few starts, which the marker hides, it is the marker alone.
    """
    one = ds.isel({schema.ATTRACTOR: place})
    kind = str(one["kind"].values)
    label = f"{of_map(kind)} ({share((ds['basin'].values == place).mean())})"
    if _numbered(ds):
        label = f"{place}  {label}"
    colour = style.CYCLE[place % len(style.CYCLE)]
    look: dict[str, Any] = {"marker": ".", "ms": 3, "mew": 0, "color": colour}
    if kind.startswith("continuum"):  # no one of its points stands for it
        return _patch(shade, label)
    if off and not one["period"]:
        label += ", projected onto the plane"
    if one["period"]:
        face = "white" if one["stable"] != 1 else colour
        look = {"marker": MARKERS[place % len(MARKERS)], "ms": 7, "color": face, "mec": style.BLACK, "mew": 1.0}
        if off:
            look |= {"mfc": "none", "mec": colour, "mew": 1.8, "ms": 8}
    drawn = ax.plot(one["attractor_x"], one["attractor_y"], ls="none", label=label, zorder=3, **look | artist)[0]
    unseen = one["period"] and (ds["basin"].values == place).sum() <= HIDDEN
    return drawn if unseen else (_patch(shade, label), drawn)


def _arrow(ds: xr.Dataset, code: int) -> str:
    """The arrow nearest to how orbits run away in the plane, that of most of them; "" where they leave it squarely."""
    across, up = ds["outward_step"].values[:, ds["basin"].values == code].mean(axis=1)
    if max(abs(across), abs(up)) <= OFF * np.abs(ds["outward_step"]).max():
        return ""
    return ARROWS[round(float(np.arctan2(up, across)) / (2 * np.pi / len(ARROWS))) % len(ARROWS)]


def _write(ds: xr.Dataset, code: int, words: str, ax: Axes, **artist: Any) -> None:
    """The words, as an attractor's number, where the starts of that code have most room."""
    inside = ds["basin"].values == code
    x, y = ds[schema.X].values, ds[schema.Y].values
    room = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1] / len(x)
    width = x[-1] - x[0]
    for at_x, at_y in zip(ds["attractor_x"].values.ravel(), ds["attractor_y"].values.ravel(), strict=True):
        if np.isfinite(at_x):
            room[np.hypot(x[None, :] - at_x, y[:, None] - at_y) < BESIDE * width] = 0.0
    row, column = np.unravel_index(np.argmax(room), room.shape)
    if room[row, column] >= ROOM:
        ax.text(x[column], y[row], words, ha="center", va="center", fontweight="bold", **artist)


def _shade(place: int) -> tuple[float, float, float]:
    again, colour = divmod(place, len(style.CYCLE))
    part = LIGHT[again % len(LIGHT)]
    red, green, blue = (part * each + (1 - part) for each in to_rgb(style.CYCLE[colour]))
    return red, green, blue
