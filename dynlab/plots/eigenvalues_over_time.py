"""How the eigenvalues of the one-step Jacobians change along a trajectory: λ(t) of a flow, |μ(t)| of a map."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.gradient import BANDS
from dynlab.wording import share

PANEL = (5.0, 4.0)  # inches
ZERO, MANY = 1e-9, 0.25  # a modulus that is 0 but for rounding, and the share of such modes that hides the others
NAMES = ("all modes", "middle half of them")  # of the bands
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
    values = values.where(schema.known(ds, "spectral_radius"))
    values, times = values.transpose(schema.TIME, schema.SAMPLE, schema.MODE), ds[schema.TIME].values
    known = np.isfinite(values.values).any(axis=(1, 2))
    values, times = values.isel({schema.TIME: known}), times[known]
    gone = values < ZERO if not is_flow and ds.sizes[schema.MODE] > FEW else xr.zeros_like(values, dtype=bool)
    some = bool(gone.mean() > MANY and (~gone).any([schema.SAMPLE, schema.MODE]).all())
    values = values.where(~gone) if some else values  # else the bands of a network of rectifiers are one block from 0
    line: dict[str, Any] = {"linewidth": 2.0, "marker": "o" if len(times) == 1 else None, "markersize": 4} | artist
    symbol = "λ" if is_flow else "μ"
    edge: dict[str, Any] = {"color": style.BLACK, "ls": "--", "lw": 1, "zorder": 1.5}  # above the bands
    ax.axhline(0.0 if is_flow else 1.0, label="Re λ = 0" if is_flow else "|μ| = 1", **edge)
    if ds.sizes[schema.MODE] <= FEW:
        for mode, one in enumerate(values.median(schema.SAMPLE).values.T):
            look: dict[str, Any] = {"color": style.CYCLE[mode], "ls": DASHES[mode], "label": f"${symbol}_{mode + 1}$"}
            ax.plot(times, one, **look | line)
    else:
        for (low, high, colour, _), name in zip(BANDS, NAMES, strict=True):
            edges = values.quantile([low, high], [schema.SAMPLE, schema.MODE]).values
            words = name + " that are not 0" * some
            ax.fill_between(times, *edges, color=colour, linewidth=0, label=words)
        middle = values.median([schema.SAMPLE, schema.MODE]).values
        ax.plot(times, middle, **{"color": style.BLUE, "label": "median of the modes"} | line)
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel="Re λ (1/s)" if is_flow else "|μ|")
    left_out = f", without the {share(float(gone.mean()))} of modes that are 0" if some else ""
    ax.set_title("Re λ(t) of the flow" if is_flow else f"Moduli |μ(t)|{left_out}")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    style.legend_below(ax, 2)
    return ax
