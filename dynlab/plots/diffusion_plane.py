"""Over step size and diffusion: where the step is stable at all states, and what the formula with one slope says."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from dynlab import schema
from dynlab.plots import style

FARTHEST = 0.3  # of a modulus from 1, which the colours reach to


def plot_diffusion_plane(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The largest modulus |R(ελ)| over the states, its border 1, the curve 2γ/(γ² + ω²), and where the network is.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`, of a flow with Jacobian diag(c) M.
    ax : Axes, optional
    **artist
        For the coloured mesh.
    """
    schema.check(ds, needs=["plane_modulus", "plane_critical_step", "formula_step_low", "own_diffusion"])
    ax = style.axes(ax, (5.4, 4.2))
    step, gamma = ds["plane_step_size"].values, ds["plane_diffusion"].values
    modulus = np.nan_to_num(ds["plane_modulus"].transpose(schema.DIFFUSION, schema.STEP_SIZE).values, posinf=1e3)
    norm = TwoSlopeNorm(1.0, 1 - FARTHEST, 1 + FARTHEST)
    look: dict[str, Any] = {"cmap": f"{style.DIVERGING}_r", "norm": norm, "shading": "nearest", "rasterized": True}
    mesh = ax.pcolormesh(step, gamma, modulus, **look | artist)
    ax.figure.colorbar(mesh, ax=ax, label=ds["plane_modulus"].attrs["long_name"], extend="both", pad=0.02)
    border = ds["plane_critical_step"].values
    shown = np.isfinite(border) & (border > 0)
    if shown.any():
        ax.plot(border[shown], gamma[shown], color=style.BLACK, lw=1.8, label="critical step of the states")
    if schema.settings(ds)["integrator"] == "euler":
        _formula(ds, gamma, ax)
    own, used = float(ds["own_diffusion"]), float(np.median(ds["used_step"].values))
    if own > 0:
        point: dict[str, Any] = {"marker": "*", "ms": 13, "color": style.YELLOW, "mec": style.BLACK, "ls": "none"}
        ax.plot(used, own, label="the network", zorder=6, **point)
    else:
        ax.axvline(used, color=style.BLACK, ls="--", lw=1, label="the network's ε (its γ is 0)")
    needed = float(ds["needed_diffusion"])
    if np.isfinite(needed):
        words = f"γ = {needed:.4g}, least for this ε"
        ax.plot(used, needed, "D", ms=6, color="white", mec=style.BLACK, zorder=6, label=words)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(step[0], step[-1])
    ax.set_ylim(gamma[0], gamma[-1])
    ax.set_xlabel(style.label(ds["plane_step_size"]))
    ax.set_ylabel(style.label(ds["plane_diffusion"]))
    ax.set_title("Orange grows, violet shrinks: the worst mode")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, columnspacing=1.2)
    return ax


def _formula(ds: xr.Dataset, gamma: np.ndarray, ax: Axes) -> None:
    low, high = ds["formula_step_low"].values, ds["formula_step_high"].values
    if not np.isfinite(low).any():
        return
    words = "2γ/(γ² + ω²), ω of each state"
    if np.allclose(low, high, rtol=1e-6):
        ax.plot(low, gamma, color=style.BLUE, ls="--", lw=1.6, label=words)
    else:
        ax.fill_betweenx(gamma, low, high, fc="none", ec=style.BLUE, hatch="////", lw=0, alpha=0.5)
        for side, label in ((low, words), (high, None)):
            ax.plot(side, gamma, color=style.BLUE, ls="--", lw=1.2, label=label)
