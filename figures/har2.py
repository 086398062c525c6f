"""HAR-2: how much of the published accuracies is reached, and how much of them a choice of the epoch on test explains.

Each seed of a network was trained twice, on 17 of the 21 training subjects and on all of them, and scored on the test
split after every epoch. The first training gives the test accuracy at the epoch that the 4 other subjects chose. The
second gives that of the last epoch, the median over the last tenth of the epochs, and the best of all epochs. The best
can be chosen only by someone who looks at the test split.
"""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.words import agree, joined

from .kept import trainings
from .scripts import Table

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
STANDARD_ERRORS = 2
LEAST_SEEDS = 2  # for a standard error


def table(recompute: bool = False) -> Table:
    """The table, from the trainings that are finished; there is nothing to compute again."""
    ds = compared(trainings())
    rows = [_row(ds.sel({schema.RECIPE: recipe, schema.NETWORK: name})) for recipe in RECIPES for name in PUBLISHED]
    numeric = [*SELECTIONS, "published", "seeds"]
    return Table(
        "har2",
        str(ds.attrs["verdict"]),
        ["recipe", "network", *numeric, "measured by", "what the published number is"],
        rows,
        numeric,
        ds,
    )


def compared(recorded: xr.Dataset) -> xr.Dataset:
    """The four accuracies of each network under each recipe, over the seeds of which both trainings are finished.

    Parameters
    ----------
    recorded : Dataset
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
            found = [_of_seed(recorded, f"har2-{recipe}-{name}-seed{seed}") for seed in range(SEEDS)]
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


def _of_seed(recorded: xr.Dataset, name: str) -> Real | None:
    """The four accuracies of a seed in percent, NaN where one of its trainings diverged; None if they are not done."""
    names = recorded[schema.TRAINING].values.tolist()
    if not {f"{name}-held-out", f"{name}-whole"} <= set(names):
        return None
    held_out, whole = (recorded.sel({schema.TRAINING: f"{name}-{split}"}) for split in ("held-out", "whole"))
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


def with_deviations(values: Real, deviations: Real) -> list[str]:
    """Return numbers as a table shows them, each with its deviation where it has one."""
    return [
        "" if np.isnan(value) else f"{value:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")
        for value, std in zip(values, deviations, strict=True)
    ]


def _row(one: xr.Dataset) -> list[str]:
    seeds = f"{int(one['seeds'])}" + (f", {int(one['diverged'])} diverged" if one["diverged"] else "")
    published = f"{float(one['published']):.2f}"
    facts = [str(one[name].values) for name in (schema.RECIPE, schema.NETWORK)]
    numbers = with_deviations(one["accuracy"].values, one["accuracy_std"].values)
    return [*facts, *numbers, published, seeds, str(one["measured_by"].values), str(one["meaning"].values)]


def _verdict(ds: xr.Dataset) -> str:
    under = ds.sel({schema.RECIPE: "published"})
    words = (REACHED, LAST, EXPLAINED, MORE, NEITHER, DIVERGED, ONE_SEED, UNKNOWN)
    counts = {each: int((under["meaning"] == each).sum()) for each in words}
    said = [f"{each} ({count})" for each, count in counts.items() if count]
    near = under[schema.NETWORK].values[near_another(under).values].tolist()
    rule = (
        " Choosing on test explains a number that lies above the means at the chosen and at the last epoch, and within "
        f"{STANDARD_ERRORS} standard errors of the mean at the best epoch on test. Of these numbers {len(near)} "
        f"{agree(len(near), 'lies', 'lie')} within {STANDARD_ERRORS} standard errors of one of the two other means as "
        f"well ({joined(near)}): they may be reached without it."
    )
    told = rule if near else ""
    return f"Of {len(PUBLISHED)} published accuracies under the published recipes: {'; '.join(said)}.{told}"


def two_errors(ds: xr.Dataset) -> xr.DataArray:
    """So many standard errors of each mean accuracy, in percent."""
    return STANDARD_ERRORS * ds["accuracy_std"] / np.maximum(ds["seeds"], 1) ** 0.5


def near_another(ds: xr.Dataset) -> xr.DataArray:
    """Whether choosing on test explains a number that lies within these errors of a mean without choosing as well."""
    near = abs(ds["accuracy"] - ds["published"]) <= two_errors(ds)
    others = near.sel({schema.SELECTION: ["chosen", "last"]}).any(schema.SELECTION)
    return others & (ds["meaning"] == EXPLAINED)
