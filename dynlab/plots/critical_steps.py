"""The largest step that is stable, beside the one that is used: along a sequence, and over step size and diffusion."""

import math
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import at_most, share

DECADES = 4.0  # at most below the step that is used: at a state where no step is small enough the band just ends
MODULI = (1.0, 1.001, 1.01, 1.1, 2.0)  # where the colours of the plane change
SHADES = (style.SHADED, "#FEE0B6", "#FDB863", "#E08214", "#B35806", "#7F3B08")  # stable, and below and above each
STRIP = (0.0, 1.05, 1.0, 0.13)  # above the axes, in parts of them
DASHED: dict[str, Any] = {"color": style.BLUE, "ls": "--", "lw": 1.4}
LETTERS = (
    "The formula 2γ/((γ² + ω²) c̄) is an approximation of the critical step: ω is the largest imaginary part of an "
    "eigenvalue of the matrix A − γI, and c̄ is the mean of the slopes c at a state."
)


def plot_critical_steps(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The band of the critical steps over the samples and their median; what the formula with the mean slope says.

    A strip above shows at each time the share of the samples that have no critical step, and why.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`.
    ax : Axes, optional
    **artist
        For the median's line.
    """
    schema.check(ds, needs=["critical_step", "used_step"])
    if ax is None:
        return style.panels(ds, [(plot_critical_steps, artist)], (4.8, 4.0), "Critical step")
    ax.set_yscale("log")
    time, steps = ds[schema.TIME].values, ds.transpose(schema.SAMPLE, schema.TIME, ...)
    critical, used = steps["critical_step"].values, steps["used_step"].values
    _draw_critical(ax, time, critical, **artist)
    if "mean_slope_step" in ds:
        formula = np.median(steps["mean_slope_step"].values, axis=0)
        if np.isfinite(formula).any():
            ax.plot(time, formula, color=style.GREY, ls=":", lw=1.6, label="by the formula: sample median", zorder=5)
    least, middle, largest = _quantiles(np.abs(used))
    ax.fill_between(time, least, largest, color=style.BLACK, alpha=0.2, lw=0, zorder=1)
    ax.plot(time, middle, color=style.BLACK, ls="--", lw=1.4, label=_name_of_used(ds), zorder=6)
    ax.set_ylim(bottom=max(ax.get_ylim()[0], 10**-DECADES * float(np.nanmax(np.abs(used)))))
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel=style.label(ds["critical_step"]))
    unstable, never = (share(float(np.mean(which))) for which in (ds["stable"] == 0, critical == 0))
    words = f"ε is unstable at {unstable} of {ds['stable'].size:,} states"
    ax.set_title(
        f"{words};\nno step is small enough at {never} of these {ds['stable'].size:,}"
        if (critical == 0).any()
        else f"Critical steps; {words}"
    )
    strip = _draw_strip(ax, time, critical)
    style.legend_below(ax, 1, handles=[*ax.get_legend_handles_labels()[0], *strip])
    return ax


def _draw_critical(ax: Axes, time: np.ndarray, critical: np.ndarray, **artist: Any) -> None:
    """Their median, and from the least to the largest; bars where times between have none, and a band elsewhere."""
    low, middle, high = _quantiles(np.where(np.isfinite(critical) & (critical > 0), critical, np.nan))
    if not np.isfinite(middle).any():
        return
    look: dict[str, Any] = {"color": style.BLUE, "lw": 1.8, "label": "critical step: sample median", "zorder": 4}
    has_gaps = bool((critical == 0).any())
    if has_gaps:  # of these states alone; a line across a time that has none would promise one there
        look |= {"label": "critical step: median of the samples that have one", "marker": "o", "ms": 3}
    elif np.isfinite(middle).sum() == 1:
        look |= {"marker": "o", "ms": 5}
    wide = high > low
    if wide.any():
        between: dict[str, Any] = {"color": style.SKY, "label": "least to largest sample", "zorder": 2}
        if has_gaps:
            ax.vlines(time[wide], low[wide], high[wide], lw=4, **between)
        else:
            ax.fill_between(time, low, high, alpha=0.4, lw=0, **between)
    ax.plot(time, middle, **look | artist)


def _name_of_used(ds: xr.Dataset) -> str:
    negative = float((ds["used_step"] < 0).mean())
    if not negative:
        return "ε that is used"
    learned = "η is learned and" if "ernn" in ds.attrs["system"] else "it is"
    return f"size of the ε that is used; {learned} negative at {share(negative)} of the states"


def _draw_strip(ax: Axes, time: np.ndarray, critical: np.ndarray) -> list[Patch]:
    """Above the axes, at each time, the share of the samples without a critical step, by the reason; its legend."""
    parts = [
        (critical == 0, style.VERMILION, "no step is small enough"),
        (np.isnan(critical), style.GREY, "the critical step is not known"),
        (np.isinf(critical), style.GREEN, "no step is too large"),
    ]
    if np.isfinite(critical[critical != 0]).sum() == critical.size:
        return []
    strip = ax.inset_axes(STRIP, sharex=ax)
    middles = (time[1:] + time[:-1]) / 2
    first, last = (middles[0], middles[-1]) if len(middles) else (time[0] + 0.5, time[0] + 0.5)
    edges = np.concatenate([[2 * time[0] - first], middles, [2 * time[-1] - last]])
    bottom, entries = np.zeros(len(time)), []
    for which, colour, words in parts:
        if not which.any():
            continue
        top = bottom + which.mean(axis=0)
        strip.stairs(top, edges, baseline=bottom, fill=True, color=colour)
        entries.append(Patch(color=colour, label=f"strip above: {words} (at {share(np.mean(which))})"))
        bottom = top
    strip.set(ylim=(0, 1), yticks=(0, 1), yticklabels=("0", "100 %"))
    strip.tick_params(axis="x", labelbottom=False, length=0)
    return entries


def plot_diffusion_plane(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Where the step is stable at every state, and else the largest modulus |R(ελ)|, with the network's own ε and γ.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`, of a flow with Jacobian diag(c) M.
    ax : Axes, optional
    **artist
        For the coloured bands of the modulus.
    """
    schema.check(ds, needs=["plane_modulus", "plane_critical_step", "formula_step_low", "own_diffusion"])
    if ax is None:
        return style.panels(ds, [(plot_diffusion_plane, artist)], (5.4, 4.2), "Step size and diffusion")
    step, gamma = ds["plane_step_size"].values, ds["plane_diffusion"].values
    _draw_moduli(ds, ax, **artist)
    border, one = ds["plane_critical_step"].values, ds["stable"].size == 1
    ax.fill_betweenx(gamma, step[0], np.minimum(border, step[-1]), where=border > 0, color=style.SHADED, lw=0)
    words = "stable" if one else "stable at every state"
    stable = [Patch(fc=style.SHADED, ec=style.GREY, lw=0.6, label=words)] if (border > 0).any() else []
    shown = np.isfinite(border) & (border > 0)
    if shown.any():
        words = "critical step" if one else "smallest critical step of the states"
        ax.plot(border[shown], gamma[shown], color=style.BLACK, lw=1.8, label=words)
    formula = ds["formula_step_low"].values
    if schema.settings(ds)["integrator"] == "euler" and np.isfinite(formula).any():
        ax.plot(formula, gamma, label="by the formula" if one else "smallest by the formula", **DASHED)
    _draw_network(ds, ax)
    ax.set(xscale="log", yscale="log", xlim=step[[0, -1]], ylim=gamma[[0, -1]])
    ax.set(xlabel=style.label(ds["plane_step_size"]), ylabel=style.label(ds["plane_diffusion"]))
    ax.set_title("Where a step ε is stable, by the diffusion γ")
    style.legend_below(ax, 2, handles=[*stable, *ax.get_legend_handles_labels()[0]])
    return ax


def _draw_moduli(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Bands of the largest modulus, from little above 1 to much, and the bar that says which."""
    modulus = np.nan_to_num(ds["plane_modulus"].transpose(schema.DIFFUSION, schema.STEP_SIZE).values, posinf=1e3)
    look: dict[str, Any] = {"cmap": ListedColormap(SHADES), "norm": BoundaryNorm(MODULI, len(SHADES), extend="both")}
    bands = ax.contourf(
        ds["plane_step_size"].values, ds["plane_diffusion"].values, modulus, MODULI, extend="both", **look | artist
    )
    label = "largest modulus |R(ελ)|" if ds["stable"].size == 1 else ds["plane_modulus"].attrs["long_name"]
    bar = ax.figure.colorbar(bands, ax=ax, label=label, ticks=MODULI, pad=0.02)
    bar.formatter = FuncFormatter(lambda modulus, _: f"{modulus:g}")  # labels would go with another colour map


def _draw_network(ds: xr.Dataset, ax: Axes) -> None:
    """The network's own step size and diffusion, and the diffusion that its step size needs."""
    own, needed = float(ds["own_diffusion"]), float(ds["needed_diffusion"])
    used = float(np.median(ds["used_step"].values))
    if own > 0:
        star: dict[str, Any] = {"ms": 13, "color": style.YELLOW, "mec": style.BLACK, "ls": "none"}
        ax.plot(used, own, marker="*", label="the network", zorder=6, **star)
    else:
        ax.axvline(used, color=style.BLACK, ls="--", lw=1, label="the network's ε (its γ is 0)")
    if np.isfinite(needed):
        diamond: dict[str, Any] = {"ms": 6, "color": "white", "mec": style.BLACK, "ls": "none"}
        words = f"least γ at which this ε is stable: {at_most(math.nextafter(needed, math.inf))}"
        ax.plot(used, needed, marker="D", label=words, zorder=6, **diamond)


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Least, median and largest over the samples, NaN where none is known; shape (3, time)."""
    found = np.full((3, values.shape[1]), np.nan)
    some = np.isfinite(values).any(axis=0)
    found[:, some] = np.nanquantile(values[:, some], [0, 0.5, 1], axis=0)
    return found
