"""HAR-2: the test accuracy of each network after every epoch, beside the means and the published number."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dynlab import schema
from dynlab.plots import style
from dynlab.words import counted

from .har2 import (
    DIVERGED,
    EXPLAINED,
    LAST,
    MORE,
    NEITHER,
    ONE_SEED,
    PUBLISHED,
    REACHED,
    UNKNOWN,
    compared,
    near_another,
    two_errors,
)
from .kept import Results, trainings
from .scripts import Drawn, Script

IN_SHORT = {  # in the panels' titles, of the published number
    REACHED: "reached",
    LAST: "reached at the end",
    EXPLAINED: "near best alone",
    MORE: "below best",
    NEITHER: "above best",
    DIVERGED: "not judged",
    ONE_SEED: "one seed only",
    UNKNOWN: "not run",
}
ALSO = "near another too"  # one that choosing on test explains, within the error of another mean as well
LOWEST, HIGHEST = 50, 98  # percent, of what is drawn: half is what a coin reaches
SMALLEST_ERROR = 1e-3  # percent: one window of the test split is more
TICKS = (50, 70, 80, 90, 95, 97)  # percent
EPOCHS = (0, 100, 200, 300)  # that the axis names
STRIP = (308, 396)  # of the axis of epochs, right of the runs: where the means stand
MEANS: dict[str, dict[str, Any]] = {  # of each the place in the strip, and its look
    "chosen": {"x": 324, "marker": "s", "color": style.ORANGE},
    "last": {"x": 350, "marker": "s", "color": style.BLUE},
    "best": {"x": 376, "marker": "D", "color": style.BLACK},
}


def draw(results: Results) -> Drawn:
    """Draw the recorded test accuracies after every epoch under the published recipes."""
    recorded = trainings()
    ds = compared(recorded)
    figure, panels = plt.subplots(3, 4, sharex=True, sharey=True)
    for ax, (name, (published, _)) in zip(panels.flat, PUBLISHED.items(), strict=True):
        curves = _curves(recorded, name)
        ax.set_yscale("function", functions=(_height, _at_height))
        for run in curves[schema.TRAINING].values:
            _draw(ax, curves.sel({schema.TRAINING: run}))
        ax.axhline(published, color=style.BLACK, ls=":", lw=1.2)
        one = ds.sel({schema.RECIPE: "published", schema.NETWORK: name})
        _draw_means(ax, one)
        ax.set_title(_title(one, curves), fontsize="medium")
    panels[0, 0].set(xlim=(0, STRIP[1]), ylim=(LOWEST, HIGHEST), xticks=EPOCHS, yticks=TICKS)
    for ax in panels[-1]:
        ax.set_xlabel("epoch")
    for ax in panels[:, 0]:
        ax.set_ylabel("test accuracy (%)")
    line: dict[str, Any] = {"color": style.BLUE, "ls": "none", "ms": 5}
    named = {
        "trained on 17 subjects": Line2D([], [], color=style.ORANGE),
        "on all 21 subjects": Line2D([], [], color=style.BLUE),
        "published": Line2D([], [], color=style.BLACK, ls=":"),
        "end of a run": Line2D([], [], marker="o", **line),
        f"end below {LOWEST} %": Line2D([], [], marker="v", **line),
        "end of one that diverged": Line2D([], [], marker="x", **line),
        "mean at the epochs that held-out subjects chose": _mean_mark("chosen"),
        "mean at the last epoch, all subjects": _mean_mark("last"),
        "best on test: mean at each seed's best test epoch": _mean_mark("best"),
    }
    return Drawn(figure, f"{ds.attrs['verdict']} `dynlab table har2` has the numbers.", named)


figure = Script("har2", draw, (10.0, 8.4))


def _height(accuracy: Any) -> Any:
    """Where an accuracy in percent is drawn: by its error's logarithm, so that 94 and 95 are told apart."""
    return -np.log(np.maximum(100 - np.asarray(accuracy, dtype=float), SMALLEST_ERROR))


def _at_height(height: Any) -> Any:
    return 100 - np.exp(-np.asarray(height, dtype=float))


def _curves(recorded: xr.Dataset, network: str) -> xr.Dataset:
    """Return the trainings of a network under the published recipe."""
    names = [name for name in recorded[schema.TRAINING].values if name.startswith(f"har2-published-{network}-seed")]
    return recorded.sel({schema.TRAINING: names})


def _draw(ax: Axes, curve: xr.Dataset) -> None:
    """Draw a run with a mark where it ends."""
    whole = str(curve[schema.TRAINING].values).endswith("whole")
    color, accuracy = style.BLUE if whole else style.ORANGE, 100 * curve["test_accuracy"].dropna(schema.EPOCH)
    ax.plot(accuracy[schema.EPOCH], accuracy, color=color, lw=0.6, alpha=0.7, zorder=2 + whole)
    if accuracy.size:
        at = int(accuracy[schema.EPOCH][-1]), max(float(accuracy[-1]), LOWEST + 1.5)
        marker = "x" if str(curve["diverged"].values) else "v" if accuracy[-1] < LOWEST else "o"
        ax.plot(*at, marker, color=color, zorder=4 + whole, clip_on=False, ms=5)


def _draw_means(ax: Axes, one: xr.Dataset) -> None:
    """The means that the published number is judged by, with their errors, right of the runs."""
    ax.axvspan(*STRIP, color=style.FAINT, alpha=0.4, lw=0, zorder=0)
    errors = two_errors(one)
    for name, look in MEANS.items():
        mean, error = (float(values.sel({schema.SELECTION: name})) for values in (one["accuracy"], errors))
        ax.plot(look["x"], mean, look["marker"], color=look["color"], ms=4.5, zorder=6)
        ax.plot([look["x"]] * 2, [mean - error, mean + error], color=look["color"], lw=1.4, zorder=5)


def _mean_mark(name: str) -> Line2D:
    look = MEANS[name]
    return Line2D([], [], marker=look["marker"], color=look["color"], ls="none", ms=5)


def _title(one: xr.Dataset, curves: xr.Dataset) -> str:
    """The network with its runs, and below it where the published number lies."""
    lost, every = int((curves["diverged"] != "").sum()), curves.sizes[schema.TRAINING]
    runs = f"{lost} of {every} diverged" if lost else counted(every, "run")
    became = ALSO if near_another(one) else IN_SHORT[str(one["meaning"].values)]
    return f"{one[schema.NETWORK].values}, {runs}\npublished: {became}"
