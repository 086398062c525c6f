"""Pseudospectra around the eigenvalues, and how the norms of powers go beside what the eigenvalues promise."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.plots.unit_circle import CIRCLE
from dynlab.words import at_least, at_most, number

WIDTH, LOW, TALLER = 10.3, 5.2, 9.4  # inches: the height without and with a close-up
MOST_LEVELS, FEWEST_LEVELS = 8, 3
DECADES = 16  # of norms below 1 that are drawn
SHADES = "Blues_r"  # the darker, the nearer to an eigenvalue
MANY = 30  # eigenvalues, beyond which their markers are small
NO_GROWTH = 1e-3  # of log₁₀ of the Kreiss constant: where it is 1, which it always is at least, it tells nothing
SEEN = 5e-4  # of the window: what is smaller has no border to see
READABLE = 3.0  # decades around 1 in which a number is written without a power of ten
CLOSE_UP = "close_smallest_singular_value"
ROUNDING = 1e-12  # of a level that is rounded up, so much is what rounding left in it
SMALLEST = 1e-17  # times the largest entry: what rounding makes of σ_min has no levels of its own


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    near = [(_draw_close_up, artist)] * bool(np.isfinite(ds["close_up_half_width"]))
    drawn: list[layout.Panel] = [(plot_pseudospectrum, artist), *near, (_draw_powers, {})]
    return layout.panels(ds, drawn, (WIDTH, TALLER if near else LOW), "Pseudospectrum")


@layout.picture(
    needs=("smallest_singular_value", "eigenvalue", "numerical_range", "log_power_norm", CLOSE_UP),
    figure=_figure,
)
def plot_pseudospectrum(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw borders of the ε-pseudospectra for ε = 1, 0.1, …, the eigenvalues, the numerical range, the stable region.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.pseudospectrum`.
    ax : Axes, optional
        Axes for the complex plane alone. Without it a figure is made that also shows ‖Aᵏ‖, with the verdict below.
    **artist
        For the eigenvalues' markers.

    Returns
    -------
    Axes
        The panel of the complex plane.
    """
    plane = ds["smallest_singular_value"].transpose(schema.Y, schema.X)
    title = "Where errors of norm ε move eigenvalues"
    _draw_plane(ds, ax, plane.values, ds[schema.X].values, ds[schema.Y].values, title, **artist)
    if np.isfinite(ds["close_up_half_width"]):
        point, half = complex(ds["instability_point"]), float(ds["close_up_half_width"])
        square = (point.real - half, point.imag - half), 2 * half, 2 * half
        ax.add_patch(Rectangle(*square, fill=False, ec=style.BLACK, zorder=6, label="close-up"))
    else:
        _draw_reach(ds, ax, plane.values, ds[schema.X].values, ds[schema.Y].values)


def _draw_close_up(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Around the place where the border of stability is first reached."""
    plane = ds[CLOSE_UP].transpose(schema.CLOSE_Y, schema.CLOSE_X).values
    point, half = complex(ds["instability_point"]), float(ds["close_up_half_width"])
    x, y = point.real + half * np.linspace(-1, 1, plane.shape[1]), point.imag + half * np.linspace(-1, 1, len(plane))
    _draw_plane(ds, ax, plane, x, y, "Close-up: where the border is reached", **artist)
    _draw_reach(ds, ax, plane, x, y)
    ax.locator_params(nbins=5)
    ax.ticklabel_format(useOffset=False)


def _draw_plane(
    ds: xr.Dataset, ax: Axes, plane: np.ndarray, x: np.ndarray, y: np.ndarray, title: str, **artist: Any
) -> None:
    """σ_min (y, x) over a window, the eigenvalues, the numerical range, the stable region."""
    rounding = SMALLEST * float(np.abs(ds["numerical_range"].values).max(initial=0.0)) + np.finfo(float).tiny
    heights = np.log10(np.maximum(plane, rounding))
    levels = _levels(heights)
    filled = ax.contourf(x, y, heights, levels, cmap=SHADES, extend="both")
    ax.contour(x, y, heights, levels, colors=style.BLUE, linewidths=0.7, linestyles="solid")
    bar = ax.figure.colorbar(filled, ax=ax, label="ε = σ$_{\\mathrm{min}}$(zI − A)", ticks=levels.tolist(), shrink=0.8)
    bar.ax.set_yticklabels([_number(level, 1) for level in levels])
    border = np.append(ds["numerical_range"].values, ds["numerical_range"].values[:1])
    ax.plot(border.real, border.imag, color=style.VERMILION, ls="--", lw=1.1, label="numerical range")
    if schema.settings(ds)["flow"]:
        ax.axvline(0, color=style.BLACK, lw=1.2, label="Re z = 0: stable to the left")
    else:
        ax.plot(CIRCLE.real, CIRCLE.imag, color=style.BLACK, lw=1.2, label="|z| = 1: stable inside")
    values = ds["eigenvalue"].values
    size = {"ms": 4, "mew": 0.6} if len(values) <= MANY else {"ms": 2.2, "mew": 0.25}
    look = {"marker": "o", "color": "black", "mec": "white", "ls": "none", "zorder": 5, **size, **artist}
    ax.plot(values.real, values.imag, label="eigenvalues", **look)
    ax.set(
        xlim=x[[0, -1]],
        ylim=y[[0, -1]],
        aspect="equal",
        xlabel=style.label(ds[schema.X]),
        ylabel=style.label(ds[schema.Y]),
        title=title,
    )


def _draw_reach(ds: xr.Dataset, ax: Axes, plane: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Draw the first level that reaches the border of stability of a stable A, and the point of contact."""
    point, level = complex(ds["instability_point"]), float(ds["instability_distance"])
    if np.isnan(point):
        return
    if plane.min() < level < plane.max():
        ax.contour(x, y, plane, [level], linewidths=1.6, colors=style.GREEN)
        ax.plot(
            [], [], color=style.GREEN, lw=1.6, label=f"ε ≤ {at_most(level * (1 - ROUNDING), 3)}, the first to reach it"
        )
    ax.plot(point.real, point.imag, "X", zorder=6, color=style.GREEN, mec=style.GROUND, ms=7, ls="none")


def _levels(heights: np.ndarray) -> np.ndarray:
    """Powers of ten whose borders are seen, with halves and fifths where these are few."""
    low, high = float(np.quantile(heights, SEEN)), float(heights.max())
    decades = np.arange(np.floor(low) - 1, np.ceil(high) + 2)
    fine = np.sort(np.log10([1.0, 2.0, 5.0])[:, None] + decades, axis=None)
    whole, parts = (places[(places >= low) & (places <= high)] for places in (decades, fine))
    found = whole if len(whole) >= FEWEST_LEVELS else parts
    return found[-MOST_LEVELS:] if len(found) else np.array([(low + high) / 2])


def _draw_powers(ds: xr.Dataset, ax: Axes) -> None:
    """log₁₀ of the norms, of the eigenvalues' promise and of the Kreiss constant.

    The axis is linear, with powers of ten as its labels: norms may be beyond what float64 holds.
    """
    time, norms = ds[schema.TIME].values, ds["log_power_norm"].values / np.log(10)
    known, gone, values = np.isfinite(norms), np.isneginf(norms), ds["eigenvalue"].values
    if schema.settings(ds)["flow"]:
        name, law, rate = "‖$e^{tA}$‖", "$e^{t\\,\\max \\mathrm{Re}\\,λ}$", float(values.real.max())
    else:
        name, law, rate = "‖$A^k$‖", "$ρ^k$", float(np.log(max(np.abs(values).max(), np.finfo(float).tiny)))
    promise = rate * time / np.log(10)
    ax.axhline(0, color=style.FAINT, lw=1, zorder=0)
    ax.plot(time[known], norms[known], color=style.BLUE, lw=1.8, marker="o" if known.sum() < 3 else None, label=name)
    ax.plot(time, promise, color=style.BLACK, ls=":", label=f"{law}, what the eigenvalues promise")
    met, kreiss = float(ds["transient_growth"]), np.log10(float(ds["kreiss_constant"]))
    growth, when = np.log10(met) if np.isfinite(met) else float(np.max(norms[known])), float(ds["transient_time"])
    if 0 < when < time[-1]:
        ax.plot(
            when,
            growth,
            "o",
            ls="none",
            label=f"largest: {_number(growth)}",
            color=style.VERMILION,
            mfc="none",
            mew=1.6,
            ms=7,
            zorder=4,
        )
    if np.isfinite(kreiss) and kreiss > NO_GROWTH:
        least = at_least(10**kreiss) if kreiss < READABLE else f"$10^{{{np.floor(10 * kreiss) / 10:.1f}}}$"
        ax.axhline(kreiss, color=style.GREEN, ls="--", lw=1.1, label=f"Kreiss constant, at least {least}")
    if gone.any():
        ax.plot([], [], ls="none", label=f"exactly 0 from k = {time[gone][0]:g} on")
    ends = np.concatenate([norms[known], promise, [growth], [kreiss] if np.isfinite(kreiss) else []])
    low, high = max(float(ends.min()), -DECADES), float(ends.max())
    pad = max(0.06 * (high - low), 0.1)
    ax.set(
        ylim=(low - pad, high + pad),
        ylabel=name,
        title="Norms, before the eigenvalues decide",
        xlabel=style.label(ds[schema.TIME]) if schema.settings(ds)["flow"] else "power k",
    )
    whole = high - low < READABLE
    fine = np.log10([1.0, 2.0, 5.0])[:, None] + np.arange(-READABLE - 1, READABLE + 1)
    ax.yaxis.set_major_locator(FixedLocator(fine.ravel()) if whole else MaxNLocator(7, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda place, _: _number(place, 2)))


def _number(log: float, digits: int = 4) -> str:
    """Write a power of ten, as a plain number if that is readable."""
    return number(10**log, digits) if abs(log) < READABLE else f"$10^{{{log:.3g}}}$"
