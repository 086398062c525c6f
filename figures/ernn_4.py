"""Figure 4 of the ERNN paper: how fast the baselines and ERNN with K = 1, 3 and 5 learn HAR-2, from the trainings."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.training import PRESETS

from .scripts import Drawn, Panels, Results, script, trainings

LOOK: dict[str, dict[str, Any]] = {
    "fastrnn": {"color": style.ORANGE},
    "rnn": {"color": style.VERMILION},
    "lstm": {"color": style.PURPLE},
    "antisymmetric": {"color": style.SKY},
    "ernn-k1": {"color": style.BLUE, "ls": "--"},
    "ernn-k3": {"color": style.GREEN, "ls": "--"},
    "ernn-k5": {"color": style.BLACK, "ls": "--"},
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
    names = trainings[schema.TRAINING].values.tolist()
    own = [name for name in names if name.startswith(f"har2-{recipe}-{network}-seed") and name.endswith("whole")]
    runs = [trainings.sel({schema.TRAINING: name}) for name in own]
    return [(one["loss"].dropna(schema.EPOCH).values[:EPOCHS], bool(str(one["diverged"].values))) for one in runs]


@script("ernn-4", (11.0, 5.4), ncols=2)
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw the recorded losses: the medians of what survives strong, every seed thin, a cross where one diverged."""
    recorded = trainings()
    for ax, (recipe, title) in zip(axes, TITLES.items(), strict=True):
        for network, look in reversed(LOOK.items()):
            _draw(curves(recorded, recipe, network), look, ax)
        ax.set(title=title, xlabel="epoch", yscale="log")
    axes[1].axhline(SMOOTHED, color=style.BLACK, ls=":", lw=1.2)
    axes[1].set(ylim=(0.9 * SMOOTHED, 0.6), yticks=LOSSES, yticklabels=[f"{loss:g}" for loss in LOSSES])
    axes[1].yaxis.set_minor_locator(NullLocator())
    axes[0].set_ylabel("training cross-entropy")
    lost = {"a seed that diverged, at its last epoch": Line2D([], [], color=style.GREY, marker="x", ls="none")}
    return Drawn(measured(recorded), {name: Line2D([], [], lw=2.2, **look) for name, look in LOOK.items()} | lost)


def _draw(found: list[tuple[np.ndarray, bool]], look: dict[str, Any], ax: Axes) -> None:
    """Draw every seed of a network, and the median over the seeds where none diverged."""
    for losses, diverged in found:
        drawn = np.minimum(losses, MOST)
        ax.plot(np.arange(1, len(losses) + 1), drawn, lw=0.5, alpha=0.5, color=look["color"])
        if diverged:
            ax.plot(len(losses), drawn[-1], "x", ms=6, mew=1.4, zorder=4, color=look["color"])
    ended = [losses for losses, diverged in found if not diverged]
    if ended:
        middle = np.median(ended, axis=0)
        ax.plot(np.arange(1, len(middle) + 1), middle, lw=2.2, **look)


def summary(trainings: xr.Dataset, recipe: str, network: str) -> tuple[float, float]:
    """Return the loss after ten epochs and the least one, medians over seeds."""
    found = [losses for losses, _ in curves(trainings, recipe, network)]
    after = [losses[TENTH - 1] for losses in found if len(losses) >= TENTH]
    return float(np.median(after)), float(np.median([np.nanmin(losses) for losses in found]))


def _losses(trainings: xr.Dataset, recipe: str, network: str) -> str:
    early, least = summary(trainings, recipe, network)
    lost = [diverged for _, diverged in curves(trainings, recipe, network)]
    diverged = f" ({sum(lost)} of {len(lost)} seeds diverged)" if any(lost) else ""
    return f"{network} {early:.3f} and {least:.3f}{diverged}"


def measured(trainings: xr.Dataset) -> str:
    """Return both of each network under both recipes, and how many of its trainings diverged."""
    said = [
        f"Under {title}: {'; '.join(_losses(trainings, recipe, network) for network in LOOK)}"
        for recipe, title in TITLES.items()
    ]
    return (
        f"Training loss after {TENTH} epochs and the least one within {EPOCHS}, medians over seeds. {'. '.join(said)}. "
        f"The paper gives rate, batches and optimizer; the {EPOCHS} epochs, the period of halving, clipping at 1 and "
        "the start within ±1/√n are dynlab's choices. dynlab's own recipe smooths its labels, with which no loss is "
        f"below {SMOOTHED:.3f}, and ends after 10 to 14 epochs."
    )
