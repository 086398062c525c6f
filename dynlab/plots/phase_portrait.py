"""The elements of a phase portrait: field, nullclines, orbits with time shown, equilibria and what leads to them."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, ListedColormap
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style
from dynlab.words import of_map

ARROWS_PER_INCH, MOST_ARROWS = 3.5, 20  # in each direction; more of them hide the orbits
LONGEST_ARROW, LENGTHS = 0.85, 0.3  # of the distance between arrows; a length is the speed to that power
FINE = 8  # times finer than its grid the field is interpolated: contours of a coarse one part where nullclines cross
# times its median, of which half is so large; so much is beyond: there is a pole here, or in the next cell
HUGE, LARGE, POLE = 5.0, 0.5, 0.95
ARROW_COLOUR = f"{style.GREY}99"
ARROWS = {"flow": "velocity (longer is faster)", "map": "displacement in a step"}
DOTTED, DASHED = (0, (1, 1.6)), (0, (5, 2.5))
LEVELS = 6  # of a conserved quantity
FLOW_SIZE, MAP_SIZE = 11.0, 5.5  # points: the fixed point's marker lies on the equilibrium's
CENTER = {"markerfacecolor": style.GROUND}  # orbits stay near, and none ends there


def time_colours(steps: int) -> Colormap:
    """Return as many colours as there are steps, the first nearest to the ground's."""
    return ListedColormap(style.from_ground()(np.linspace(0.0, 1.0, steps)))


def _on_grid(
    ds: xr.Dataset, velocity: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64], order: int = 3
) -> NDArray[np.float64]:
    """The velocity (y, x, component) on another grid, (component, y, x), by splines; 0 on a pole."""
    from scipy.interpolate import RectBivariateSpline  # takes longer to import than most commands need

    own, known = (ds[schema.Y].values, ds[schema.X].values), np.nan_to_num(velocity, posinf=0.0, neginf=0.0)
    order = min(order, *(len(line) - 1 for line in own))
    splines = [RectBivariateSpline(*own, known[..., i], kx=order, ky=order) for i in (0, 1)]
    return np.stack([spline(y, x) for spline in splines])


def draw_field(ds: xr.Dataset, ax: Axes) -> None:
    """Draw arrows of the velocity within the axes' limits, fewer of them where the axes are small.

    A length is a small power of the speed: beside a fast region the arrows of a slow one would be dots.
    """
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted()).width
    count = max(2, min(MOST_ARROWS, int(ARROWS_PER_INCH * inches)))
    x, y = (low + (high - low) * (np.arange(count) + 0.5) / count for low, high in (ax.get_xlim(), ax.get_ylim()))
    field = _on_grid(ds, ds["velocity"].values, x, y)
    speed = np.hypot(*field)
    if speed.max() == 0:
        return
    seen = field / np.array([x[1] - x[0], y[1] - y[0]])[:, None, None]  # in parts of the distance between arrows
    lengths = LONGEST_ARROW * (speed / speed.max()) ** LENGTHS / np.maximum(np.hypot(*seen), np.finfo(float).tiny)
    ax.quiver(
        x,
        y,
        *(field * lengths),
        color=ARROW_COLOUR,
        pivot="mid",
        zorder=1,
        scale=1,
        scale_units="xy",
        angles="xy",
        units="inches",
        width=0.014,
    )
    label = ARROWS["flow" if "flow_kind" in ds else "map"]
    ax.plot([], [], color=ARROW_COLOUR, marker=">", markersize=5, label=label)


def draw_nullclines(ds: xr.Dataset, ax: Axes) -> None:
    """Draw the curves on which one component of the velocity, or of a map's displacement, vanishes.

    What is far larger than usual is squashed, and left out: across a pole the sign changes too.
    """
    from scipy.ndimage import maximum_filter  # likewise

    x, y = (np.linspace(*ends, FINE * ds.sizes[schema.X]) for ends in (ax.get_xlim(), ax.get_ylim()))
    looks = ((style.SKY, DASHED), (style.ORANGE, DOTTED))
    size = np.nan_to_num(np.abs(ds["velocity"].values))
    part = size / (size + HUGE * np.median(size, axis=(0, 1)) + np.finfo(float).tiny)
    fine = _on_grid(ds, np.sign(ds["velocity"].values) * part, x, y, 3 if part.max() < POLE else 1)
    part = np.where(maximum_filter(part, (3, 3, 1)) > POLE, 1.0, part)
    beside = np.ix_(
        *(np.abs(ds[axis].values - line[:, None]).argmin(1) for axis, line in ((schema.Y, y), (schema.X, x)))
    )
    fine = np.ma.masked_where(np.moveaxis(part[beside], -1, 0) > LARGE, fine)
    for axis, component, (colour, dashes) in zip((schema.X, schema.Y), fine, looks, strict=True):
        if component.min() < 0 < component.max():
            ax.contour(x, y, component, levels=[0.0], zorder=2, colors=[colour], linestyles=[dashes], linewidths=1.3)
            name = str(ds[axis].attrs["long_name"]).removeprefix("state ")  # h₁ or x
            ax.plot([], [], color=colour, linestyle=dashes, label=f"nullcline of {name}")


def draw_conserved(ds: xr.Dataset, ax: Axes) -> None:
    """Draw level lines of a conserved quantity, on which the exact flow stays."""
    if "conserved" in ds:
        ax.contour(
            ds[schema.X], ds[schema.Y], ds["conserved"], levels=LEVELS, zorder=1.5, colors=[style.GREY], linewidths=0.7
        )
        ax.plot([], [], color=style.GREY, linewidth=0.7, label="energy H constant: paths of the flow")


def draw_orbits(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw orbits with time in colours, a dot for every step of a map, a star at each start.

    Only the steps of a flow's map are joined: between those of another map there is nothing.
    """
    states, is_map, joined = ds["trajectory"].values, "map_kind" in ds, "flow_kind" in ds
    colours = time_colours(states.shape[1] - 1)
    options: dict[str, Any] = {"linewidths": 1.3, "zorder": 3, "capstyle": "round"} | artist
    for orbit in states:
        segments = np.stack([orbit[:-1], orbit[1:]], axis=1)
        shades = colours(range(len(segments)))
        if joined:
            ax.add_collection(LineCollection(list(segments), colors=shades, **options))
        if is_map:
            ax.scatter(orbit[1:, 0], orbit[1:, 1], s=7 if joined else 14, color=shades, linewidths=0, zorder=3.5)
    steps = f", {states.shape[1] - 1:,} steps" * is_map
    ax.plot(
        [],
        [],
        marker="o" if is_map else None,
        label=f"orbit of {mover(ds)}{steps}",
        color=colours(colours.N // 2),
        linewidth=1.3 * joined,
        markersize=3,
    )
    ax.plot(
        states[:, 0, 0],
        states[:, 0, 1],
        "*",
        label="start",
        color=style.BLACK,
        ms=11,
        mec=style.GROUND,
        mew=0.7,
        zorder=6,
    )


def mover(ds: xr.Dataset) -> str:
    """Return the system whose orbits a portrait shows: Euler's map if there is one, beside the arrows of its flow."""
    if "map_kind" not in ds:
        return "the flow"
    return "Euler's map" if "flow_kind" in ds else "the map"


def draw_long_orbits(ds: xr.Dataset, ax: Axes) -> None:
    """Draw limit cycles of a flow, and the last states of a map's orbits on a closed curve or a cycle."""
    if "limit_cycle" in ds:
        for number, curve in enumerate(ds["limit_cycle"].dropna(schema.SAMPLE).values):
            ax.plot(*curve.T, color=style.PURPLE, linewidth=2.5, zorder=2.5, label=None if number else "limit cycle")
    if "long_orbit" not in ds:
        return
    for name, size in (("invariant closed curve", 7.0), ("periodic orbit", 40.0)):
        states = ds["long_orbit"].values[ds["outcome"].values == name].reshape(-1, 2)
        if len(states):
            ax.scatter(states[:, 0], states[:, 1], s=size, color=style.PURPLE, linewidths=0, zorder=2.5)
            ax.plot([], [], color=style.PURPLE, marker="o", markersize=3.5, linewidth=2.5, label=f"{name} in the end")


def draw_equilibria(ds: xr.Dataset, ax: Axes) -> None:
    """Draw a large marker for the flow's equilibrium and a small one for the map's fixed point, filled if stable."""
    if "line_direction" in ds:
        line: dict[str, Any] = {"color": style.BLACK, "linewidth": 5.5, "alpha": 0.2, "zorder": 1.8}
        for point, along in zip(ds["equilibrium"].values, ds["line_direction"].values, strict=True):
            if np.isfinite(along).all():
                ax.axline(tuple(point), tuple(point + along), **line)  # nullclines that lie on it are seen on it
                ax.plot([], [], label=f"line of {'equilibria' if 'flow_kind' in ds else 'fixed points'}", **line)
    both = "flow_kind" in ds and "map_kind" in ds
    for name in [name for name in ("flow", "map") if f"{name}_kind" in ds]:
        owner, size = ("Euler's map", MAP_SIZE) if both and name == "map" else (name, FLOW_SIZE)
        rows = zip(ds["equilibrium"].values, ds[f"{name}_kind"].values, ds[f"{name}_stable"].values, strict=True)
        for point, kind, stable in rows:
            label = style.once(ax, f"{owner}: {of_map(kind) if name == 'map' else kind}")
            shape = marker(int(stable), size) | (CENTER if kind == "center" else {})
            if size == MAP_SIZE and stable == 1:  # on a filled marker of the same colour
                shape["markeredgecolor"] = style.GROUND
            ax.plot(point[0], point[1], linestyle="none", label=label, zorder=7 + (name == "map"), **shape)


def marker(stable: int, size: float) -> dict[str, Any]:
    """Return a marker's fill: filled if stable, open if unstable, half filled if undecided."""
    colour = {1: style.STABLE, 0: style.UNSTABLE, -1: style.UNDECIDED}[stable]
    return {
        "marker": "o",
        "markersize": size,
        "markeredgecolor": colour,
        "markeredgewidth": 1.6,
        "markerfacecolor": style.GROUND if stable == 0 else colour,
        "markerfacecoloralt": style.GROUND,
        "fillstyle": "left" if stable == -1 else "full",
    }


LENGTH, BEGINS = 0.16, 0.3  # of an eigenvector to each side, times half the width of the window; of which it begins at
NEUTRAL = 1e-9  # an eigenvalue that near to the border between growing and decaying tells neither
BEFORE = (0, (1.2, 1.8))


def draw_backward(ds: xr.Dataset, ax: Axes) -> None:
    """Draw the orbits backward from the starts, dotted, and the separatrices."""
    if "backward_orbit" in ds:
        line: dict[str, Any] = {"color": style.GREY, "linewidth": 1.1, "zorder": 2.2}
        line |= {"linestyle": BEFORE} if "flow_kind" in ds else {"linestyle": "none", "marker": ".", "markersize": 3}
        ax.plot(*np.moveaxis(ds["backward_orbit"].values, -1, 0).swapaxes(1, 2), **line)
        ax.plot([], [], label=f"{mover(ds)}, backward in time", **line)
    curves = ds["separatrix"].values if "separatrix" in ds else np.empty((0, 2, 1, 2))
    for number, curve in enumerate(curves[np.isfinite(curves).all(axis=(-2, -1))]):
        label = None if number else "separatrix: ends at the saddle"
        ax.plot(*curve.T, color=style.BLACK, linewidth=1.8, zorder=2.6, label=label)


def draw_eigenvectors(ds: xr.Dataset, ax: Axes) -> None:
    """Draw the directions of real eigenvalues: arrows away from the equilibrium where they grow, towards it else."""
    if "eigenvector" not in ds:
        return
    if "map_eigenvalue" in ds:
        rates = np.log(np.maximum(np.abs(ds["map_eigenvalue"].values), np.finfo(float).tiny))
    else:
        rates = ds["flow_eigenvalue"].values.real
    half = LENGTH * np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]) / 2
    vectors = ds["eigenvector"].values
    for point, mode in np.argwhere(np.isfinite(vectors).all(axis=-1) & (np.abs(rates) > NEUTRAL)):
        grows = rates[point, mode] > 0
        colour, label = (style.UNSTABLE, "direction that grows") if grows else (style.STABLE, "direction that decays")
        vector, at = vectors[point, mode], ds["equilibrium"].values[point]
        length = 1 / np.hypot(*(vector / half))
        for side in (length, -length):
            ends = at + BEGINS * side * vector, at + side * vector
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "mutation_scale": 11, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", ends[int(grows)], ends[1 - int(grows)], arrowprops=arrow, zorder=6.5)
        if style.once(ax, label):
            ax.plot([], [], color=colour, linewidth=1.8, marker=">", markersize=5, label=label)
