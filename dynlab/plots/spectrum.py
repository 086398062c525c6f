"""Eigenvalues of the one-step Jacobians in the complex plane, beside the unit circle."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.eigenvalue_points import draw_points
from dynlab.plots.flow_spectrum import plot_flow_spectrum
from dynlab.plots.spectral_radius import plot_spectral_radius

WHOLE = 1.15  # half the width of the window around the whole unit circle
NEAR_ONE = 0.35  # eigenvalues that are all this near to 1 are shown closer up
ROOM = 1.15  # the window is this much wider than what it shows
SMALLEST = 1e-6  # half the width of the smallest window
PANEL = (4.6, 3.9)  # inches


def plot_spectrum(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The eigenvalues of ∂h_t/∂h_{t−1} of all samples, coloured by t, with the unit circle.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`.
    ax : Axes, optional
        Where only these eigenvalues are drawn. Without it a figure is made that also shows the flow's eigenvalues,
        where there are any, and the spectral radius over time.
    **artist
        For the points.

    Returns
    -------
    Axes
        Of the eigenvalues.
    """
    schema.check(ds, needs=["eigenvalue", "spectral_radius"])
    if ax is None:
        return _figure(ds, **artist)
    values = ds["eigenvalue"].values
    draw_points(ds, "eigenvalue", ax, **artist)
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.BLACK, linewidth=1, zorder=3))
    close_up = _frame(ax, values[np.isfinite(values)])
    ax.set_aspect("equal")
    ax.set_xlabel("Re λ")
    ax.set_ylabel("Im λ")
    ax.set_title(r"Eigenvalues λ of $\partial h_t/\partial h_{t-1}$, unit circle" + (" near 1" if close_up else ""))
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    """One panel for each thing there is to see."""
    has_flow = "flow_eigenvalue" in ds
    panels = 3 if has_flow else 2
    with style.style():
        figure, axes = plt.subplots(1, panels, figsize=(PANEL[0] * panels, PANEL[1]))
        plot_spectrum(ds, ax=axes[0], **artist)
        if has_flow:
            plot_flow_spectrum(ds, ax=axes[1], **artist)
        plot_spectral_radius(ds, ax=axes[-1])
        figure.suptitle(f"One-step Jacobians of {ds.attrs['system']}", x=0.01, ha="left", fontsize=10)
    first: Axes = axes[0]
    return first


def _frame(ax: Axes, values: NDArray[np.complex128]) -> bool:
    """The window: the whole circle, or a close-up of eigenvalues that all lie near 1."""
    from_one = np.abs(values - 1)
    if values.size and from_one.max() < NEAR_ONE:
        half = max(SMALLEST, ROOM * float(from_one.max()))
        ax.set_xlim(1 - half, 1 + half)
        ax.set_ylim(-half, half)
        return True
    half = max([WHOLE, *(ROOM * np.abs([values.real, values.imag]).max(initial=0, axis=-1))])
    ax.set_xlim(-half, half)
    ax.set_ylim(-half, half)
    return False
