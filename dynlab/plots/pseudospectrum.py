"""Pseudospectra around the eigenvalues, and how the norms of powers go beside what the eigenvalues promise."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.unit_circle import CIRCLE
from dynlab.wording import number

SIZE = (10.3, 5.6)  # inches
MOST_LEVELS = 8
DECADES = 16  # of norms below 1 that are drawn
FEW = 2  # powers of ten are too few ticks for an axis
SHADES = "Blues_r"  # the darker, the nearer to an eigenvalue
MANY = 30  # eigenvalues, beyond which their markers are small
NO_GROWTH = 1e-3  # of log₁₀ of the Kreiss constant: where it is 1, which it always is at least, it tells nothing
FAR = 1e3  # windows that far from 0, in their half widths, have an axis of differences
SEEN = 5e-4  # of the window: what is smaller has no border to see
SMALLEST = 1e-17  # times the largest entry: what rounding makes of σ_min has no levels of its own


def plot_pseudospectrum(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Borders of the ε-pseudospectra for ε = 1, 0.1, …, the eigenvalues, the numerical range, the stable region.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.pseudospectrum`.
    ax : Axes, optional
        Where only the complex plane is drawn. Without it a figure is made that also shows ‖Aᵏ‖, with the verdict above.
    **artist
        For the eigenvalues' markers.

    Returns
    -------
    Axes
        Of the complex plane.
    """
    schema.check(ds, needs=["smallest_singular_value", "eigenvalue", "numerical_range", "log_power_norm"])
    if ax is None:
        return style.panels(ds, [(plot_pseudospectrum, artist), (_draw_powers, {})], SIZE, "Pseudospectrum")
    x, y = ds[schema.X].values, ds[schema.Y].values
    middle = float(x[0] + x[-1]) / 2
    origin = middle if abs(middle) > FAR * float(y[-1]) else 0.0
    _draw_levels(ds, ax, origin)
    border = np.append(ds["numerical_range"].values, ds["numerical_range"].values[:1])
    ax.plot(border.real - origin, border.imag, color=style.VERMILION, ls="--", lw=1.1, label="numerical range")
    if schema.settings(ds)["flow"]:
        ax.axvline(-origin, color=style.BLACK, lw=1.2, label="Re z = 0: stable to the left")
    else:
        ax.plot(CIRCLE.real - origin, CIRCLE.imag, color=style.BLACK, lw=1.2, label="|z| = 1: stable inside")
    _draw_reach(ds, ax, origin)
    values = ds["eigenvalue"].values
    look: dict[str, Any] = {"marker": "o", "color": style.BLACK, "markeredgecolor": "white", "ls": "none", "zorder": 5}
    look |= {"ms": 4, "mew": 0.6} if len(values) <= MANY else {"ms": 2.2, "mew": 0.25}
    ax.plot(values.real - origin, values.imag, label="eigenvalues", **look | artist)
    name = style.label(ds[schema.X])
    shifted = name.replace("Re z", f"Re z − {origin:.12g}".replace("− -", "+ ")) if origin else name
    ax.set(xlim=x[[0, -1]] - origin, ylim=y[[0, -1]], aspect="equal", xlabel=shifted, ylabel=style.label(ds[schema.Y]))
    ax.set_title("Where errors of norm ε move eigenvalues")
    style.legend_below(ax, 2)
    return ax


def _draw_levels(ds: xr.Dataset, ax: Axes, origin: float) -> None:
    """Filled contours of log₁₀ σ_min, a line each, and the bar that says which."""
    with np.errstate(divide="ignore"):
        heights = np.log10(ds["smallest_singular_value"].values)
    rounding = np.log10(SMALLEST * float(np.abs(ds["numerical_range"].values).max(initial=0.0)) + np.finfo(float).tiny)
    heights = np.maximum(heights, rounding)  # an exactly singular zI − A as well
    levels = _levels(heights)
    place = ds[schema.X].values - origin, ds[schema.Y].values
    filled = ax.contourf(*place, heights, levels, cmap=SHADES, extend="both")
    ax.contour(*place, heights, levels, colors=style.BLUE, linewidths=0.7, linestyles="solid")
    beside = ax.inset_axes((1.03, 0.1, 0.04, 0.8))
    bar = ax.figure.colorbar(filled, cax=beside, label="ε = σ$_{\\mathrm{min}}$(zI − A)", ticks=levels.tolist())
    words = _power if (levels == np.round(levels)).all() else _number
    bar.formatter = FuncFormatter(lambda level, _: words(level))  # labels would go with another colour map
    bar.ax.tick_params(size=0)


def _draw_reach(ds: xr.Dataset, ax: Axes, origin: float) -> None:
    """Of a stable A the level that is the first to reach the border of stability."""
    flow, values = schema.settings(ds)["flow"], ds["eigenvalue"].values
    z, sizes = ds[schema.X].values + 1j * ds[schema.Y].values[:, None], ds["smallest_singular_value"].values
    beyond = z.real >= 0 if flow else np.abs(z) >= 1
    inside = (values.real < 0).all() if flow else (np.abs(values) < 1).all()
    level = float(np.nanmin(sizes[beyond], initial=np.inf))
    if inside and 0 < level < np.nanmax(sizes):
        place = ds[schema.X].values - origin, ds[schema.Y].values
        look: dict[str, Any] = {"colors": style.GREEN, "linewidths": 1.4, "linestyles": "-."}
        ax.contour(*place, sizes, [level], **look)
        words = f"ε = {number(level, 3)}, the first to reach it"
        ax.plot([], [], color=style.GREEN, lw=1.4, ls="-.", label=words)


def _levels(heights: np.ndarray) -> np.ndarray:
    """Powers of ten whose borders are seen and lie within the window, with halves and fifths where these are few.

    Where no border does, those of the whole window.
    """
    edge = np.concatenate([heights[0], heights[-1], heights[:, 0], heights[:, -1]])
    seen, closed = float(np.quantile(heights, SEEN)), float(edge.min())
    for low, high, most in ((seen, closed, FEW), (seen, float(heights.max()), FEW), (-np.inf, np.inf, 0)):
        decades = np.arange(np.floor(max(low, heights.min())) - 1, np.ceil(min(high, heights.max())) + 2)
        fine = np.sort(np.log10([1.0, 2.0, 5.0])[:, None] + decades, axis=None)
        for places in (decades, fine) if most else (decades,):
            found = places[(places >= low) & (places <= high)][-MOST_LEVELS:]
            if len(found) > most:
                return found
        if most and len(found) > 1:
            return found
    return found


def _draw_powers(ds: xr.Dataset, ax: Axes) -> None:
    """log₁₀ of the norms, of the eigenvalues' promise and of the Kreiss constant.

    The axis is linear, with powers of ten as its labels: norms may be beyond what float64 holds.
    """
    time, norms = ds[schema.TIME].values, ds["log_power_norm"].values / np.log(10)
    known, gone = np.isfinite(norms), np.isneginf(norms)
    values, rate, when = ds["eigenvalue"].values, np.log(10), float(ds["transient_time"])
    if schema.settings(ds)["flow"]:
        name, law, along = "‖$e^{tA}$‖", "$e^{t\\,\\max \\mathrm{Re}\\,λ}$", style.label(ds[schema.TIME])
        promise = values.real.max() * time / rate
    else:
        name, law, along = "‖$A^k$‖", "$ρ^k$", "power k"
        promise = np.log(max(np.abs(values).max(), np.finfo(float).tiny)) * time / rate
    ax.axhline(0, color=style.FAINT, lw=1, zorder=0)
    few: dict[str, Any] = {"marker": "o", "ms": 4} if known.sum() <= FEW else {}
    ax.plot(time[known], norms[known], color=style.BLUE, lw=1.8, label=name, zorder=3, **few)
    ax.plot(time, promise, color=style.BLACK, ls=":", label=f"{law}, what the eigenvalues promise")
    met, kreiss = float(ds["transient_growth"]), np.log10(float(ds["kreiss_constant"]))
    growth = np.log10(met) if np.isfinite(met) else float(np.max(norms[known]))  # a flow's also between those times
    if 0 < when < time[-1]:
        ax.plot(when, growth, "o", color=style.VERMILION, ms=6, zorder=4, label=f"largest: {_number(growth)}")
    if np.isfinite(kreiss) and kreiss > NO_GROWTH:
        ax.axhline(kreiss, color=style.GREEN, ls="--", lw=1.1, label=f"Kreiss constant, at least {_number(kreiss)}")
    high = max(growth, float(promise.max()), kreiss if np.isfinite(kreiss) else growth)
    low = max(min(float(norms[known].min()), float(promise.min())), -DECADES)
    if gone.any():
        ax.text(0.98, 0.9, f"exactly 0 from k = {time[gone][0]:g} on", transform=ax.transAxes, ha="right")
        low = max(low, -FEW)
    pad = max(0.06 * (high - low), 0.1)
    _set_ticks(ax, low - pad, high + pad)
    ax.set(ylim=(low - pad, high + pad), xlabel=along, ylabel=name)
    ax.set_title("Norms, before the eigenvalues decide")
    style.legend_below(ax, 2)


def _set_ticks(ax: Axes, low: float, high: float) -> None:
    """1, 2, 5, 10 … where few powers of ten are seen, else powers of ten."""
    if high - low < FEW + 1:
        decades = range(int(np.floor(low)), int(np.ceil(high)) + 1)
        places = np.log10([lead * 10.0**decade for decade in decades for lead in (1, 2, 5)])
        ax.yaxis.set_major_locator(FixedLocator(places[(places >= low) & (places <= high)].tolist()))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda place, _: f"{10**place:.3g}"))
    else:
        ax.yaxis.set_major_locator(MaxNLocator(8, integer=True))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda place, _: f"$10^{{{place:g}}}$"))


def _power(log: float) -> str:
    return f"$10^{{{log:.0f}}}$"


def _number(log: float) -> str:
    """What a power of ten is, as a number where it is readable."""
    return number(10**log) if abs(log) < FEW + 1 else f"$10^{{{log:.1f}}}$"
