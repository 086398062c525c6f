"""The distance of ERNN's inner iterates from the equilibrium, and the slope that theory predicts near it."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import counted

STAYS, NONE, ROUNDING = "stays at the equilibrium", "no equilibrium to converge to", 2.0**-52
# Colour and dashes by outcome; without an equilibrium there is no distance, and the speed stands in its place.
LOOKS = {
    STAYS: (style.GREEN, "-"),
    "converges": (style.BLUE, "-"),
    "still approaching": (style.SKY, "-"),
    "has not come nearer yet": (style.PURPLE, "-."),
    "does not converge": (style.VERMILION, "--"),
    NONE: (style.ORANGE, ":"),
}
WORDS = {
    "has not come nearer yet": "does not come steadily nearer yet",
    "does not converge": "cannot converge",
    NONE: "no equilibrium was found, its speed ‖F(g⁽ⁱ⁾)‖₂ instead",
}
GOES_THERE = ("converges", "still approaching")
FEW = 3  # steps of one outcome, each of which has its own line; of more their median is drawn, and their middle half
# In the legend, by whether a measured rate has settled, which the rate at the equilibrium is compared with.
PREDICTED, NEAR = "predicted from the eigenvalues at the equilibrium", "rate near the equilibrium, from its eigenvalues"
LOWEST = 1e-17  # distances of 0 are drawn nowhere: below rounding a logarithmic axis tells nothing


@layout.picture(
    "Inner iterates and equilibrium",
    (9.6, 4.8),
    needs=("distance", "speed", "predicted_rate", "settled", "outcome", "equilibrium_status"),
)
def plot_ernn_convergence(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw distance to the equilibrium against the iteration, the median of each outcome, on a logarithmic axis.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.ernn_convergence`.
    ax : Axes, optional
        Axes to draw on; without it a figure is made with the verdict below.
    **artist
        For the lines.

    Returns
    -------
    Axes
        With the predicted slope, the median rate from the median first distance, dashed in black. Where no measured
        rate has settled it is no prediction yet, but the rate near the equilibrium, in grey.
    """
    iteration, ends = ds[schema.ITERATION].values, ds["outcome"].values.ravel()
    distance, speed = (ds[name].values.reshape(-1, len(iteration)) for name in ("distance", "speed"))
    for outcome in [outcome for outcome in LOOKS if (ends == outcome).any()]:
        drawn = (speed if outcome == NONE else distance)[ends == outcome]
        drawn = np.maximum(drawn, ROUNDING) if outcome == STAYS else drawn  # of a distance of 0 there is no logarithm
        lines = np.where((drawn > LOWEST) & np.isfinite(drawn), drawn, np.nan)
        colour, dashes = LOOKS[outcome]
        if len(drawn) > FEW:
            band = style.quantiles(lines, (0.25, 0.5, 0.75))
            ax.fill_between(iteration, band[0], band[2], color=colour, alpha=0.15, linewidth=0)
            lines = band[1:2]
        label = f"{counted(len(drawn), 'step')}: {WORDS.get(outcome, outcome)}"
        label += " (median, middle half)" * (len(drawn) > FEW)
        for place, values in enumerate(lines):
            named = None if place else label
            ax.semilogy(iteration, values, **{"color": colour, "ls": dashes, "lw": 1.8, "label": named, **artist})
    if np.isin(ends, GOES_THERE).any():
        _draw_prediction(ds, ax, iteration, distance)
    ax.set(
        xlabel=style.label(ds[schema.ITERATION]),
        ylabel=style.label(ds["speed" if (ends == NONE).all() else "distance"]),
    )
    style.plain_numbers(ax)
    style.legend_below(ax, 2, handlelength=3.0)


def _draw_prediction(ds: xr.Dataset, ax: Axes, iteration: np.ndarray, distance: np.ndarray) -> None:
    """The line of slope ln of the median predicted rate, down to where rounding ends the measured ones."""
    goes_there = np.isin(ds["outcome"].values, GOES_THERE)
    distance = distance[goes_there.ravel()]
    settled = goes_there & (ds["settled"].values == 1)  # as the verdict has it
    rate = float(np.median(ds["predicted_rate"].values[settled if settled.any() else goes_there]))
    line = np.median(distance[:, 0]) * rate**iteration
    visible = line >= np.nanmin(np.where(distance > LOWEST, distance, np.nan))
    begins, colour = (PREDICTED, style.BLACK) if settled.any() else (NEAR, style.GREY)
    label = f"{begins}: {rate:.4f} per iteration (median)"
    ax.semilogy(iteration[visible], line[visible], color=colour, ls=(0, (5, 2.5)), lw=1.6, label=label)
