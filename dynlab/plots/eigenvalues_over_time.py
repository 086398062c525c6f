"""How the eigenvalues of the one-step Jacobians change along a trajectory: λ(t) of a flow, |μ(t)| of a map."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style

PANEL = (5.0, 4.0)  # inches
BANDS = ((0.0, 1.0, f"{style.BLUE}2A", "all"), (0.25, 0.75, f"{style.BLUE}66", "middle half"))  # of many values
FEW = 4  # modes, each of which has its own line; of more bands are drawn
DASHES = ("-", (0, (4, 4)), (4, (2, 6)), (0, (1, 7)))  # of each line, so that those that coincide are all seen


def plot_eigenvalues_over_time(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Re λ of a flow, else |μ|, of all modes over time: lines of few modes, bands of many.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`.
    ax : Axes, optional
    **artist
        For the lines: each mode's median over the samples where there are at most four modes, else the median of all.
    """
    schema.check(ds, needs=["eigenvalue", "spectral_radius"])
    if ax is None:
        return style.panels(ds, [(plot_eigenvalues_over_time, artist)], PANEL, "Eigenvalues over time")
    is_flow = "flow_eigenvalue" in ds
    values = ds["flow_eigenvalue"].real if is_flow else abs(ds["eigenvalue"])
    values = values.where(schema.known(ds, "spectral_radius")).transpose(schema.TIME, schema.SAMPLE, schema.MODE)
    values = values.isel({schema.TIME: np.isfinite(values.values).any(axis=(1, 2))})
    times = values[schema.TIME].values
    line: dict[str, Any] = {"linewidth": 2.0, "marker": "o" if len(times) == 1 else None, "markersize": 4} | artist
    border = "Re λ = 0" if is_flow else "|μ| = 1"
    ax.axhline(float(not is_flow), color=style.BLACK, ls="--", lw=1, zorder=1.5, label=border)
    if ds.sizes[schema.MODE] <= FEW:
        for mode, one in enumerate(values.median(schema.SAMPLE).values.T):
            name = f"${'λ' if is_flow else 'μ'}_{mode + 1}$"
            look: dict[str, Any] = {"color": style.CYCLE[mode], "ls": DASHES[mode], "label": name}
            ax.plot(times, one, **look | line)
    else:
        for low, high, colour, name in BANDS:
            edges = values.quantile([low, high], [schema.SAMPLE, schema.MODE]).values
            ax.fill_between(times, *edges, color=colour, linewidth=0, label=f"{name} of the modes")
        middle = values.median([schema.SAMPLE, schema.MODE]).values
        ax.plot(times, middle, **{"color": style.BLUE, "label": "median of the modes"} | line)
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel="Re λ (1/s)" if is_flow else "|μ|")
    ax.set_title("Re λ(t) of the flow" if is_flow else "Moduli |μ(t)|")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    style.legend_below(ax, 2)
    return ax
