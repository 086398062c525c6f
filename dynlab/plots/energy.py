"""The energy along the flow and along integrators' orbits, and how far they drift from it."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style

LOOKS: dict[str, dict[str, Any]] = {  # of each integrator, the same in every picture
    "euler": {"color": style.VERMILION, "ls": "-", "label": "Euler"},
    "midpoint": {"color": style.ORANGE, "ls": "--", "label": "explicit midpoint"},
    "rk4": {"color": style.BLUE, "ls": "-.", "label": "Runge–Kutta 4"},
    "implicit-midpoint": {"color": style.GREEN, "ls": (0, (5, 1)), "label": "implicit midpoint"},
    "exponential-euler": {"color": style.PURPLE, "ls": ":", "label": "exponential Euler"},
}
HIGHEST = 4.0  # times the flow's largest H, beyond which the axis is cut
SMALLEST = 1e-16  # of a drift on a logarithmic axis: less is rounding


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    return layout.panels(ds, [(plot_energy, artist), (_draw_drift, {})], (10.3, 5.2), "Energy")


@layout.picture(needs=["exact_energy", "energy", "drift"], figure=_figure)
def plot_energy(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw H against time: of the flow and of each integrator, a line a sample.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.energy`.
    ax : Axes, optional
        Axes for H alone. Without it a figure is made that also shows the drift on a logarithmic scale, with the
        verdict below.
    **artist
        For the flow's lines.

    Returns
    -------
    Axes
        The panel of H.
    """
    exact, orbits = ds["exact_energy"].transpose(schema.SAMPLE, schema.TIME).values, ds["energy"].values
    low, high = min(0.0, float(np.nanmin(exact))), float(np.nanmax(exact))
    highest = float(orbits[np.isfinite(orbits)].max(initial=high))
    top = min(highest, HIGHEST * high)
    for name in ds[schema.INTEGRATOR].values.tolist():
        _draw_lines(ds.sel({schema.INTEGRATOR: name}), ax, "energy", {"lw": 1.1} | LOOKS[name])
    _draw_lines(ds, ax, "exact_energy", {"color": style.BLACK, "lw": 2.6, "alpha": 0.5, "label": "the flow"} | artist)
    ax.set(
        ylim=(low, 1.08 * top),
        xlabel=style.label(ds[schema.TIME]),
        ylabel="H = Σ log cosh(M h + q)",
        title="H" + "; higher values are cut off" * (highest > top),
    )


def _draw_drift(ds: xr.Dataset, ax: Axes) -> None:
    """Draw the difference of each integrator's energy from the flow's."""
    shown = abs(ds[["drift", "balance"]])
    shown = shown.where(shown > SMALLEST)
    for name in ds[schema.INTEGRATOR].values.tolist():
        _draw_lines(shown.sel({schema.INTEGRATOR: name}), ax, "drift", {"lw": 1.1} | LOOKS[name])
    _draw_lines(shown, ax, "balance", {"color": style.GREY, "lw": 0.8, "label": "the solver's own error"})
    ax.set(
        yscale="log",
        xlabel=style.label(ds[schema.TIME]),
        ylabel="|H − H of the flow|",
        title=f"Drift at ε = {schema.settings(ds)['step_size']:g} s",
    )


def _draw_lines(ds: xr.Dataset, ax: Axes, name: str, look: dict[str, Any]) -> None:
    """Draw one line a sample, with one entry in the legend."""
    for index, line in enumerate(ds[name].transpose(schema.SAMPLE, schema.TIME).values):
        ax.plot(ds[schema.TIME].values, line, **look | ({} if index == 0 else {"label": None}))
