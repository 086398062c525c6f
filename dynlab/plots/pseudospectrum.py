"""Pseudospectra around the eigenvalues, and how the norms of powers go beside what the eigenvalues promise."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style

PANEL = (4.9, 4.1)  # inches
TITLE_WIDTH = 160  # characters over two panels
MOST_LEVELS = 8
DECADES = 16  # at most, of the norms that are drawn
FEW = 2  # powers of ten are too few ticks for an axis
LARGEST_POWER = 300.0
SHADES = "Blues_r"  # the darker, the nearer to an eigenvalue


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
        return _figure(ds, **artist)
    flow = schema.settings(ds)["flow"]
    _levels(ds, ax)
    border = np.append(ds["numerical_range"].values, ds["numerical_range"].values[:1])
    ax.plot(border.real, border.imag, color=style.VERMILION, ls="--", lw=1.1, label="numerical range")
    if flow:
        ax.axvline(0, color=style.BLACK, lw=1.2, label="Re z = 0")
    else:
        circle = np.exp(2j * np.pi * np.linspace(0, 1, 361))
        ax.plot(circle.real, circle.imag, color=style.BLACK, lw=1.2, label="|z| = 1")
    values = ds["eigenvalue"].values
    look: dict[str, Any] = {"marker": "o", "ms": 4, "color": style.BLACK, "markeredgecolor": "white", "mew": 0.6}
    ax.plot(values.real, values.imag, ls="none", label="eigenvalues", zorder=5, **look | artist)
    ax.set_xlim(float(ds[schema.X][0]), float(ds[schema.X][-1]))
    ax.set_ylim(float(ds[schema.Y][0]), float(ds[schema.Y][-1]))
    ax.set_aspect("equal")
    ax.set_xlabel(style.label(ds[schema.X]))
    ax.set_ylabel(style.label(ds[schema.Y]))
    ax.set_title("Where an error of norm ε = $10^{k}$ may move eigenvalues")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, columnspacing=1.2)
    return ax


def _levels(ds: xr.Dataset, ax: Axes) -> None:
    """Filled contours of log₁₀ σ_min, a line each power of ten."""
    with np.errstate(divide="ignore"):
        heights = np.log10(ds["smallest_singular_value"].values)
    seen = heights[np.isfinite(heights)]
    low, high = int(np.floor(seen.min(initial=0.0))), int(np.ceil(seen.max(initial=0.0)))
    levels = np.arange(max(low, high - MOST_LEVELS), high + 1)
    shown = np.where(np.isfinite(heights), heights, low - 1.0)
    x, y = ds[schema.X].values, ds[schema.Y].values
    ax.contourf(x, y, shown, levels, cmap=SHADES, extend="min")
    # a line belongs between two shades, so that the highest level, which nothing crosses, has none
    lines = ax.contour(x, y, shown, levels[:-1], colors=style.BLUE, linewidths=0.7, linestyles="solid")
    ax.clabel(lines, fmt=lambda level: f"$10^{{{level:g}}}$", fontsize=7)


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style():
        figure, (plane, beside) = plt.subplots(1, 2, figsize=(2.1 * PANEL[0], PANEL[1]))
        plot_pseudospectrum(ds, ax=plane, **artist)
        _powers(ds, beside)
        figure.suptitle(textwrap.fill(ds.attrs.get("verdict", ""), TITLE_WIDTH), fontsize=9, x=0.01, ha="left")
    axes: Axes = plane
    return axes


def _powers(ds: xr.Dataset, ax: Axes) -> None:
    """The norms, the eigenvalues' promise, and the Kreiss constant, on a logarithmic scale of `DECADES` at most."""
    flow = schema.settings(ds)["flow"]
    time, norms = ds[schema.TIME].values, ds["log_power_norm"].values / np.log(10)
    values = ds["eigenvalue"].values
    size = values.real.max() if flow else np.log(max(np.abs(values).max(), np.finfo(float).tiny))
    promise = size * time / np.log(10)
    known = np.isfinite(norms)
    name, law = ("‖$e^{tA}$‖", "$e^{t\\,\\max \\mathrm{Re}\\,λ}$") if flow else ("‖$A^k$‖", "$ρ^k$")
    ax.set_yscale("log")
    ax.plot(time[known], _power(norms[known]), color=style.BLUE, lw=1.8, label=name, zorder=3)
    ax.plot(time, _power(promise), color=style.BLACK, ls=":", label=f"{law}, what the eigenvalues promise")
    gone = np.isneginf(norms)
    if gone.any():
        ax.plot([], [], ls="none", label=f"exactly 0 from k = {time[gone][0]:g} on")
    ax.axhline(1, color=style.FAINT, lw=1, zorder=0)
    growth, when = float(ds["transient_growth"]), float(ds["transient_time"])
    if 0 < when < time[-1] and np.isfinite(growth):
        ax.plot(when, growth, "o", color=style.VERMILION, ms=6, zorder=4, label=f"largest: {growth:.4g}")
    kreiss = float(ds["kreiss_constant"])
    finite = np.isfinite(kreiss)
    if finite:
        said = f"Kreiss constant, at least {kreiss:.4g}"
        ax.axhline(kreiss, color=style.GREEN, ls="--", lw=1.1, label=said)
    high = max(float(norms[known].max(initial=0.0)), float(promise.max()), np.log10(kreiss) if finite else 0.0)
    low = max(min(float(norms[known].min(initial=0.0)), float(promise.min())), high - DECADES)
    pad = max(0.06 * (high - low), 0.1)
    ax.set_ylim(*_power(np.array([low - pad, high + pad])))
    if high - low < FEW:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(style.label(ds[schema.TIME]) if flow else "power k")
    ax.set_ylabel(name)
    ax.set_title("What the norms do before the eigenvalues decide")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, columnspacing=1.2)


def _power(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of ten that float64 holds."""
    return np.asarray(10.0 ** np.clip(exponents, -LARGEST_POWER, LARGEST_POWER))
