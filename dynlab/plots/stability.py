"""What a step makes of a flow: the integrator's region, critical steps over time, the plane of ε and γ, theory."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.critical_steps import plot_critical_steps
from dynlab.plots.diffusion_plane import plot_diffusion_plane
from dynlab.plots.step_region import plot_step_region
from dynlab.plots.theory_bounds import plot_theory_bounds

PANEL = (4.9, 4.0)  # inches
ROW, FRAME = 0.42, 0.7  # of the table of bounds
LETTERS = 14  # characters of the verdict over an inch of width


def plot_stability(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The flow's eigenvalues over the region in which the integrator's step is stable.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`.
    ax : Axes, optional
        Where only that is drawn; of a system without a flow, theory's bounds. Without it a figure is made that also
        shows a close-up, the critical steps along the sequences, the plane of ε and γ, and theory's bounds, with the
        verdict above.
    **artist
        For the eigenvalues' markers.

    Returns
    -------
    Axes
        Of the eigenvalues.
    """
    schema.check(ds, needs=["theory_low", "theory_high", "outcome"])
    has_flow = "region" in ds
    if ax is not None:
        return plot_step_region(ds, ax=ax, **artist) if has_flow else plot_theory_bounds(ds, ax=ax, **artist)
    with style.style():
        return _figure(ds, has_flow, **artist)


def _figure(ds: xr.Dataset, has_flow: bool, **artist: Any) -> Axes:
    several = has_flow and ds["stable"].size > 1
    panels = (2 + several + ("plane_modulus" in ds)) if has_flow else 0
    columns = 2 if panels in (2, 4) else 3
    rows = -(-panels // columns)
    table = FRAME + ROW * ds.sizes[schema.BOUND]
    width, height = PANEL[0] * columns, PANEL[1] * rows
    figure = plt.figure(figsize=(width, height + table))
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[*[PANEL[1]] * rows, table])
    axes = [figure.add_subplot(grid[divmod(index, columns)]) for index in range(panels)]
    axes.append(figure.add_subplot(grid[rows, :]))
    if has_flow:
        plot_step_region(ds, ax=axes[0], **artist)
        plot_step_region(ds, ax=axes[1], close_up=True, **artist)
    if several:
        plot_critical_steps(ds, ax=axes[2])
    if "plane_modulus" in ds:
        plot_diffusion_plane(ds, ax=axes[-2])
    plot_theory_bounds(ds, ax=axes[-1])
    text = f"{ds.attrs['system']}: {ds.attrs.get('verdict', '')}"
    figure.suptitle(textwrap.fill(text, int(LETTERS * width)), x=0.01, ha="left", fontsize=9)
    return axes[0]
