"""The elements of a phase portrait: field, nullclines, orbits with time shown, equilibria marked by kind."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, ListedColormap

from dynlab import schema
from dynlab.numerics.kinds import LINE
from dynlab.plots import style
from dynlab.wording import of_map, subscript

ARROWS_PER_INCH = 3.5  # more of them hide the orbits
LONGEST_ARROW = 0.85  # of the distance between arrows
ARROW_COLOUR = "#B0B0B0"
ARROWS = {"flow": "velocity", "map": "displacement in a step"}
DOTTED = (0, (1, 1.6))
DASHED = (0, (5, 2.5))
LEVELS = 6  # of a conserved quantity
FLOW_SIZE, MAP_SIZE = 11.0, 5.5  # points: the fixed point's marker lies on the equilibrium's


def time_colours(steps: int) -> Colormap:
    """Light for the first step to dark for the last, in as many colours as there are steps."""
    return ListedColormap(style.TIME(np.linspace(0.0, 1.0, steps)))


def draw_field(ds: xr.Dataset, ax: Axes) -> None:
    """Arrows of the velocity, their length in proportion to the speed; fewer of them where the axes are small."""
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted()).width
    every = -(-ds.sizes[schema.X] // max(2, int(ARROWS_PER_INCH * inches)))
    some = ds.isel({schema.X: slice(every // 2, None, every), schema.Y: slice(every // 2, None, every)})
    u, v = np.moveaxis(some["velocity"].values, -1, 0)
    fastest = np.hypot(u, v).max()
    if fastest == 0:
        return
    spacing = float(some[schema.X][1] - some[schema.X][0]) if some.sizes[schema.X] > 1 else 1.0
    scale = fastest / (LONGEST_ARROW * spacing)
    shape: dict[str, Any] = {"scale": scale, "scale_units": "xy", "angles": "xy", "units": "inches", "width": 0.014}
    ax.quiver(some[schema.X], some[schema.Y], u, v, color=ARROW_COLOUR, pivot="mid", zorder=1, **shape)
    label = ARROWS["flow" if "flow_kind" in ds else "map"]
    ax.plot([], [], color=ARROW_COLOUR, marker=">", markersize=5, label=label)


def draw_nullclines(ds: xr.Dataset, ax: Axes) -> None:
    """Where one component of the velocity, or of a map's displacement, vanishes."""
    for i, (colour, dashes) in enumerate(((style.SKY, DASHED), (style.ORANGE, DOTTED))):
        component = ds["velocity"].values[..., i]
        if component.min() < 0 < component.max():
            line: dict[str, Any] = {"colors": [colour], "linestyles": [dashes], "linewidths": 1.3}
            ax.contour(ds[schema.X], ds[schema.Y], component, levels=[0.0], zorder=2, **line)
            ax.plot([], [], color=colour, linestyle=dashes, label=f"nullcline of h{subscript(i + 1)}")


def draw_conserved(ds: xr.Dataset, ax: Axes) -> None:
    """Level lines of a conserved quantity, on which the exact flow stays."""
    if "conserved" in ds:
        line: dict[str, Any] = {"colors": [style.GREY], "linewidths": 0.7}
        ax.contour(ds[schema.X], ds[schema.Y], ds["conserved"], levels=LEVELS, zorder=1.5, **line)
        ax.plot([], [], color=style.GREY, linewidth=0.7, label="energy H constant (paths of the exact flow)")


def draw_orbits(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Orbits from light (early) to dark (late), a dot for every step of a map, a star at each start."""
    states = ds["trajectory"].values
    colours = time_colours(states.shape[1] - 1)
    options: dict[str, Any] = {"linewidths": 1.1, "zorder": 3, "capstyle": "round"} | artist
    for orbit in states:
        segments = np.stack([orbit[:-1], orbit[1:]], axis=1)
        ax.add_collection(LineCollection(list(segments), colors=colours(range(len(segments))), **options))
        if "map_kind" in ds:
            ax.scatter(orbit[1:, 0], orbit[1:, 1], s=7, color=colours(range(len(segments))), linewidths=0, zorder=3.5)
    middle = colours(colours.N // 2)
    look: dict[str, Any] = {"color": middle, "linewidth": 1.1, "markersize": 3}
    if "map_kind" in ds:
        ax.plot([], [], marker="o", label=f"orbit of {mover(ds)}, {len(segments):,} steps", **look)
    else:
        ax.plot([], [], label=f"orbit of {mover(ds)}", **look)
    star: dict[str, Any] = {"color": style.BLACK, "ms": 11, "mec": "white", "mew": 0.7, "zorder": 6}
    ax.plot(states[:, 0, 0], states[:, 0, 1], "*", label="start", **star)


def mover(ds: xr.Dataset) -> str:
    """Whose orbits a portrait shows: those of Euler's map where there is one, beside the arrows of its flow."""
    if "map_kind" not in ds:
        return "the flow"
    return "Euler's map" if "flow_kind" in ds else "the map"


def draw_long_orbits(ds: xr.Dataset, ax: Axes) -> None:
    """Where orbits end: limit cycles of a flow; of a map the last states of those on a closed curve or a cycle."""
    if "limit_cycle" in ds:
        for number, curve in enumerate(ds["limit_cycle"].dropna(schema.SAMPLE).values):
            ax.plot(*curve.T, color=style.PURPLE, linewidth=2.5, zorder=2.5, label=None if number else "limit cycle")
    if "long_orbit" not in ds:
        return
    first, last = ds[schema.ITERATION].values[[0, -1]]
    for name, size in (("invariant closed curve", 7.0), ("periodic orbit", 40.0)):
        states = ds["long_orbit"].values[ds["outcome"].values == name].reshape(-1, 2)
        if len(states):
            ax.scatter(states[:, 0], states[:, 1], s=size, color=style.PURPLE, linewidths=0, zorder=2.5)
            label = f"{name} (steps {first:,} to {last:,})"
            ax.plot([], [], color=style.PURPLE, marker="o", markersize=3.5, linewidth=2.5, label=label)


def draw_equilibria(ds: xr.Dataset, ax: Axes) -> None:
    """A large marker for the flow's equilibrium, a small one on it for the map's fixed point, filled where stable."""
    if "line_direction" in ds:
        for point, along in zip(ds["equilibrium"].values, ds["line_direction"].values, strict=True):
            if np.isfinite(along).all():
                line: dict[str, Any] = {"color": style.BLACK, "linewidth": 5.5, "alpha": 0.2}
                # nullclines that lie on it are seen on it
                ax.axline(tuple(point), tuple(point + along), zorder=1.8, **line)
                ax.plot([], [], label=f"line of {'equilibria' if 'flow_kind' in ds else 'fixed points'}", **line)
    both = "flow_kind" in ds and "map_kind" in ds
    for name in ("flow", "map"):
        if f"{name}_kind" not in ds:
            continue
        owner, size = ("Euler's map", MAP_SIZE) if both and name == "map" else (name, FLOW_SIZE)
        named: set[str] = set()
        rows = zip(ds["equilibrium"].values, ds[f"{name}_kind"].values, ds[f"{name}_stable"].values, strict=True)
        for point, kind, stable in rows:
            label = f"{owner}: {of_map(kind) if name == 'map' else kind}" if kind not in named else None
            if label and stable == 0 and kind == LINE:  # whose name does not say so
                label = f"{label}, unstable"
            named.add(kind)
            shape = marker(int(stable), size) | (CENTER if kind == "center" else {})
            if size == MAP_SIZE and stable == 1:  # on a filled marker of the same colour
                shape["markeredgecolor"] = "white"
            ax.plot(point[0], point[1], linestyle="none", label=label, zorder=7 + (name == "map"), **shape)


CENTER = {"markerfacecolor": "white"}  # orbits stay near, and none ends there


def marker(stable: int, size: float) -> dict[str, Any]:
    """Filled where stable, open where unstable, half filled where undecided."""
    colour = {1: style.STABLE, 0: style.UNSTABLE, -1: style.UNDECIDED}[stable]
    return {
        "marker": "o",
        "markersize": size,
        "markeredgecolor": colour,
        "markeredgewidth": 1.6,
        "markerfacecolor": "white" if stable == 0 else colour,
        "markerfacecoloralt": "white",
        "fillstyle": "left" if stable == -1 else "full",
    }
