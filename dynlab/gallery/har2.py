"""HAR-2: how much of the published accuracies is reached, and how much of them a choice of the epoch on test explains.

Each seed of a network was trained twice, on 17 of the 21 training subjects and on all of them, and scored on the test
split after every epoch. The first training gives the test accuracy at the epoch that the 4 other subjects chose. The
second gives that of the last epoch, the median over the last tenth of the epochs, and the best of all epochs. The best
can be chosen only by someone who looks at the test split.
"""

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D

from dynlab import io, schema
from dynlab.gallery.made import Made, Table
from dynlab.numerics.arrays import Real
from dynlab.plots import style
from dynlab.wording import counted, joined

RECORDED = Path(__file__).parent / "trainings.nc"
TITLE = "HAR-2 (ERNN, Table 3)"
RECIPES = ("published", "own")
SEEDS = 5
TAIL = 10  # the last tenth of the epochs
LEAST_TAIL = 3
# What the ERNN paper's Table 3 and others report in percent, and who measured it.
FASTGRNN, ERNN = "FastGRNN's authors", "ERNN's authors"
PUBLISHED = {
    "rnn": (91.31, FASTGRNN),
    "lstm": (93.65, FASTGRNN),
    "gru": (93.62, FASTGRNN),
    "fastrnn": (94.50, FASTGRNN),
    "fastgrnn": (95.38, FASTGRNN),
    "ugrnn": (94.53, FASTGRNN),
    "spectral": (95.48, FASTGRNN),
    "antisymmetric": (93.15, ERNN),
    "ernn-k1": (95.32, ERNN),
    "ernn-k3": (95.52, ERNN),
    "ernn-k5": (96.30, ERNN),
    "cornn": (97.2, "coRNN's authors"),
}
SELECTIONS = {
    "chosen": "at the epoch that held-out subjects chose",
    "last": "at the last epoch, trained on all subjects",
    "median": "median of the last tenth of the epochs",
    "best": "at the epoch that is best on test",
}
REACHED, LAST, EXPLAINED, MORE, NEITHER = (
    "reached without choosing on test",
    "reached at the last epoch, without choosing",
    "explained by choosing on test",
    "below what choosing on test gives",
    "not reached either way",
)
UNKNOWN, ONE_SEED, DIVERGED = "not run", "one seed: too few to say", "diverged"
BECAME = {  # in the caption
    REACHED: "lie at or below the mean at the epochs that held-out subjects chose",
    LAST: "lie above that mean, and at or below the mean at the last epoch",
    EXPLAINED: "lie above both means without choosing on test and near the best on test",
    MORE: "lie above both means without choosing on test, below the best on test and not near it",
    NEITHER: "lie above the best on test and not near it",
    DIVERGED: "have no such seed",
    ONE_SEED: "have one such seed, too few to say",
    UNKNOWN: "were not run",
}
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
STANDARD_ERRORS = 2
LEAST_SEEDS = 2  # for a standard error
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


def table(recompute: bool = False) -> Table:
    """The table, from the trainings that are finished; there is nothing to compute again."""
    ds = compared(io.open(RECORDED))
    rows = [_row(ds.sel({schema.RECIPE: recipe, schema.NETWORK: name})) for recipe in RECIPES for name in PUBLISHED]
    numeric = [*SELECTIONS, "published", "seeds"]
    return Table(
        "HAR-2 (ERNN, Table 3)",
        "ERNN with K = 5 reaches 96.30 % with half the parameters of FastRNN (94.50 %) and a quarter of the LSTM's "
        "(93.65 %).",
        str(ds.attrs["verdict"]),
        ["recipe", "network", *numeric, "measured by", "what the published number is"],
        rows,
        numeric,
        ds,
    )


def compared(trainings: xr.Dataset) -> xr.Dataset:
    """The four accuracies of each network under each recipe, over the seeds of which both trainings are finished.

    Parameters
    ----------
    trainings : Dataset
        As ``make queue-results`` writes it: names are ``har2-RECIPE-NETWORK-seedN-held-out`` and ``…-whole``.

    Returns
    -------
    Dataset
        ``accuracy`` and ``accuracy_std`` (recipe, network, selection) in percent, ``published`` (network) and
        ``measured_by``, ``seeds`` and ``diverged`` (recipe, network), and ``meaning`` of the published number.
    """
    shape = len(RECIPES), len(PUBLISHED), len(SELECTIONS)
    mean, spread = np.full(shape, np.nan), np.full(shape, np.nan)
    seeds, diverged = np.zeros(shape[:2], int), np.zeros(shape[:2], int)
    found_to_be = np.full(shape[:2], UNKNOWN, object)
    for i, recipe in enumerate(RECIPES):
        for j, (name, (published, _)) in enumerate(PUBLISHED.items()):
            found = [_of_seed(trainings, f"har2-{recipe}-{name}-seed{seed}") for seed in range(SEEDS)]
            finished = np.array([four for four in found if four is not None]).reshape(-1, len(SELECTIONS))
            ended = finished[np.isfinite(finished).all(axis=1)]
            seeds[i, j], diverged[i, j] = len(ended), len(finished) - len(ended)
            if len(ended):
                mean[i, j] = ended.mean(axis=0)
                found_to_be[i, j] = ONE_SEED
            if len(ended) >= LEAST_SEEDS:
                spread[i, j] = ended.std(axis=0, ddof=1)
                found_to_be[i, j] = meaning(published, mean[i, j], spread[i, j] / len(ended) ** 0.5)
            elif diverged[i, j] and not len(ended):
                found_to_be[i, j] = DIVERGED
    of_both = (schema.RECIPE, schema.NETWORK)
    return schema.dataset(
        {
            "accuracy": schema.variable((*of_both, schema.SELECTION), mean, "test accuracy in percent"),
            "accuracy_std": schema.variable((*of_both, schema.SELECTION), spread, "its deviation between seeds"),
            "published": schema.variable((schema.NETWORK,), [value for value, _ in PUBLISHED.values()], "published"),
            "measured_by": schema.variable((schema.NETWORK,), [who for _, who in PUBLISHED.values()], "measured by"),
            "seeds": schema.variable(of_both, seeds, "seeds that finished both trainings"),
            "diverged": schema.variable(of_both, diverged, "seeds of which a training diverged"),
            "meaning": schema.variable(of_both, found_to_be.astype(str), "what the published number is"),
        },
        system="several",
        settings={"standard_errors": STANDARD_ERRORS},
        verdict=_verdict,
        method="mean and deviation (n − 1) over seeds; the test split is scored after every epoch for the record",
        coords={schema.RECIPE: list(RECIPES), schema.NETWORK: list(PUBLISHED), schema.SELECTION: list(SELECTIONS)},
        flags={"accuracy": "no seed has finished", "accuracy_std": "fewer than two seeds have finished"},
    )


def _of_seed(trainings: xr.Dataset, name: str) -> Real | None:
    """The four accuracies of a seed in percent, NaN where one of its trainings diverged; None if they are not done."""
    names = trainings[schema.TRAINING].values.tolist()
    if not {f"{name}-held-out", f"{name}-whole"} <= set(names):
        return None
    held_out, whole = (trainings.sel({schema.TRAINING: f"{name}-{split}"}) for split in ("held-out", "whole"))
    if str(held_out["diverged"].values) or str(whole["diverged"].values):
        return np.full(len(SELECTIONS), np.nan)
    chosen = held_out["test_accuracy"].sel({schema.EPOCH: int(held_out["chosen_epoch"])})
    test = whole["test_accuracy"].values
    test = test[np.isfinite(test)]
    tail = test[-max(LEAST_TAIL, len(test) // TAIL) :]
    return 100 * np.array([float(chosen), test[-1], np.median(tail), test.max()])


def meaning(published: float, mean: Real, error: Real) -> str:
    """What a published accuracy is, from the four means and their standard errors."""
    if mean[0] >= published:
        return REACHED
    if mean[1] >= published:
        return LAST
    if published < mean[-1] - STANDARD_ERRORS * error[-1]:
        return MORE
    return EXPLAINED if published <= mean[-1] + STANDARD_ERRORS * error[-1] else NEITHER


def _row(one: xr.Dataset) -> list[str]:
    numbers = [
        "" if np.isnan(value) else f"{value:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")
        for value, std in zip(one["accuracy"].values, one["accuracy_std"].values, strict=True)
    ]
    seeds = f"{int(one['seeds'])}" + (f", {int(one['diverged'])} diverged" if one["diverged"] else "")
    published = f"{float(one['published']):.2f}"
    facts = [str(one[name].values) for name in (schema.RECIPE, schema.NETWORK)]
    return [*facts, *numbers, published, seeds, str(one["measured_by"].values), str(one["meaning"].values)]


def _verdict(ds: xr.Dataset) -> str:
    under = ds.sel({schema.RECIPE: "published"})
    words = (REACHED, LAST, EXPLAINED, MORE, NEITHER, DIVERGED, ONE_SEED, UNKNOWN)
    counts = {each: int((under["meaning"] == each).sum()) for each in words}
    said = [f"{each} ({count})" for each, count in counts.items() if count]
    rule = (
        " Choosing on test explains a number that lies above the means at the chosen and at the last epoch, and within "
        f"{STANDARD_ERRORS} standard errors of the mean at the best epoch on test. Of these numbers {also_near(under)} "
        f"{_lies(also_near(under))} within {STANDARD_ERRORS} standard errors of one of the two other means as well"
        f"{_names(under)}: they may be reached without it."
    )
    told = rule if counts[EXPLAINED] else ""
    return f"Of {len(PUBLISHED)} published accuracies under the published recipes: {'; '.join(said)}.{told}"


def two_errors(ds: xr.Dataset) -> xr.DataArray:
    """So many standard errors of each mean accuracy, in percent."""
    return STANDARD_ERRORS * ds["accuracy_std"] / np.maximum(ds["seeds"], 1) ** 0.5


def near_another(ds: xr.Dataset) -> xr.DataArray:
    """Whether choosing on test explains a number that lies within these errors of a mean without choosing as well."""
    near = abs(ds["accuracy"] - ds["published"]) <= two_errors(ds)
    others = near.sel({schema.SELECTION: ["chosen", "last"]}).any(schema.SELECTION)
    return others & (ds["meaning"] == EXPLAINED)


def also_near(under: xr.Dataset) -> int:
    """How many numbers are such, under one recipe."""
    return int(near_another(under).sum())


def _names(under: xr.Dataset) -> str:
    """Of which networks these numbers are, in brackets."""
    near = under[schema.NETWORK].values[near_another(under).values].tolist()
    return f" ({joined(near)})" if near else ""


def _lies(count: int) -> str:
    return "lies" if count == 1 else "lie"


def make(fast: bool = False, recompute: bool = False) -> Made:
    """The recorded test accuracies after every epoch under the published recipes; fast is every fifth epoch."""
    trainings = io.open(RECORDED)
    ds = compared(trainings)
    with style.style((10, 8.4)) as size:
        figure, panels = plt.subplots(3, 4, figsize=size, sharex=True, sharey=True)
        for ax, (name, (published, _)) in zip(panels.flat, PUBLISHED.items(), strict=True):
            curves = _curves(trainings, name, 5 if fast else 1)
            ax.set_yscale("function", functions=(_height, _at_height))
            for curve in curves:
                _draw(ax, curve)
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
        style.caption(figure, TITLE, _caption(ds), named)
    return Made(
        TITLE,
        "Each network reaches the accuracy of the dotted line.",
        f"{ds.attrs['verdict']} `dynlab table har2` has the numbers.",
        figure,
        {"har2": ds},
    )


def _height(accuracy: Any) -> Any:
    """Where an accuracy in percent is drawn: by its error's logarithm, so that 94 and 95 are told apart."""
    return -np.log(np.maximum(100 - np.asarray(accuracy, dtype=float), SMALLEST_ERROR))


def _at_height(height: Any) -> Any:
    return 100 - np.exp(-np.asarray(height, dtype=float))


class Curve(NamedTuple):
    """The test accuracy of one training after every epoch."""

    epochs: Real
    accuracy: Real
    whole: bool
    diverged: bool


def _curves(trainings: xr.Dataset, network: str, every: int) -> list[Curve]:
    found = []
    for name in map(str, trainings[schema.TRAINING].values):
        if name.startswith(f"har2-published-{network}-seed"):
            one = trainings.sel({schema.TRAINING: name})
            values = 100 * one["test_accuracy"].dropna(schema.EPOCH)[::every]
            found.append(
                Curve(
                    values[schema.EPOCH].values,
                    values.values,
                    name.endswith("whole"),
                    bool(str(one["diverged"].values)),
                )
            )
    return found


def _draw(ax: plt.Axes, curve: Curve) -> None:
    """The run, and where it ends."""
    color = style.BLUE if curve.whole else style.ORANGE
    ax.plot(curve.epochs, curve.accuracy, color=color, lw=0.6, alpha=0.7, zorder=2 + curve.whole)
    if len(curve.epochs):
        below = float(curve.accuracy[-1]) < LOWEST
        at = curve.epochs[-1], LOWEST + 1.5 if below else float(curve.accuracy[-1])
        look: dict[str, Any] = {"ms": 6, "mew": 1.6} if curve.diverged else {"ms": 6 if below else 3.5}
        marker = "x" if curve.diverged else "v" if below else "o"
        ax.plot(*at, marker, color=color, zorder=4 + curve.whole, clip_on=False, **look)


def _draw_means(ax: plt.Axes, one: xr.Dataset) -> None:
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


def _title(one: xr.Dataset, curves: list[Curve]) -> str:
    """The network with its runs, and below it where the published number lies."""
    lost = sum(curve.diverged for curve in curves)
    runs = f"{lost} of {len(curves)} diverged" if lost else counted(len(curves), "run")
    became = ALSO if near_another(one) else IN_SHORT[str(one["meaning"].values)]
    return f"{one[schema.NETWORK].values}, {runs}\npublished: {became}"


def _caption(ds: xr.Dataset) -> str:
    """Where the published numbers lie."""
    under = ds.sel({schema.RECIPE: "published"})
    meanings = under["meaning"].values.tolist()
    said = [f"{meanings.count(each)} {words}" for each, words in BECAME.items() if each in meanings]
    also = also_near(under)
    near = f", {also} of these near another mean as well" if also else ""
    told = ". ".join(said).replace(BECAME[EXPLAINED], BECAME[EXPLAINED] + near)
    return (
        f"Grey strips have means ± {STANDARD_ERRORS} standard errors over the seeds whose runs ended; a number within "
        f"them is near. Of {len(meanings)} numbers {told}. Axes are logarithmic in 100 % − accuracy."
    )
