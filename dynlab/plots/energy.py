"""The energy along the flow and along integrators' orbits, and how far they drift from it."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style

PANEL = (4.9, 3.9)  # inches
TITLE_WIDTH = 145  # characters over two panels
LOOKS = {  # colour and dashes of each integrator, the same in every picture
    "euler": (style.VERMILION, "-"),
    "midpoint": (style.ORANGE, "--"),
    "rk4": (style.BLUE, "-."),
    "implicit-midpoint": (style.GREEN, (0, (5, 1))),
    "exponential-euler": (style.PURPLE, ":"),
}
NAMES = {
    "euler": "Euler",
    "midpoint": "explicit midpoint",
    "rk4": "Runge–Kutta 4",
    "implicit-midpoint": "implicit midpoint",
    "exponential-euler": "exponential Euler",
}
SMALLEST = 1e-16  # of a drift on a logarithmic axis: less is rounding


def plot_energy(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """H against time: of the flow and of each integrator, a line a sample.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.energy`.
    ax : Axes, optional
        Where only H is drawn. Without it a figure is made that also shows the drift on a logarithmic scale, with the
        verdict above.
    **artist
        For the flow's lines.

    Returns
    -------
    Axes
        Of H.
    """
    schema.check(ds, needs=["exact_energy", "energy", "drift"])
    if ax is None:
        return _figure(ds, **artist)
    time = ds[schema.TIME].values
    look: dict[str, Any] = {"color": style.BLACK, "lw": 2.4, "alpha": 0.55, "label": "the flow"}
    exact = ds["exact_energy"].transpose(schema.TIME, schema.SAMPLE).values
    _lines(ax, time, exact, look | artist)
    for name in ds[schema.INTEGRATOR].values:
        color, dashes = LOOKS[str(name)]
        values = ds["energy"].sel({schema.INTEGRATOR: name}).transpose(schema.TIME, schema.SAMPLE).values
        _lines(ax, time, values, {"color": color, "ls": dashes, "lw": 1.1, "label": NAMES[str(name)]})
    low, high = np.nanmin(exact), np.nanmax(exact)
    seen = ds["energy"].values[np.isfinite(ds["energy"].values)]
    top = min(float(seen.max(initial=high)), high + 3 * max(high - low, 0.5 * high))
    ax.set_ylim(min(0.0, low), 1.08 * top)
    ax.set_xlabel(style.label(ds[schema.TIME]))
    ax.set_ylabel("H = Σ log cosh(M h + q)")
    above = ", cut above" if seen.max(initial=high) > 1.08 * top else ""
    ax.set_title(f"H of the flow and along each integrator's orbits{above}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, columnspacing=1.2)
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style():
        figure, (height, beside) = plt.subplots(1, 2, figsize=(2.1 * PANEL[0], PANEL[1]))
        plot_energy(ds, ax=height, **artist)
        _drift(ds, beside)
        figure.suptitle(textwrap.fill(ds.attrs.get("verdict", ""), TITLE_WIDTH), fontsize=9, x=0.01, ha="left")
    axes: Axes = height
    return axes


def _drift(ds: xr.Dataset, ax: Axes) -> None:
    time = ds[schema.TIME].values
    step = schema.settings(ds)["step_size"]
    for name in ds[schema.INTEGRATOR].values:
        color, dashes = LOOKS[str(name)]
        values = np.abs(ds["drift"].sel({schema.INTEGRATOR: name}).transpose(schema.TIME, schema.SAMPLE).values)
        shown = np.where(values > SMALLEST, values, np.nan)
        _lines(ax, time, shown, {"color": color, "ls": dashes, "lw": 1.1, "label": NAMES[str(name)]})
    error = np.abs(ds["balance"].transpose(schema.TIME, schema.SAMPLE).values)
    _lines(
        ax,
        time,
        np.where(error > SMALLEST, error, np.nan),
        {"color": style.GREY, "lw": 0.8, "label": "the solver's own error"},
    )
    ax.set_yscale("log")
    ax.set_xlabel(style.label(ds[schema.TIME]))
    ax.set_ylabel("distance from the flow's H")
    ax.set_title(f"How far each drifts at ε = {step:g} s")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, columnspacing=1.2)


def _lines(ax: Axes, time: Any, values: Any, look: dict[str, Any]) -> None:
    """One line a sample, named once."""
    label = look.pop("label")
    for index, line in enumerate(values.T):
        ax.plot(time, line, label=label if index == 0 else None, **look)
