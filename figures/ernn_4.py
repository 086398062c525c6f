"""Figure 4 of the ERNN paper: how fast the baselines and ERNN with K = 1, 3 and 5 learn HAR-2, from the trainings."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.training import PRESETS

from .kept import Results, trainings
from .scripts import Drawn, Script

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
MOST = 3.0  # of a loss that is drawn
SMOOTHING = PRESETS["har2-ernn-k5"].settings.label_smoothing  # of dynlab's own recipe
# The entropy of a smoothed label of two classes, the least cross-entropy there is.
SMOOTHED = float(-(1 - SMOOTHING / 2) * np.log(1 - SMOOTHING / 2) - SMOOTHING / 2 * np.log(SMOOTHING / 2))
RECIPES = {"published": "published", "own": "dynlab's own"}
LOSSES = (0.2, 0.3, 0.5, 1, 2)  # that the axis of dynlab's own recipe names


def curves(trainings: xr.Dataset, recipe: str, network: str) -> list[tuple[np.ndarray, bool]]:
    """The training loss of every seed on all subjects, and whether it diverged."""
    found = []
    for name in trainings[schema.TRAINING].values.tolist():
        if name.startswith(f"har2-{recipe}-{network}-seed") and name.endswith("whole"):
            one = trainings.sel({schema.TRAINING: name})
            found.append((one["loss"].dropna(schema.EPOCH).values[:EPOCHS], bool(str(one["diverged"].values))))
    return found


def draw(results: Results) -> Drawn:
    """Draw the recorded losses."""
    recorded = trainings()
    figure, axes = plt.subplots(1, 3)
    panels = [(recipe, title, looks) for recipe, each in PANELS.items() for title, looks in each.items()]
    for ax, (recipe, title, looks) in zip(axes, panels, strict=True):
        _draw(recorded, recipe, looks, ax)
        ax.set(title=f"{title},\n{RECIPES[recipe]} recipe", xlabel="epoch", yscale="log")
    axes[2].axhline(SMOOTHED, color=style.BLACK, ls=":", lw=1.2)
    axes[2].set(ylim=(0.9 * SMOOTHED, None), yticks=LOSSES, yticklabels=[f"{loss:g}" for loss in LOSSES])
    axes[2].yaxis.set_minor_locator(NullLocator())
    axes[0].set_ylabel("training cross-entropy")
    named = {name: Line2D([], [], **look) for name, look in (BASELINES | INNER).items()}
    named["a seed that diverged, at its last epoch"] = Line2D([], [], color=style.GREY, marker="x", ls="none")
    return Drawn(figure, measured(recorded), named)


figure = Script("ernn-4", draw, (12.0, 5.4))


def _draw(trainings: xr.Dataset, recipe: str, looks: dict[str, dict[str, Any]], ax: Axes) -> None:
    """Draw the losses of each network, the last one's first, with a cross at the end of each that diverged."""
    for network, look in reversed(looks.items()):
        for losses, diverged in curves(trainings, recipe, network):
            drawn = np.minimum(losses, MOST)
            ax.plot(np.arange(1, len(losses) + 1), drawn, lw=0.8, **look)
            if diverged:
                ax.plot(len(losses), drawn[-1], "x", ms=6, mew=1.4, zorder=4, **look)


def summary(trainings: xr.Dataset, network: str) -> tuple[float, float]:
    """The loss after ten epochs and the least one under the published recipe, medians over seeds."""
    found = curves(trainings, "published", network)
    after = [float(losses[TENTH - 1]) for losses, _ in found if len(losses) >= TENTH]
    return float(np.median(after)), float(np.median([np.nanmin(losses) for losses, _ in found]))


def measured(trainings: xr.Dataset) -> str:
    """Both of each network, and how many of its trainings diverged."""
    said = []
    for network in BASELINES | INNER:
        both = summary(trainings, network)
        found = curves(trainings, "published", network)
        lost = sum(diverged for _, diverged in found)
        ended = f" ({lost} of {len(found)} seeds diverged)" if lost else ""
        said.append(f"Of {network} they are {both[0]:.3f} and {both[1]:.3f}{ended}")
    return (
        f"Training loss after {TENTH} epochs and the least one within {EPOCHS}, as medians over seeds. "
        f"{'. '.join(said)}. dynlab's own recipe smooths its labels: with them no loss is below {SMOOTHED:.3f}."
    )
