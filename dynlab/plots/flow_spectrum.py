"""Eigenvalues of a flow's Jacobians along trajectories, beside the disc in which Euler's method is stable."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.eigenvalue_points import draw_points

DISC_COLOUR = "#E3EEF6"
ROOM = 1.15  # the window is this much wider than what it shows
SMALLEST = 1e-6  # half the width of the smallest window, in 1/s


def plot_flow_spectrum(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The flow's eigenvalues of all samples, coloured by t, with the edge of Euler's disc |1 + ελ| ≤ 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`, of an Euler step.
    ax : Axes, optional
    **artist
        For the points.
    """
    schema.check(ds, needs=["flow_eigenvalue"])
    ax = style.axes(ax, (4.6, 3.9))
    step_size = float(schema.settings(ds)["step_size"])
    draw_points(ds, "flow_eigenvalue", ax, **artist)
    disc = Circle(
        (-1 / step_size, 0), 1 / step_size, facecolor=DISC_COLOUR, edgecolor=style.BLACK, linewidth=1, zorder=0
    )
    ax.add_patch(disc)
    values = ds["flow_eigenvalue"].values
    values = values[np.isfinite(values)]
    # The real parts are often thousands of times smaller than the imaginary ones: each axis has its own scale.
    real, imaginary = values.real, values.imag
    width = max(SMALLEST, float(np.ptp(real)) if real.size else 0.0, float(np.abs(real).max(initial=0)) * 0.2)
    ax.set_xlim(min(real.min(initial=0), 0) - 0.15 * width, max(real.max(initial=0), 0) + 0.15 * width)
    height = max(SMALLEST, ROOM * float(np.abs(imaginary).max(initial=0)))
    ax.set_ylim(-height, height)
    ax.set_xlabel("Re λ (1/s)")
    ax.set_ylabel("Im λ (1/s)")
    ax.set_title(f"The flow's λ; shaded: |1 + ελ| ≤ 1 at ε = {step_size:g}")
    return ax
