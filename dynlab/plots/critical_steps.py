"""The largest step that is stable at the states along a sequence, beside the one that is used."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import share

DECADES = 4.0  # at most below the step that is used: at a state where no step is small enough the band just ends


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
    ax = style.axes(ax, (4.8, 4.0))
    each = (schema.SAMPLE, schema.TIME)
    time = ds[schema.TIME].values
    critical, used = ds["critical_step"].transpose(*each).values, np.abs(ds["used_step"].transpose(*each).values)
    known = np.where(np.isfinite(critical) & (critical > 0), critical, np.nan)
    ax.set_yscale("log")
    low, middle, high = _quantiles(known)
    shown = np.isfinite(middle)
    look: dict[str, Any] = {"color": style.BLUE, "lw": 1.8, "label": "critical step, median", "zorder": 4}
    marker = {"marker": "o", "ms": 5} if shown.sum() == 1 else {}
    if shown.any():
        ax.fill_between(time, low, high, color=style.SKY, alpha=0.4, lw=0, label="least to largest", zorder=2)
        ax.plot(time[shown], middle[shown], **look | marker | artist)
    if "mean_slope_step" in ds:
        formula = np.median(ds["mean_slope_step"].transpose(*each).values, axis=0)
        if np.isfinite(formula).any():
            words = "2γ/(γ² + ω²) by the mean slope"
            ax.plot(time, formula, color=style.BLACK, ls=":", lw=1.4, label=words, zorder=5)
    least, _, largest = _quantiles(used)
    ax.fill_between(time, least, largest, color=style.VERMILION, alpha=0.25, lw=0, zorder=1)
    step = ax.plot(time, np.median(used, axis=0), color=style.VERMILION, ls="--", lw=1.5, label="ε that is used")
    step[0].set_zorder(6)
    bottom, top = ax.get_ylim()
    ax.set_ylim(max(bottom, 10**-DECADES * float(np.nanmax(used))), top)
    ax.set_xlabel(style.label(ds[schema.TIME]))
    ax.set_ylabel(style.label(ds["critical_step"]))
    stable = ds["stable"].values
    ax.set_title(f"The step is unstable at {share(np.mean(stable == 0))} of {stable.size} states")
    for part, words in (
        (np.mean(critical == 0), "no step is small enough"),
        (np.mean(np.isinf(critical)), "no step is too large"),
        (np.mean(np.isnan(critical)), "it is not known"),
    ):
        if part:
            ax.plot([], [], ls="none", label=f"at {share(part)} {words}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, columnspacing=1.2)
    return ax


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Least, median and largest over the samples, NaN where none is known; shape (3, time)."""
    found = np.full((3, values.shape[1]), np.nan)
    some = np.isfinite(values).any(axis=0)
    found[:, some] = np.nanquantile(values[:, some], [0, 0.5, 1], axis=0)
    return found
