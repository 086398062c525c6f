"""Figure 4 of the ERNN paper: how fast the baselines and ERNN with K = 1, 3 and 5 learn HAR-2, from the trainings."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from dynlab import io, schema
from dynlab.gallery.har2 import RECORDED
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.training.presets.zoo import ZOO

BASELINES = {
    "fastrnn": {"color": style.ORANGE},
    "rnn": {"color": style.VERMILION},
    "lstm": {"color": style.PURPLE},
    "antisymmetric": {"color": style.SKY},
    "ernn-k1": {"color": style.BLUE},
}
INNER: dict[str, dict[str, Any]] = {
    "ernn-k1": {"color": style.BLUE},
    "ernn-k3": {"color": style.GREEN},
    "ernn-k5": {"color": style.BLACK},
}
ERNNS = "ernn-k1, -k3 and -k5"
PANELS = {"published": {"Baselines, ernn-k1": BASELINES, ERNNS: INNER}, "own": {ERNNS: INNER}}
EPOCHS = 100  # of the paper's figure no more is known than that its curves are flat at the end
TENTH = 10
TITLE = "ERNN, Figure 4: training convergence on HAR-2"
LOWEST, STRIP, HIGHEST = 1e-3, 4.5, 70.0  # of the axis of the published recipe; above the middle one are no losses
MOST = 3.0  # of a loss that is drawn
SMOOTHING = ZOO["har2-ernn-k5"].settings.label_smoothing  # of dynlab's own recipe
# The entropy of a smoothed label of two classes, the least cross-entropy there is.
SMOOTHED = float(-(1 - SMOOTHING / 2) * np.log(1 - SMOOTHING / 2) - SMOOTHING / 2 * np.log(SMOOTHING / 2))
RECIPES = {"published": "published", "own": "dynlab's own"}
LOSSES = (0.2, 0.3, 0.5, 1, 2)  # that the axis of dynlab's own recipe names
ROWS = (38.0, 18.0, 8.5)  # the heights of the crosses above the losses


def curves(trainings: xr.Dataset, recipe: str, network: str) -> list[tuple[np.ndarray, bool]]:
    """The training loss of every seed on all subjects, and whether it diverged."""
    found = []
    for name in trainings[schema.TRAINING].values.tolist():
        if name.startswith(f"har2-{recipe}-{network}-seed") and name.endswith("whole"):
            one = trainings.sel({schema.TRAINING: name})
            found.append((one["loss"].dropna(schema.EPOCH).values[:EPOCHS], bool(str(one["diverged"].values))))
    return found


def make(fast: bool = False, recompute: bool = False) -> Made:
    """The recorded losses; there is nothing to compute again, and nothing to leave out."""
    trainings = io.open(RECORDED)
    with style.style((12.0, 5.4)) as size:
        figure, axes = plt.subplots(1, 3, figsize=size)
        panels = [(recipe, title, looks) for recipe, each in PANELS.items() for title, looks in each.items()]
        for ax, (recipe, title, looks) in zip(axes, panels, strict=True):
            _draw(trainings, recipe, looks, ax)
            ax.set(title=f"{title},\n{RECIPES[recipe]} recipe", xlabel="epoch", yscale="log")
            ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        for ax in axes[:2]:
            _part_strip(ax)
        axes[2].axhline(SMOOTHED, color=style.BLACK, ls=":", lw=1.2)
        axes[2].set(ylim=(0.9 * SMOOTHED, None), yticks=LOSSES, yticklabels=[f"{loss:g}" for loss in LOSSES])
        axes[2].yaxis.set_minor_locator(NullLocator())
        axes[0].set_ylabel("training cross-entropy")
        named = {name: Line2D([], [], **look) for name, look in (BASELINES | INNER).items()}
        named["in the strip: a seed that diverged, at its last epoch"] = Line2D(
            [], [], color=style.GREY, marker="x", ls="none"
        )
        style.caption(figure, TITLE, _caption(trainings), named)
    return Made(
        TITLE,
        "ERNNs converge significantly faster than the baselines while achieving lower losses, and larger K faster "
        "(section 3).",
        measured(trainings),
        figure,
        {"trainings": trainings[["loss", "diverged"]].assign_attrs(trainings.attrs)},
    )


def _draw(trainings: xr.Dataset, recipe: str, looks: dict[str, dict[str, Any]], ax: Axes) -> None:
    """The losses of each network, the last one's first; above them a row of crosses for each that diverged."""
    heights = iter(ROWS)
    for network, look in reversed(looks.items()):
        found = curves(trainings, recipe, network)
        for losses, _ in found:
            ax.plot(np.arange(1, len(losses) + 1), np.minimum(losses, MOST), lw=0.8, **look)
        ends = [len(losses) for losses, diverged in found if diverged]
        if ends:
            height = next(heights)
            ax.plot(ends, [height] * len(ends), "x", ms=6, mew=1.4, **look)
            beside: dict[str, Any] = {"textcoords": "offset points", "va": "center"} | look
            ax.annotate(f"{len(ends)} of {len(found)} diverged", (max(ends), height), (8, 0), **beside)


def _part_strip(ax: Axes) -> None:
    """End the scale of losses below the crosses, which have no height."""
    ax.set_ylim(LOWEST, HIGHEST)
    powers = 10.0 ** np.arange(round(np.log10(LOWEST)), 1)
    ax.yaxis.set_major_locator(FixedLocator(powers.tolist()))
    between = np.outer(powers, np.arange(2, 10)).ravel()
    ax.yaxis.set_minor_locator(FixedLocator(between[between <= MOST].tolist()))
    ax.spines["left"].set_bounds(LOWEST, MOST)
    ax.axhspan(STRIP, HIGHEST, color=style.FAINT, alpha=0.4, lw=0, zorder=0)


def summary(trainings: xr.Dataset, network: str) -> tuple[float, float] | None:
    """The loss after ten epochs and the least one under the published recipe, medians over seeds; None if not run."""
    found = curves(trainings, "published", network)
    if not found:
        return None
    after = [float(losses[TENTH - 1]) for losses, _ in found if len(losses) >= TENTH]
    return float(np.median(after)), float(np.median([np.nanmin(losses) for losses, _ in found]))


def measured(trainings: xr.Dataset) -> str:
    """Both of each network, and how many of its trainings diverged."""
    said = []
    for network in BASELINES | INNER:
        both = summary(trainings, network)
        if both is None:
            said.append(f"{network} was not run")
            continue
        found = curves(trainings, "published", network)
        lost = sum(diverged for _, diverged in found)
        ended = f" ({lost} of {len(found)} seeds diverged)" if lost else ""
        said.append(f"Of {network} they are {both[0]:.3f} and {both[1]:.3f}{ended}")
    return (
        f"Training loss after {TENTH} epochs and the least one within {EPOCHS}, as medians over seeds. "
        f"{'. '.join(said)}. dynlab's own recipe smooths its labels: with them no loss is below {SMOOTHED:.3f}."
    )


def _caption(trainings: xr.Dataset) -> str:
    """The least losses, in few words."""
    both = {network: summary(trainings, network) for network in BASELINES | INNER}
    least = ", ".join(f"{name} {found[1]:.3f}" if found else f"{name} not run" for name, found in both.items())
    return (
        f"One line a seed. Least loss within {EPOCHS} epochs of the published recipe, medians over seeds: {least}. "
        f"Losses above {MOST:g} are drawn at {MOST:g}. The labels of dynlab's own recipe are smoothed: no loss is "
        f"below {SMOOTHED:.3f} (dotted)."
    )
