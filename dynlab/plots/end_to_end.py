"""The singular values of the end-to-end Jacobian over time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style

SURVIVES = 0.1  # a direction survives where its singular value is at least this
BANDS = ((0.0, 1.0, "#D6E6F2", "all resolved modes"), (0.25, 0.75, "#9CC3DF", "middle half of the modes"))


def plot_end_to_end(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The logarithms of the singular values of ∂h_t/∂h_0 over t, and of the eigenvalues' mean modulus.

    Medians over the samples; bands hold all modes, and the middle half of them.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.end_to_end`.
    ax : Axes, optional
    **artist
        For the line of the largest singular value.
    """
    schema.check(ds, needs=["log_singular_value", "log_mean_modulus", "resolved"])
    ax = style.axes(ax, (7.4, 4.0))
    times = ds[schema.TIME].values
    values = ds["log_singular_value"].where(np.isfinite(ds["log_singular_value"])).median(schema.SAMPLE)
    mark = "." if len(times) == 1 else None
    known = values.notnull().any(schema.MODE).values
    for low, high, colour, name in BANDS:
        edges = values.isel({schema.TIME: known}).quantile([low, high], schema.MODE)
        ax.fill_between(times[known], edges.values[0], edges.values[1], color=colour, linewidth=0, label=name)
    options: dict[str, Any] = {"color": style.BLUE, "linewidth": 2.2, "marker": mark, "label": "largest σ"} | artist
    ax.plot(times, values.isel(mode=0), **options)
    ax.plot(times, values.median(schema.MODE), color=style.BLUE, marker=mark, linewidth=1, label="median σ")
    modulus = ds["log_mean_modulus"].median(schema.SAMPLE)
    ax.plot(times, modulus, color=style.VERMILION, linestyle="--", marker=mark, label="mean |λ|")
    ax.axhline(np.log(SURVIVES), color=style.BLACK, linestyle=":", linewidth=1, label=f"σ = {SURVIVES}: survives above")
    ax.axhline(0, color=style.FAINT, linewidth=0.8, zorder=0)
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel=r"$\ln\,\sigma_i$ of $\partial h_t/\partial h_0$")
    ax.set_title(_title(ds))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _title(ds: xr.Dataset) -> str:
    samples, modes = ds.sizes[schema.SAMPLE], ds.sizes[schema.MODE]
    resolved = int(ds["resolved"].values[:, -1].min())
    text = f"End-to-end Jacobian of {ds.attrs['system']}"
    text += f", median of {samples} samples" if samples > 1 else ""
    return text + (f"; {resolved} of {modes} modes resolved at the end" if resolved < modes else "")
