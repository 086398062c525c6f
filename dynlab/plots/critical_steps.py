"""The largest step that is stable, beside the one that is used: along a sequence, and over step size and diffusion."""

import math
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import at_most, share

DECADES = 4.0  # at most below the step that is used: at a state where no step is small enough the band just ends
MODULI = (1.0, 1.001, 1.01, 1.1, 2.0)  # where the colours of the plane change
SHADES = (style.SHADED, "#FEE0B6", "#FDB863", "#E08214", "#B35806", "#7F3B08")  # stable, and below and above each
FORMULA = "formula 2γ/((γ² + ω²) c̄)"  # ω: largest Im λ of A − γI; c̄: mean of the slopes at a state


@layout.picture("Critical step", (5.4, 4.2), needs=["critical_step", "used_step"])
def plot_critical_steps(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the band of the critical steps over the samples and their median; what the formula with the mean slope says.

    The legend has the shares of the states that have no critical step, and why.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.stability`.
    ax : Axes, optional
    **artist
        For the median's line.
    """
    ax.set_yscale("log")
    time, steps = ds[schema.TIME].values, ds.transpose(schema.SAMPLE, schema.TIME, ...)
    critical, used = steps["critical_step"].values, steps["used_step"].values
    low, middle, high = style.quantiles(np.where(critical > 0, critical, np.nan), [0, 0.5, 1])
    if np.isfinite(middle).any():
        whole = len(time) > 1 and np.isfinite(middle).all()  # else a time beside gaps would not show
        ax.fill_between(time, low, high, color=style.SKY, alpha=0.4, lw=0, label="least to largest sample")
        ax.plot(
            time,
            middle,
            label="critical step: sample median",
            **{"color": style.BLUE, "lw": 1.8, "marker": None if whole else ".", "zorder": 4, **artist},
        )
    if "mean_slope_step" in ds:
        formula = np.median(steps["mean_slope_step"].values, axis=0)
        ax.plot(time, formula, color=style.GREY, ls=":", lw=1.6, label=f"{FORMULA}: sample median", zorder=5)
    least, middle, largest = style.quantiles(np.abs(used), [0, 0.5, 1])
    ax.fill_between(time, least, largest, color=style.BLACK, alpha=0.2, lw=0, zorder=1)
    negative = float((used < 0).mean())
    words = "|ε| used" + f", negative at {share(negative)} of the states" * (negative > 0)
    ax.plot(time, middle, color=style.BLACK, ls="--", lw=1.4, label=words, zorder=6)
    for which, words in (
        (critical == 0, "no step is small enough"),
        (np.isposinf(critical), "no step is too large"),
        (np.isnan(critical), "not known"),
    ):
        if which.any():
            ax.plot([], [], ls="none", label=f"{words} at {share(float(which.mean()))} of the states")
    ax.set_ylim(bottom=max(ax.get_ylim()[0], 10**-DECADES * float(np.nanmax(np.abs(used)))))
    style.plain_numbers(ax)
    ax.set(
        xlabel=style.label(ds[schema.TIME]),
        ylabel=style.label(ds["critical_step"]),
        title=f"ε is unstable at {share(float((ds['stable'] == 0).mean()))} of the states",
    )


@layout.picture(
    "Step size and diffusion",
    (5.6, 4.4),
    needs=["plane_modulus", "plane_critical_step", "formula_step_low", "own_diffusion"],
)
def plot_diffusion_plane(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the plane of ε and γ: stable at every state, or the largest modulus |R(ελ)|, with the network's own place.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.stability`, of a flow with Jacobian diag(c) M.
    ax : Axes, optional
    **artist
        For the coloured bands of the modulus.
    """
    step, gamma = ds["plane_step_size"].values, ds["plane_diffusion"].values
    modulus = np.nan_to_num(ds["plane_modulus"].transpose(schema.DIFFUSION, schema.STEP_SIZE).values, posinf=1e3)
    bands = ax.contourf(
        step,
        gamma,
        modulus,
        MODULI,
        extend="both",
        **{"cmap": ListedColormap(SHADES), "norm": BoundaryNorm(MODULI, len(SHADES), extend="both"), **artist},
    )
    bar = ax.figure.colorbar(bands, ax=ax, label=style.label(ds["plane_modulus"]), ticks=MODULI, pad=0.02)
    bar.set_ticklabels([f"{value:g}" for value in MODULI])
    border = ds["plane_critical_step"].values
    for colour in (style.GROUND, style.SHADED):
        ax.fill_betweenx(gamma, step[0], np.minimum(border, step[-1]), where=border > 0, color=colour, lw=0)
    stable = [style.patch(style.SHADED, "stable at every state")] if border.any() else []
    ax.plot(np.where(border > 0, border, np.nan), gamma, color=style.BLACK, lw=1.8, label="smallest critical step")
    if schema.settings(ds)["integrator"] == "euler":
        ax.plot(
            ds["formula_step_low"].values, gamma, color=style.BLUE, ls="--", lw=1.4, label="smallest by the formula"
        )
    own, needed = float(ds["own_diffusion"]), float(ds["needed_diffusion"])
    used = float(np.median(ds["used_step"].values))
    marks: dict[str, Any] = {"mec": style.BLACK, "ls": "none", "zorder": 6}
    if own > 0:
        ax.plot(used, own, marker="*", ms=13, color=style.YELLOW, label="the network", **marks)
    else:
        ax.axvline(used, color=style.BLACK, ls="--", lw=1, label="the network's ε (its γ is 0)")
    if np.isfinite(needed):
        words = f"least γ at which this ε is stable: {at_most(math.nextafter(needed, math.inf))}"
        ax.plot(used, needed, marker="D", ms=6, color=style.GROUND, label=words, **marks)
    ax.set(
        xscale="log",
        yscale="log",
        xlim=step[[0, -1]],
        ylim=gamma[[0, -1]],
        xlabel=style.label(ds["plane_step_size"]),
        ylabel=style.label(ds["plane_diffusion"]),
        title="Where a step ε is stable",
    )
    style.legend_below(ax, 2, handles=[*stable, *ax.get_legend_handles_labels()[0]])
