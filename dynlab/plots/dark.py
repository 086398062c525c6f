"""A finished picture on a dark ground: lightness is turned, hues stay, and colours with a meaning stay easy to see."""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import Colormap, ListedColormap, to_hex, to_rgba, to_rgba_array
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from numpy.typing import ArrayLike, NDArray

GROUND = "#161616"
DARKEST = 0.2  # lightness of the ground in Oklab, to which white becomes
LIFT = 1.8  # the power of lightness: what is nearly white is told from white, and on the ground from the ground
# Colours with a meaning that would be as hard to see as they are light when turned (the palette of `style`).
KEPT = {
    "#0072b2": "#4fa8e0",
    "#d55e00": "#f58240",
    "#009e73": "#2dbf93",
    "#cc79a7": "#d98cb8",
    "#e69f00": "#e69f00",
    "#56b4e9": "#7fc8f2",
    "#f0e442": "#f0e442",
    "#6b6b6b": "#a6a6a6",
}
LINE = ("color", "markerfacecolor", "markeredgecolor", "markerfacecoloralt")
# Linear sRGB to the cone responses of Oklab, and their cube roots to lightness and two hues (Ottosson 2020).
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def turned(colours: ArrayLike) -> NDArray[np.float64]:
    """The colours (k, 4) on a dark ground: black becomes nearly white, white the ground, and opacity stays."""
    rgba = np.atleast_2d(np.asarray(colours, dtype=float))
    kept = [KEPT.get(to_hex(each[:3])) for each in rgba]
    lab = np.cbrt(_linear(rgba[:, :3]) @ TO_CONES.T) @ TO_LAB.T
    lab[:, 0] = 1.0 - (1.0 - DARKEST) * np.clip(lab[:, 0], 0.0, 1.0) ** LIFT
    linear = (lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_CONES).T
    found = np.column_stack([_encoded(np.clip(linear, 0.0, 1.0)), rgba[:, 3]])
    for row, name in enumerate(kept):
        if name:
            found[row, :3] = to_rgba(name)[:3]
    return found


def contrast(one: Any, other: Any) -> float:
    """How many times lighter one colour is than the other, from 1 to 21 (WCAG 2.2, contrast ratio)."""
    low, high = sorted(float(_linear(np.array(to_rgba(each)[:3])) @ (0.2126, 0.7152, 0.0722)) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def darken(figure: Figure) -> None:
    """Turn every colour of a figure that is drawn."""
    figure.draw_without_rendering()  # numbers of the axes are made when they are drawn
    seen: dict[int, Colormap] = {}
    for artist in figure.findobj():
        if isinstance(artist, ScalarMappable) and artist.get_array() is not None:
            before = artist.get_cmap()
            artist.set_cmap(seen.setdefault(id(before), _turned_map(before)))
            seen[id(artist.get_cmap())] = artist.get_cmap()  # what two share is turned once
        _turn(artist)
    for ax in figure.findobj(Axes):  # and some are made later still
        for axis in (ax.xaxis, ax.yaxis, getattr(ax, "zaxis", None)):
            if (wall := getattr(axis, "pane", None)) is not None:  # of a box, which no search finds
                _turn(wall)
        ax.tick_params(which="both", colors=tuple(turned(to_rgba("black"))[0]))


def _turn(artist: Artist) -> None:
    if isinstance(artist, Collection):
        for name in ("facecolor", "edgecolor"):
            colours = getattr(artist, f"get_{name}")()
            lines = isinstance(artist, ContourSet | LineCollection)  # whose edges have the map's colours, too
            mapped = artist.get_array() is not None and (lines or name == "facecolor")
            if len(colours) and not mapped and not isinstance(colours, str):
                getattr(artist, f"set_{name}")(turned(colours))
    elif isinstance(artist, Line2D):
        # all are read before one is set: a marker's may follow the line's
        before = {name: getattr(artist, f"get_{name}")() for name in LINE}
        for name, colour in before.items():
            _set(artist, name, colour)
    elif isinstance(artist, Patch) and not isinstance(artist, Axes):
        edge, face = artist.get_edgecolor(), artist.get_facecolor()
        artist.set_edgecolor(tuple(turned(edge)[0]))
        artist.set_facecolor(tuple(turned(face)[0]))
    elif isinstance(artist, Text):
        _set(artist, "color", artist.get_color())
        for part in (getattr(artist, "arrow_patch", None), artist.get_bbox_patch()):  # which no search finds either
            if part is not None:
                _turn(part)


def _set(artist: Artist, name: str, colour: Any) -> None:
    if not (isinstance(colour, str) and colour in ("none", "auto")):
        getattr(artist, f"set_{name}")(tuple(turned(to_rgba_array(colour))[0]))


def _turned_map(colours: Colormap) -> Colormap:
    return ListedColormap(turned(colours(np.linspace(0, 1, colours.N))), f"{colours.name} on dark")


def _linear(encoded: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def _encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
