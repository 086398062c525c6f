"""How far ERNN's inner iterates are from the equilibrium, and the slope that theory predicts near it."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import counted

NEEDS = ("distance", "speed", "predicted_rate", "settled", "outcome", "equilibrium_status")
SIZE = (6.6, 4.8)  # inches
STAYS, REPELS, ROUNDING = "stays at the equilibrium", "does not converge", 2.0**-52
# Colour and dashes by outcome; without an equilibrium there is no distance, and the speed stands in its place.
LOOKS = {
    STAYS: (style.GREEN, "-"),
    "converges": (style.BLUE, "-"),
    "still approaching": (style.SKY, "-"),
    "has not come nearer yet": (style.PURPLE, "-."),
    REPELS: (style.VERMILION, "--"),
    "no equilibrium to converge to": (style.ORANGE, ":"),
}
SPEED = {"no equilibrium to converge to": "no equilibrium was found, its speed ‖F(g⁽ⁱ⁾)‖₂ instead"}
SHORT = {  # in titles
    "no equilibrium to converge to": "no equilibrium found: the speed ‖F‖₂",
    "still approaching": "the distance keeps falling",
    "has not come nearer yet": "the distance does not keep falling",
}
TITLE = "Inner iterates g⁽ⁱ⁾ and equilibrium g*"
WORDS = {"has not come nearer yet": "does not come steadily nearer yet", REPELS: "cannot converge"}
GOES_THERE = {"converges", "still approaching"}
SIZES, MOST_BESIDE = (9.6, 4.2), 3  # inches of a row of panels, and how many there are in it
HANDLE = 3.0  # letters: so long is a line in the legend, to show its dashes
FEW = 3  # steps of one outcome, each of which has its own line; of more their median is drawn, and their middle half
QUARTILES = (0.25, 0.5, 0.75)
PREDICTED, NEAR = "predicted from the eigenvalues at the equilibrium", "rate near the equilibrium, from its eigenvalues"
BEGINS: dict[
    bool, tuple[str, dict[str, Any]]
] = {  # in the legend, by whether a measured rate has settled, which it is compared with
    True: (PREDICTED, {"color": style.BLACK, "ls": (0, (5, 2.5))}),
    False: (NEAR, {"color": style.GREY, "ls": (0, (6, 2, 1, 2))}),
}
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
        With the predicted slope, the median rate from the median first distance, dashed in black. Where no measured
        rate has settled it is no prediction yet, but the rate near the equilibrium, with dots and dashes in grey.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return _figure(ds, **artist)
    _draw(ds, ax, [outcome for outcome in LOOKS if (ds["outcome"] == outcome).any()], **artist)
    style.plain_numbers(ax)
    style.legend_below(ax, 2, handlelength=HANDLE)
    ax.set_xlabel(ds[schema.ITERATION].attrs["long_name"])
    ax.set_ylabel(_scale(ds))
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    """A panel for each outcome, all distances on one scale; of one outcome a large one."""
    outcomes = [outcome for outcome in LOOKS if (ds["outcome"] == outcome).any()]
    if len(outcomes) < 2:
        return style.panels(ds, [(plot_ernn_convergence, artist)], SIZE, TITLE)
    columns = len(outcomes) if len(outcomes) <= MOST_BESIDE else 2
    rows = -(-len(outcomes) // columns)
    own = schema.settings(ds)["config"].get("inner_steps")
    with style.style((SIZES[0], SIZES[1] * rows)) as size:
        figure, axes = plt.subplots(rows, columns, figsize=size, sharex=True, squeeze=False)
        named: dict[str, Any] = {}
        drawn = dict(zip(outcomes, axes.flat, strict=False))
        for outcome, ax in drawn.items():
            _draw(ds, ax, [outcome], **{"ls": "-"} | artist)
            if own:
                ax.axvline(own, color=style.GREY, lw=0.8, ls=":", zorder=0, label=f"where the network stops ({own})")
            count = int((ds["outcome"] == outcome).sum())
            words = _repelled(ds) if outcome == REPELS else (WORDS | SHORT).get(outcome, outcome)
            ax.set_title(f"{count} of {counted(ds['outcome'].size, 'step')}: {words}")
            named |= {
                words: handle
                for handle, words in zip(*ax.get_legend_handles_labels(), strict=True)
                if words.startswith((PREDICTED, NEAR, "where the network"))
            }
        _set_scales(ds, drawn)
        for ax in axes.flat[max(0, len(outcomes) - columns) : len(outcomes)]:  # with none below it
            ax.set_xlabel(ds[schema.ITERATION].attrs["long_name"])
            ax.tick_params(labelbottom=True)
        for ax in axes.flat[len(outcomes) :]:
            ax.set_axis_off()
        line, band = Line2D([], [], color=style.GREY, lw=1.8), Patch(color=style.GREY, alpha=0.3, lw=0)
        many = max(int((ds["outcome"] == outcome).sum()) for outcome in outcomes) > FEW
        named = ({"median": line, "middle half of the steps": band} if many else {"one step": line}) | named
        style.finish(ds, figure, TITLE, named)
    return axes.flat[0]


def _repelled(ds: xr.Dataset) -> str:
    """Why these steps cannot converge, and how many of them are nearer to their equilibrium at the end all the same."""
    distance = ds["distance"].transpose(..., schema.ITERATION).values[ds["outcome"].values == REPELS]
    why = "the equilibrium repels" if np.isfinite(distance[:, -1]).all() else "the equilibrium repels, or overflow"
    nearer = int((distance[:, -1] < distance[:, 0]).sum())
    if not nearer:
        return why
    return f"{why}, though {'all' if nearer == len(distance) else nearer} end nearer"


def _set_scales(ds: xr.Dataset, drawn: Mapping[str, Axes]) -> None:
    """One scale for all distances, which the first panel of each row names, and one for the speed."""
    distances = [ax for outcome, ax in drawn.items() if outcome not in SPEED]
    left = min(ax.get_position().x0 for ax in drawn.values())
    ends = np.array([ax.get_ylim() for ax in distances])
    for outcome, ax in drawn.items():
        if outcome not in SPEED:
            ax.set_ylim(ends[:, 0].min(), ends[:, 1].max())
        if outcome in SPEED or ax.get_position().x0 == left:
            ax.set_ylabel(style.label(ds["speed" if outcome in SPEED else "distance"]))
        style.plain_numbers(ax)


def _scale(ds: xr.Dataset) -> str:
    return style.label(ds["speed" if set(ds["outcome"].values.ravel()) <= set(SPEED) else "distance"])


def _draw(ds: xr.Dataset, ax: Axes, outcomes: list[str], **artist: Any) -> None:
    """The lines of these outcomes; a band around a median where there is but one, since two would cover each other."""
    iteration = ds[schema.ITERATION].values
    distance, speed = (ds[name].values.reshape(-1, len(iteration)) for name in ("distance", "speed"))
    ends = ds["outcome"].values.ravel()
    banded = [int((ends == outcome).sum()) > FEW for outcome in outcomes].count(True) == 1
    for outcome in outcomes:
        colour, dashes = LOOKS[outcome]
        drawn = (speed if outcome in SPEED else distance)[ends == outcome]
        what = f" (median{', middle half' * banded})" if len(drawn) > FEW else ""
        label = f"{counted(len(drawn), 'step')}: {(SPEED | WORDS).get(outcome, outcome)}{what}"
        drawn = np.maximum(drawn, ROUNDING) if outcome == STAYS else drawn  # of a distance of 0 there is no logarithm
        lines = np.where((drawn > LOWEST) & np.isfinite(drawn), drawn, np.nan)
        some = np.isfinite(lines).any(axis=0) | (len(drawn) <= FEW)
        if len(drawn) > FEW:
            low, middle, high = np.nanquantile(lines[:, some], QUARTILES, axis=0)
            if banded:
                ax.fill_between(iteration[some], low, high, color=colour, alpha=0.2, linewidth=0)
            lines = middle[None]
        look = {"color": colour, "ls": dashes, "lw": 1.8} | artist
        for place, values in enumerate(lines):
            ax.semilogy(iteration[some], values, label=None if place else label, **look)
    if set(outcomes) & GOES_THERE:
        _draw_prediction(ds, ax, iteration, distance)


def _draw_prediction(ds: xr.Dataset, ax: Axes, iteration: np.ndarray, distance: np.ndarray) -> None:
    """The line of slope ln of the median predicted rate, down to where rounding ends the measured ones."""
    goes_there = np.isin(ds["outcome"].values, list(GOES_THERE))
    distance = distance[goes_there.ravel()]
    settled = goes_there & (ds["settled"].values == 1)  # as the verdict has it
    rate = float(np.median(ds["predicted_rate"].values[settled if settled.any() else goes_there]))
    line = np.median(distance[:, 0]) * rate**iteration
    visible = line >= np.nanmin(np.where(distance > LOWEST, distance, np.nan))
    begins, look = BEGINS[bool(settled.any())]
    label = f"{begins}: {rate:.4f} per iteration (median)"
    ax.semilogy(iteration[visible], line[visible], lw=1.6, label=label, **look)
