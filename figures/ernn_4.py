"""Figure 4 of the ERNN paper: how fast the baselines and ERNN with K = 1, 3 and 5 learn HAR-2, from the trainings."""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.training import PRESETS

from .scripts import Drawn, Results, script, trainings

NETWORKS = {
    "fastrnn": style.ORANGE,
    "rnn": style.VERMILION,
    "lstm": style.PURPLE,
    "antisymmetric": style.SKY,
    "ernn-k1": style.BLUE,
    "ernn-k3": style.GREEN,
    "ernn-k5": style.BLACK,
}
EPOCHS = 100  # of the paper's figure no more is known than that its curves are flat at the end
TENTH = 10
MOST = 3.0  # of a loss that is drawn
SMOOTHING = PRESETS["har2-ernn-k5"].settings.label_smoothing  # of dynlab's own recipe
# The entropy of a smoothed label of two classes, the least cross-entropy there is.
SMOOTHED = float(-(1 - SMOOTHING / 2) * np.log(1 - SMOOTHING / 2) - SMOOTHING / 2 * np.log(SMOOTHING / 2))
TITLES = {"published": "the paper's rate and batches", "own": "dynlab's own recipe"}
LOSSES = (0.2, 0.3, 0.4, 0.5)  # that the axis of dynlab's own recipe names


def curves(trainings: xr.Dataset, recipe: str, network: str) -> list[tuple[np.ndarray, bool]]:
    """Return the training loss of every seed on all subjects, and whether it diverged."""
    found = []
    for name in trainings[schema.TRAINING].values.tolist():
        if name.startswith(f"har2-{recipe}-{network}-seed") and name.endswith("whole"):
            one = trainings.sel({schema.TRAINING: name})
            found.append((one["loss"].dropna(schema.EPOCH).values[:EPOCHS], bool(str(one["diverged"].values))))
    return found


@script("ernn-4", (11.0, 5.4))
def figure(results: Results) -> Drawn:
    """Draw the recorded losses: the medians of what survives strong, every seed thin, a cross where one diverged."""
    recorded = trainings()
    figure, axes = plt.subplots(1, 2)
    for ax, (recipe, title) in zip(axes, TITLES.items(), strict=True):
        for network, colour in reversed(NETWORKS.items()):
            _draw(curves(recorded, recipe, network), colour, "--" if network.startswith("ernn") else "-", ax)
        ax.set(title=title, xlabel="epoch", yscale="log")
    axes[1].axhline(SMOOTHED, color=style.BLACK, ls=":", lw=1.2)
    axes[1].set(ylim=(0.9 * SMOOTHED, 0.6), yticks=LOSSES, yticklabels=[f"{loss:g}" for loss in LOSSES])
    axes[1].yaxis.set_minor_locator(NullLocator())
    axes[0].set_ylabel("training cross-entropy")
    named = {
        name: Line2D([], [], color=colour, lw=2.2, ls="--" if name.startswith("ernn") else "-")
        for name, colour in NETWORKS.items()
    }
    named["a seed that diverged, at its last epoch"] = Line2D([], [], color=style.GREY, marker="x", ls="none")
    return Drawn(figure, measured(recorded), named)


def _draw(found: list[tuple[np.ndarray, bool]], colour: str, dashes: str, ax: Axes) -> None:
    """Draw every seed of a network, and the median over the seeds where none diverged."""
    for losses, diverged in found:
        drawn = np.minimum(losses, MOST)
        ax.plot(np.arange(1, len(losses) + 1), drawn, lw=0.5, alpha=0.5, color=colour)
        if diverged:
            ax.plot(len(losses), drawn[-1], "x", ms=6, mew=1.4, zorder=4, color=colour)
    ended = [losses for losses, diverged in found if not diverged]
    if ended:
        middle = np.median(ended, axis=0)
        ax.plot(np.arange(1, len(middle) + 1), middle, lw=2.2, ls=dashes, color=colour)


def summary(trainings: xr.Dataset, recipe: str, network: str) -> tuple[float, float]:
    """Return the loss after ten epochs and the least one, medians over seeds."""
    found = [losses for losses, _ in curves(trainings, recipe, network)]
    after = [losses[TENTH - 1] for losses in found if len(losses) >= TENTH]
    return float(np.median(after)), float(np.median([np.nanmin(losses) for losses in found]))


def measured(trainings: xr.Dataset) -> str:
    """Return both of each network under both recipes, and how many of its trainings diverged."""
    said = []
    for recipe, title in TITLES.items():
        each = []
        for network in NETWORKS:
            early, least = summary(trainings, recipe, network)
            found = curves(trainings, recipe, network)
            lost = sum(diverged for _, diverged in found)
            each.append(
                f"{network} {early:.3f} and {least:.3f}" + (f" ({lost} of {len(found)} seeds diverged)" if lost else "")
            )
        said.append(f"Under {title}: {'; '.join(each)}")
    return (
        f"Training loss after {TENTH} epochs and the least one within {EPOCHS}, medians over seeds. {'. '.join(said)}. "
        f"The paper gives rate, batches and optimizer; the {EPOCHS} epochs, the period of halving, clipping at 1 and "
        "the start within ±1/√n are dynlab's choices. dynlab's own recipe smooths its labels, with which no loss is "
        f"below {SMOOTHED:.3f}, and ends after 10 to 14 epochs."
    )
