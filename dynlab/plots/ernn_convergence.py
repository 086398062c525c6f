"""How far ERNN's inner iterates are from the equilibrium, and the slope that theory predicts."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style

NEEDS = ("distance", "speed", "predicted_rate", "outcome", "equilibrium_status")
SIZE = (6.6, 4.8)  # inches
# Colour and dashes by outcome; without an equilibrium there is no distance, and the speed stands in its place.
LOOKS = {
    "converges": (style.BLUE, "-"),
    "still approaching": (style.SKY, "-"),
    "has not come nearer yet": (style.PURPLE, "-."),
    "does not converge": (style.VERMILION, "--"),
    "no equilibrium to converge to": (style.ORANGE, ":"),
}
SPEED = {"no equilibrium to converge to": "no equilibrium was found, its speed ‖F(g⁽ⁱ⁾)‖₂ instead"}
FEW = 3  # steps of one outcome, each of which has its own line; of more their median is drawn, and their middle half
QUARTILES = (0.25, 0.5, 0.75)
DASHED = (0, (5, 2.5))
LOWEST = 1e-17  # distances of 0 are drawn nowhere: below rounding a logarithmic axis tells nothing


def plot_ernn_convergence(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Distance to the equilibrium against the iteration, the median of each outcome, on a logarithmic axis.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.ernn_convergence`.
    ax : Axes, optional
        Where to draw; without it a figure is made, with the verdict above.
    **artist
        For the lines.

    Returns
    -------
    Axes
        With the predicted slope, the median rate from the median first distance, dashed in black.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return style.panels(ds, [(plot_ernn_convergence, artist)], SIZE, "Inner iteration")
    iteration = ds[schema.ITERATION].values
    distance, speed = (ds[name].values.reshape(-1, len(iteration)) for name in ("distance", "speed"))
    outcomes = ds["outcome"].values.ravel()
    for outcome, (colour, dashes) in LOOKS.items():
        rows = outcomes == outcome
        drawn = (speed if outcome in SPEED else distance)[rows]
        if not len(drawn):
            continue
        label = f"{len(drawn)} × {SPEED.get(outcome, outcome)}" + (" (median, middle half)" if len(drawn) > FEW else "")
        lines = np.where((drawn > LOWEST) & np.isfinite(drawn), drawn, np.nan)
        some = np.isfinite(lines).any(axis=0) | (len(drawn) <= FEW)
        if len(drawn) > FEW:
            low, middle, high = np.nanquantile(lines[:, some], QUARTILES, axis=0)
            ax.fill_between(iteration[some], low, high, color=colour, alpha=0.2, linewidth=0)
            lines = middle[None]
        look = {"color": colour, "ls": dashes, "lw": 1.8} | artist
        for place, values in enumerate(lines):
            ax.semilogy(iteration[some], values, label=None if place else label, **look)
    _draw_prediction(ds, ax, iteration, distance)
    style.plain_numbers(ax)
    style.legend_below(ax, 2)
    ax.set_xlabel(ds[schema.ITERATION].attrs["long_name"])
    ax.set_ylabel(style.label(ds["speed" if set(outcomes) <= set(SPEED) else "distance"]))
    return ax


def _draw_prediction(ds: xr.Dataset, ax: Axes, iteration: np.ndarray, distance: np.ndarray) -> None:
    """The line of slope ln of the median predicted rate, down to where rounding ends the measured ones."""
    goes_there = np.isin(ds["outcome"].values, ("converges", "still approaching"))
    if not goes_there.any():
        return
    distance = distance[goes_there.ravel()]
    rate = float(np.median(ds["predicted_rate"].values[goes_there]))
    line = np.median(distance[:, 0]) * rate**iteration
    visible = line >= np.nanmin(np.where(distance > LOWEST, distance, np.nan))
    label = f"predicted rate {rate:.4f} per iteration (median)"
    ax.semilogy(iteration[visible], line[visible], color=style.BLACK, ls=DASHED, lw=1.6, label=label)
