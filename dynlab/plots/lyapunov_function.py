"""Around a fixed point: where its Lyapunov function falls and grows, and the set in which it is proved to fall."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.ticker import LogFormatterSciNotation

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.unit_circle import CIRCLE, close_up
from dynlab.wording import number

SIZE = (10.3, 5.2)  # inches
EIGENVALUES, BOTH, NOTHING = (5.4, 4.6), (9.4, 4.5), (7.0, 0.8)  # where nothing is proved, and where none was found
CROWD = 60  # eigenvalues, beyond which their markers are small
ROUNDING = 1e-9  # relative: a rate above 0 by less is no growth
UNSEEN = 0.03  # of half the plane's width: a smaller circle lies under the dot in its middle
SEEN = 2e-3  # of the plane: where V grows on less, there is no border to see
PLAIN = (1e-3, 1e4)  # scales whose ticks are written without a power of ten
MINOR = (1.0, 0.4)  # decades, matplotlib's own: fewer have numbers between the powers of ten
SHADES = 0.98  # quantile of the sizes that the colours reach


def plot_lyapunov_function(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The plane of the two slowest directions around the fixed point whose proved set is the widest.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.lyapunov_function`.
    ax : Axes, optional
        Where only the plane is drawn. Without it a figure is made that also shows the largest rate on each level, with
        the verdict above.
    **artist
        For the border of the proved set.

    Returns
    -------
    Axes
        Of the plane.
    """
    schema.check(ds, needs=["status", "ratio", "radius", "sampled_radius", "largest_rate"])
    proved_somewhere = bool((ds["status"] == "proved").any())
    if ax is None and not proved_somewhere:
        return _figure_of_none(ds)
    if ax is None:
        said = ds.assign_attrs(verdict=f"{ds.attrs.get('verdict', '')} {_letters(ds)}".strip())
        return style.panels(said, [(plot_lyapunov_function, artist), (_draw_levels, {})], SIZE, "Lyapunov function")
    if not proved_somewhere:
        return _draw_eigenvalues(ds, ax)
    place = int(ds["semi_axis"].isel({schema.MODE: 0}).fillna(-1).argmax(schema.FIXED_POINT))  # the widest proved set
    row = ds.isel({schema.FIXED_POINT: place})
    extent, values = float(row["extent"]), row["ratio"].values
    sizes = np.abs(values[np.isfinite(values)])
    reach = max(float(np.quantile(sizes, SHADES)) if sizes.size else 1.0, np.finfo(float).tiny)
    x, y = extent * ds[schema.X].values, extent * ds[schema.Y].values
    look: dict[str, Any] = {"cmap": style.DIVERGING, "norm": TwoSlopeNorm(0, -reach, reach)}
    mesh = ax.pcolormesh(x, y, values, shading="gouraud", rasterized=True, **look)
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.7, extend="both")
    bar.ax.set_title(style.label(ds["ratio"]), fontsize="medium", loc="left")  # beside it is another axis's name
    if np.mean(values > ROUNDING * reach) > SEEN:
        ax.contour(x, y, values, [0.0], colors=style.BLACK, linewidths=1.0, linestyles=":")
        ax.plot([], [], color=style.BLACK, lw=1, ls=":", label="V neither falls nor grows")
    radius = float(row["radius"])
    unseen = " (too small to see)" if radius < UNSEEN * extent else ""
    inside = f"proved: V falls below level {number(radius, 2)}{unseen}"
    proved: dict[str, Any] = {"color": style.GREEN, "lw": 2, "label": inside}
    _draw_circle(ax, radius, proved | artist)
    if float(row["sampled_radius"]) < extent:
        sampled = {"color": style.BLACK, "lw": 1.2, "ls": "--", "label": "sampled: V falls inside"}
        _draw_circle(ax, float(row["sampled_radius"]), sampled)
    ax.plot(0, 0, "o", color=style.BLACK, ms=4, label="fixed point h*")
    second = "no meaning: the state is one number" if ds.sizes[schema.STATE] == 1 else "along the second slowest"
    ax.set(aspect="equal", xlabel="T (h − h*) along the slowest direction", ylabel=second)
    if not PLAIN[0] < extent < PLAIN[1]:  # else a power of ten stands below the axis, upon its label
        ax.xaxis.set_major_formatter("{x:.3g}")
        ax.yaxis.set_major_formatter("{x:.3g}")
    count = ds.sizes[schema.FIXED_POINT]
    name = "The fixed point" if count == 1 else f"Fixed point {place} of 0 to {count - 1}"
    ax.set_title(f"{name}: V = |T (h − h*)|²")
    style.legend_below(ax, 2)
    return ax


def _letters(ds: xr.Dataset) -> str:
    """What the letters of the axes stand for, which the verdict does not say."""
    step = "" if schema.settings(ds)["kind"] == "flow" else "F(h) is the state one step after h. "
    return (
        f"{step}T is the matrix with P = TᵀT, so that V = |T (h − h*)|². The level of h is |T (h − h*)|. V falls where "
        f"the numbers are below 0."
    )


def _figure_of_none(ds: xr.Dataset) -> Axes:
    """The eigenvalues that forbid one, and from close up those of a map that lie together next to the unit circle."""
    title = "No Lyapunov function"
    if "eigenvalue" not in ds or not ds.sizes[schema.FIXED_POINT]:
        return style.panels(ds, [(_draw_eigenvalues, {})], NOTHING, title)
    of_map = schema.settings(ds)["kind"] != "flow"
    window = close_up(ds["eigenvalue"].values.ravel()) if of_map else None
    if window is None:
        return style.panels(ds, [(_draw_eigenvalues, {})], EIGENVALUES, title)
    drawn: list[style.Panel] = [(_draw_eigenvalues, {"named": False}), (_draw_eigenvalues, {"window": window})]
    return style.panels(ds, drawn, BOTH, title)


def _draw_eigenvalues(ds: xr.Dataset, ax: Axes, window: dict[str, Any] | None = None, named: bool = True) -> Axes:
    """Why there is none: the eigenvalues at the fixed points, each by whether it grows; in a window those it shows.

    `named` is whether a legend says so.
    """
    if "eigenvalue" not in ds or not ds.sizes[schema.FIXED_POINT]:
        style.say(ax, "no Lyapunov function is proved")
        ax.set_axis_off()
        return ax
    values, of_flow = ds["eigenvalue"].values.ravel(), schema.settings(ds)["kind"] == "flow"
    finite = np.abs(values[np.isfinite(values)])
    half = 1.15 * max(float(finite.max(initial=0.0)), 1.0 if not of_flow else np.finfo(float).tiny)
    if of_flow:
        ax.axvspan(-half, 0, color=style.SHADED, lw=0, zorder=0)
    else:
        ax.fill(CIRCLE.real, CIRCLE.imag, color=style.SHADED, lw=0, zorder=0)
        ax.plot(CIRCLE.real, CIRCLE.imag, color=style.BLACK, lw=1.2, zorder=1)
    style.cross(ax)
    _draw_sides(ax, values[np.isfinite(values)], of_flow)
    symbol, limit = ("λ (1/s)", "Re λ") if of_flow else ("μ", "|μ|")
    ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xlabel=f"Re {symbol}", ylabel=f"Im {symbol}")
    largest = np.nanmax(values.real if of_flow else np.abs(values))
    ax.set_title(f"Largest {limit}: {number(float(largest), 5)}; a stable point's is below {0 if of_flow else 1}")
    if window:
        ax.set(**window)
        ax.locator_params(nbins=6)
    if named:
        style.legend_below(ax, 2)
    return ax


def _draw_sides(ax: Axes, values: np.ndarray, of_flow: bool) -> None:
    """The eigenvalues that grow, those that shrink, and those that rounding leaves on the border."""
    excess = (
        values.real / max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
        if of_flow
        else np.abs(values) - 1
    )
    border = "0" if of_flow else "1"
    name = "Re λ" if of_flow else "|μ|"
    size, edge = (40, 0.6) if len(values) <= CROWD else (12, 0.0)
    for chosen, marker, colour, words in (
        (excess < -ROUNDING, "o", style.STABLE, f"{name} < {border}: decays"),
        (np.abs(excess) <= ROUNDING, "s", style.UNDECIDED, f"{name} = {border} but for rounding"),
        (excess > ROUNDING, "X", style.UNSTABLE, f"{name} > {border}: grows"),
    ):
        found = values[chosen]
        if len(found):
            look: dict[str, Any] = {"s": size, "marker": marker, "color": colour, "edgecolors": style.BLACK}
            label = f"{words} ({len(found)})" if len(values) > 1 else words
            ax.scatter(found.real, found.imag, linewidths=edge, zorder=3, label=label, **look)


def _draw_circle(ax: Axes, radius: float, look: dict[str, Any]) -> None:
    border = radius * np.exp(2j * np.pi * np.linspace(0, 1, 361))
    ax.plot(border.real, border.imag, **look)


def _draw_levels(ds: xr.Dataset, ax: Axes) -> None:
    """The largest rate on each level of every fixed point, sampled, and proved up to its radius; both below 0."""
    proved = ds.isel({schema.FIXED_POINT: np.flatnonzero(ds["status"].values == "proved")})
    if not proved.sizes[schema.FIXED_POINT]:
        ax.set_axis_off()
        return
    bounds = proved["rate"].values if schema.settings(ds)["kind"] == "flow" else np.log(proved["rate"].values)
    levels, rates = (
        proved[name].transpose(schema.LEVEL, schema.FIXED_POINT).values for name in ("level", "largest_rate")
    )
    radii = proved["radius"].values
    first, *_ = ax.loglog(levels, np.where(rates < 0, -rates, np.nan), color=style.BLUE, lw=1.2)
    first.set_label("sampled, up to where V grows" if (rates >= 0).any() else "sampled")
    first, *_ = ax.loglog([levels[0], radii], [-bounds, -bounds], color=style.GREEN, lw=2)
    first.set_label("proved, up to the proved radius")
    ax.plot(radii, -bounds, "o", color=style.GREEN, ms=5)
    if len(radii) > 1:  # the number of the fixed point that each line is of
        numbers = np.flatnonzero(ds["status"].values == "proved")
        for place, at in zip(numbers, zip(radii, -bounds, strict=True), strict=True):
            ax.annotate(str(place), at, (4, 4), textcoords="offset points", color=style.GREEN)
    ax.yaxis.set_major_formatter(_Below0())
    ax.yaxis.set_minor_formatter(_Below0(minor_thresholds=MINOR))
    ax.invert_yaxis()  # the slowest fall above, as along the axis of its numbers
    points = ", by the fixed point's number" if len(radii) > 1 else ""
    what = f"largest {style.label(ds['ratio'])}"
    ax.set(xlabel="level |T (h − h*)|", ylabel=what, title=f"How fast V falls at least{points}")
    style.legend_below(ax, 2)


class _Below0(LogFormatterSciNotation):
    """Powers of ten with a minus in front, along a logarithmic axis of the sizes of numbers below 0."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return super().__call__(x, pos).replace("{", "{-", 1)
