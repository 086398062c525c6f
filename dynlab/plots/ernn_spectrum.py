"""The real parts of the eigenvalues of ERNN's inner flow, as a histogram."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab.plots import layout, style
from dynlab.words import share

BINS = 80


@layout.picture("Spectrum of the inner flow", (5.6, 3.6), needs=["inner_eigenvalue", "inner_eigenvalue_error"])
def plot_ernn_spectrum(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw how often each real part occurs, those that an equilibrium must not have in another colour.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.ernn_spectrum`.
    ax : Axes, optional
    **artist
        For the bars.

    Returns
    -------
    Axes
    """
    finite = np.isfinite(ds["inner_eigenvalue_error"].values)
    real, error = ds["inner_eigenvalue"].values.real[finite], ds["inner_eigenvalue_error"].values[finite]
    edges = np.histogram_bin_edges(real, BINS)
    bottom = np.zeros(len(edges) - 1)
    for name, chosen, colour, hatch in (
        ("below 0", real < -error, style.STABLE, None),
        ("0 within its error", np.abs(real) <= error, style.UNDECIDED, "///"),
        ("above 0", real > error, style.UNSTABLE, "..."),
    ):
        counts = np.histogram(real[chosen], edges)[0] / len(real)
        ax.bar(
            edges[:-1],
            counts,
            np.diff(edges),
            bottom,
            align="edge",
            label=f"{name}: {share(chosen.mean())}",
            **{"color": colour, "hatch": hatch, "edgecolor": style.GROUND, "linewidth": 0.2, **artist},
        )
        bottom += counts
    ax.axvline(0, color=style.BLACK, linewidth=0.8)
    name = f"real part of the {style.label(ds['inner_eigenvalue'])}"
    ax.set(yscale="log", xlabel=name, ylabel="share of the eigenvalues")
