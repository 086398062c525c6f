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
DASHED: dict[str, Any] = {"color": style.BLUE, "ls": "--", "lw": 1.4}


def plot_critical_steps(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The band of the critical steps over the samples and their median; what the formula with the mean slope says.

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
    critical, used = steps["critical_step"].values, np.abs(steps["used_step"].values)
    low, middle, high = _quantiles(np.where(np.isfinite(critical) & (critical > 0), critical, np.nan))
    shown = np.isfinite(middle)
    look: dict[str, Any] = {"color": style.BLUE, "lw": 1.8, "label": "critical step, median", "zorder": 4}
    look |= {"marker": "o", "ms": 5} if shown.sum() == 1 else {}
    if (critical == 0).any():  # of these states alone; a line across a time that has none would promise one there
        look |= {"label": "critical step, median, if any", "marker": "o", "ms": 3}
    if shown.any():
        ax.fill_between(time, low, high, color=style.SKY, alpha=0.4, lw=0, label="least to largest", zorder=2)
        ax.plot(time, middle, **look | artist)
    if "mean_slope_step" in ds:
        formula = np.median(steps["mean_slope_step"].values, axis=0)
        if np.isfinite(formula).any():
            words = "2γ/(γ² + ω²) by the mean slope"
            ax.plot(time, formula, color=style.BLACK, ls=":", lw=1.4, label=words, zorder=5)
    least, _, largest = _quantiles(used)
    signed = "size of the ε that is used" if (steps["used_step"].values < 0).any() else "ε that is used"
    ax.fill_between(time, least, largest, color=style.VERMILION, alpha=0.25, lw=0, zorder=1)
    ax.plot(time, np.median(used, axis=0), color=style.VERMILION, ls="--", lw=1.5, label=signed, zorder=6)
    ax.set_ylim(bottom=max(ax.get_ylim()[0], 10**-DECADES * float(np.nanmax(used))))
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel=style.label(ds["critical_step"]))
    unstable = share(float((ds["stable"] == 0).mean()))
    ax.set_title(f"Critical steps; ε is unstable at {unstable} of {ds['stable'].size:,} states")
    for which, words in (
        (critical == 0, "no step is small enough"),
        (np.isinf(critical), "no step is too large"),
        (np.isnan(critical), "it is not known"),
    ):
        if which.any():
            ax.plot([], [], ls="none", label=f"at {share(np.mean(which))} {words}")
    style.legend_below(ax, 2)
    return ax


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
    border = ds["plane_critical_step"].values
    ax.fill_betweenx(gamma, step[0], np.minimum(border, step[-1]), where=border > 0, color=style.SHADED, lw=0)
    stable = (
        [Patch(fc=style.SHADED, ec=style.GREY, lw=0.6, label="stable at every state")] if (border > 0).any() else []
    )
    shown = np.isfinite(border) & (border > 0)
    if shown.any():
        ax.plot(border[shown], gamma[shown], color=style.BLACK, lw=1.8, label="smallest critical step of the states")
    formula = ds["formula_step_low"].values
    if schema.settings(ds)["integrator"] == "euler" and np.isfinite(formula).any():
        ax.plot(formula, gamma, label="smallest 2γ/(γ² + ω²) by the mean slope", **DASHED)
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
    label = ds["plane_modulus"].attrs["long_name"]
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
