"""Pseudospectra around the eigenvalues, and how the norms of powers go beside what the eigenvalues promise."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.unit_circle import CIRCLE
from dynlab.wording import at_least, at_most, number

SIZE, TALLER = (10.3, 5.6), 9.8  # inches, and the height with a close-up
MOST_LEVELS = 8
DECADES = 16  # of norms below 1 that are drawn
FEW = 2  # powers of ten are too few ticks for an axis
SHADES = "Blues_r"  # the darker, the nearer to an eigenvalue
MANY = 30  # eigenvalues, beyond which their markers are small
SEEN_DECADES, FOLLOWED = 2.0, 10.0  # below the largest norm, and times the time at which that is: where an axis ends
ROOM = 0.05  # of an axis, on both sides
NO_GROWTH = 1e-3  # of log₁₀ of the Kreiss constant: where it is 1, which it always is at least, it tells nothing
FAR = 1e3  # windows that far from 0, in their half widths, have an axis of differences
SEEN = 5e-4  # of the window: what is smaller has no border to see
PLAIN = 4  # decades around 1 in which levels are written without a power of ten
CLOSE_UP = "close_smallest_singular_value"
ROUNDING = 1e-12  # of a level that is rounded up, so much is what rounding left in it
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
    schema.check(ds, needs=["smallest_singular_value", "eigenvalue", "numerical_range", "log_power_norm", CLOSE_UP])
    if ax is None:
        closer = _is_close(ds)
        near: list[style.Panel] = [(_draw_close_up, artist)] if closer else []
        drawn = [(plot_pseudospectrum, artist), *near, (_draw_powers, {})]
        return style.panels(ds, drawn, (SIZE[0], TALLER) if closer else SIZE, "Pseudospectrum")
    plane = ds["smallest_singular_value"].transpose(schema.Y, schema.X)
    return _draw_plane(ds, ax, plane, "Where errors of norm ε move eigenvalues", **artist)


def _is_close(ds: xr.Dataset) -> bool:
    """Whether there is a close-up of where the border is reached."""
    return bool(np.isfinite(ds["close_up_half_width"]))


def _draw_close_up(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Around the place where the border of stability is first reached."""
    plane = ds[CLOSE_UP].transpose(schema.CLOSE_Y, schema.CLOSE_X)
    point, half = complex(ds["instability_point"]), float(ds["close_up_half_width"])
    for name, middle, along in ((schema.CLOSE_X, point.real, schema.X), (schema.CLOSE_Y, point.imag, schema.Y)):
        line = middle + half * np.linspace(-1, 1, plane.sizes[name])
        plane = plane.assign_coords({name: xr.Variable((name,), line, ds[along].attrs)})
    _draw_plane(ds, ax, plane, "Close-up: where the border is reached", **artist)
    ax.locator_params(nbins=5)
    ax.ticklabel_format(useOffset=False)


def _draw_plane(ds: xr.Dataset, ax: Axes, plane: xr.DataArray, title: str, **artist: Any) -> Axes:
    """σ_min (y, x) over a window, the eigenvalues, the numerical range, the stable region."""
    y, x = (plane[name].values for name in plane.dims)
    middle = float(x[0] + x[-1]) / 2
    origin = middle if abs(middle) > FAR * float(y[-1] - y[0]) / 2 else 0.0
    _draw_levels(ds, ax, plane, origin)
    border = np.append(ds["numerical_range"].values, ds["numerical_range"].values[:1])
    if _crosses(border, x, y):
        ax.plot(border.real - origin, border.imag, color=style.VERMILION, ls="--", lw=1.1, label="numerical range")
    if schema.settings(ds)["flow"]:
        ax.axvline(-origin, color=style.BLACK, lw=1.2, label="Re z = 0: stable to the left")
    else:
        circle = _arc(x, y)
        ax.plot(circle.real - origin, circle.imag, color=style.BLACK, lw=1.2, label="|z| = 1: stable inside")
    _draw_reach(ds, ax, plane, origin)
    values = ds["eigenvalue"].values
    inside = (np.abs(values.real - middle) < x[-1] - middle) & (values.imag > y[0]) & (values.imag < y[-1])
    look: dict[str, Any] = {"marker": "o", "color": style.BLACK, "markeredgecolor": "white", "ls": "none", "zorder": 5}
    look |= {"ms": 4, "mew": 0.6} if inside.sum() <= MANY else {"ms": 2.2, "mew": 0.25}
    ax.plot(values.real - origin, values.imag, label="eigenvalues", **look | artist)
    name = style.label(plane[plane.dims[1]])
    shifted = name.replace("Re z", f"Re z − {origin:.12g}".replace("− -", "+ ")) if origin else name
    ax.set(
        xlim=x[[0, -1]] - origin,
        ylim=y[[0, -1]],
        aspect="equal",
        xlabel=shifted,
        ylabel=style.label(plane[plane.dims[0]]),
    )
    ax.set_title(title)
    style.legend_below(ax, 2)
    return ax


def _crosses(line: np.ndarray, x: np.ndarray, y: np.ndarray) -> bool:
    """Whether a closed line is seen in a window: whether one of its pieces has a box that meets it."""
    ahead = np.roll(line, -1)
    right, left = np.maximum(line.real, ahead.real) >= x[0], np.minimum(line.real, ahead.real) <= x[-1]
    above, below = np.maximum(line.imag, ahead.imag) >= y[0], np.minimum(line.imag, ahead.imag) <= y[-1]
    return bool((right & left & above & below).any())


def _arc(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the unit circle what the window may show: all of it, or as much as a small one needs to show it round."""
    centre, width = (x[0] + x[-1] + 1j * (y[0] + y[-1])) / 2, float(x[-1] - x[0])
    if width > 1:
        return CIRCLE
    return np.asarray(np.exp(1j * (np.angle(centre) + 2 * width * np.linspace(-1, 1, len(CIRCLE)))))


def _draw_levels(ds: xr.Dataset, ax: Axes, plane: xr.DataArray, origin: float) -> None:
    """Filled contours of log₁₀ σ_min, a line each, and the bar that says which."""
    with np.errstate(divide="ignore"):
        heights = np.log10(plane.values)
    rounding = np.log10(SMALLEST * float(np.abs(ds["numerical_range"].values).max(initial=0.0)) + np.finfo(float).tiny)
    heights = np.maximum(heights, rounding)  # an exactly singular zI − A as well
    close = plane.name == CLOSE_UP
    levels = _levels(heights, float(heights.max() if close else _edge(heights).min()), close)
    place = plane[plane.dims[1]].values - origin, plane[plane.dims[0]].values
    filled = ax.contourf(*place, heights, levels, cmap=SHADES, extend="both")
    ax.contour(*place, heights, levels, colors=style.BLUE, linewidths=0.7, linestyles="solid")
    beside = ax.inset_axes((1.03, 0.1, 0.04, 0.8))
    bar = ax.figure.colorbar(filled, cax=beside, label="ε = σ$_{\\mathrm{min}}$(zI − A)", ticks=levels.tolist())
    words = _power if (levels == np.round(levels)).all() else _one_digit
    bar.formatter = FuncFormatter(lambda level, _: words(level))  # labels would go with another colour map
    bar.ax.tick_params(size=0)


def _draw_reach(ds: xr.Dataset, ax: Axes, plane: xr.DataArray, origin: float) -> None:
    """Of a stable A the level that is the first to reach the border of stability, or the window in which it is seen."""
    point, half = complex(ds["instability_point"]), float(ds["close_up_half_width"])
    if np.isnan(point):
        return
    if _is_close(ds) and plane.name != CLOSE_UP:
        corner = point.real - half - origin, point.imag - half
        ax.add_patch(Rectangle(corner, 2 * half, 2 * half, fill=False, lw=1.0, zorder=6, label="close-up"))
        return
    level, border = float(ds["instability_distance"]), "Re z = 0" if schema.settings(ds)["flow"] else "|z| = 1"
    look: dict[str, Any] = {"linewidths": 1.6, "linestyles": "-", "colors": style.GREEN}
    if plane.values.min() < level < plane.values.max():
        ax.contour(plane[plane.dims[1]].values - origin, plane[plane.dims[0]].values, plane.values, [level], **look)
        words = f"ε ≤ {at_most(level * (1 - ROUNDING), 3)}, the first to reach {border}"
        ax.plot([], [], color=style.GREEN, lw=1.6, label=words)
    where: dict[str, Any] = {"color": style.GREEN, "mec": "white", "ms": 7, "ls": "none", "label": "z where it does"}
    ax.plot(point.real - origin, point.imag, "X", zorder=6, **where)


def _edge(heights: np.ndarray) -> np.ndarray:
    return np.concatenate([heights[0], heights[-1], heights[:, 0], heights[:, -1]])


def _levels(heights: np.ndarray, closed: float, close: bool) -> np.ndarray:
    """Powers of ten up to `closed` whose borders are seen, with halves and fifths in a close-up or where these are few.

    Where no border does, those of the whole window.
    """
    seen = float(np.quantile(heights, SEEN))
    for low, high, most in ((seen, closed, FEW), (seen, float(heights.max()), FEW), (-np.inf, np.inf, 0)):
        decades = np.arange(np.floor(max(low, heights.min())) - 1, np.ceil(min(high, heights.max())) + 2)
        fine = np.sort(np.log10([1.0, 2.0, 5.0])[:, None] + decades, axis=None)
        for places in ((fine,) if close else (decades, fine)) if most else (decades,):
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
    shown = time >= 0
    few: dict[str, Any] = {"marker": "o", "ms": 4} if known.sum() <= FEW else {}
    ax.plot(time[known], norms[known], color=style.BLUE, lw=1.8, label=name, zorder=3, **few)
    ax.plot(time, promise, color=style.BLACK, ls=":", label=f"{law}, what the eigenvalues promise")
    met, kreiss = float(ds["transient_growth"]), np.log10(float(ds["kreiss_constant"]))
    growth = np.log10(met) if np.isfinite(met) else float(np.max(norms[known]))  # a flow's also between those times
    if 0 < when < time[-1]:
        look: dict[str, Any] = {"color": style.VERMILION, "mfc": "none", "mew": 1.6, "ms": 7, "zorder": 4}
        ax.plot(when, growth, "o", label=f"largest: {_number(growth)}", **look)
        shown = _shown(time, norms, growth, when)
    if np.isfinite(kreiss) and kreiss > NO_GROWTH:
        ax.axhline(kreiss, color=style.GREEN, ls="--", lw=1.1, label=f"Kreiss constant, at least {_at_least(kreiss)}")
    high = max(growth, float(promise.max()), kreiss if np.isfinite(kreiss) else growth)
    low = max(min(float(norms[known & shown].min()), float(promise[shown].min())), -DECADES)
    ax.set_xlim(time[shown][[0, -1]] + (time[shown][-1] - time[0]) * ROOM * np.array([-1, 1]))
    if gone.any():
        ax.text(0.98, 0.9, f"exactly 0 from k = {time[gone][0]:g} on", transform=ax.transAxes, ha="right")
        low = max(low, -FEW)
    pad = max(0.06 * (high - low), 0.1)
    _set_ticks(ax, low - pad, high + pad)
    ax.set(ylim=(low - pad, high + pad), xlabel=along, ylabel=name)
    ax.set_title("Norms, before the eigenvalues decide")
    style.legend_below(ax, 2)


def _shown(time: np.ndarray, norms: np.ndarray, growth: float, when: float) -> np.ndarray:
    """The times at which a norm that grew is still seen to: until it is so much smaller, and not for good."""
    small = (norms < growth - SEEN_DECADES) & (time > FOLLOWED * when)
    last = time[small][0] if small.any() else time[-1]
    return np.asarray(time <= last)


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


def _one_digit(log: float) -> str:
    """1, 2 or 5 times a power of ten."""
    if abs(log) < PLAIN:
        return number(10**log, 1)
    decade = np.floor(log + SEEN)
    return f"${10 ** (log - decade):.0f}\\cdot 10^{{{decade:.0f}}}$"


def _power(log: float) -> str:
    return f"$10^{{{log:.0f}}}$"


def _number(log: float) -> str:
    """What a power of ten is, as a number where it is readable."""
    return number(10**log) if abs(log) < FEW + 1 else f"$10^{{{log:.1f}}}$"


def _at_least(log: float) -> str:
    """The same of a number that is known from below."""
    return at_least(10**log) if abs(log) < FEW + 1 else f"$10^{{{np.floor(10 * log) / 10:.1f}}}$"
