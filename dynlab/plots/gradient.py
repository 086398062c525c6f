"""The gradient's way back through time."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.over_time import draw_samples

STATE = r"$\ln\,\|\partial h_T/\partial h_t\|_2$"
LOSS = r"$\ln\,\|\partial L/\partial h_t\|_2$"


def plot_gradient(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The natural logarithm of ‖∂h_T/∂h_t‖₂ over t, and of ‖∂L/∂h_t‖₂ where there is a loss.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.gradient`.
    ax : Axes, optional
    **artist
        For the samples' lines.
    """
    schema.check(ds, needs=["log_norm"])
    ax = style.axes(ax, (6.4, 4.0))
    last = int(ds[schema.TIME].values[-1])
    ax.axhline(0, color=style.BLACK, linewidth=1, linestyle=":", zorder=1, label="neither shrinks nor grows")
    has_loss = "log_loss_gradient" in ds
    draw_samples(ds["log_norm"], ax, style.BLUE, STATE if has_loss else "", **artist)
    if has_loss:
        draw_samples(ds["log_loss_gradient"], ax, style.VERMILION, LOSS, "--", **artist)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ylabel = "ln of the norm of the gradient" if has_loss else STATE
    ax.set(xlim=(0, last), xlabel=style.label(ds[schema.TIME]), ylabel=ylabel)
    ax.set_title(f"Gradient of {ds.attrs['system']} from T = {last} back to each earlier t")
    ax.legend()
    return ax
