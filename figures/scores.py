"""Scores of the recorded trainings of a published number, over seeds, and the verdict on the number.

The test split is scored after every epoch for the record. Of a training that held data out these chose an epoch. Where
each seed was trained twice (``…-held-out`` and ``…-whole``), the first of both gives the score at the epoch that the
data held out chose, the second the others. The best can be chosen only by someone who looks at the test split.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.numerics.arrays import Real

from .training_queue import queue

CHOSEN, LAST, MEDIAN, BEST = SELECTIONS = (
    "chosen epoch",
    "last epoch",
    "median of the last tenth",
    "best epoch on test",
)
TENTH, LEAST_EPOCHS = 10, 3  # the median is of the last tenth of the epochs, and of three at least
STANDARD_ERRORS, LEAST_SEEDS = 2, 2  # of seeds two at least make a standard error
REACHED = "reached without choosing on test"
AT_THE_END = "reached at the last epoch, without choosing"
EXPLAINED = "explained by choosing on test"
MORE = "below what choosing on test gives"
NEITHER = "not reached either way"
OTHER_SIZE = "another size than the source's"
DIVERGED, NOT_RUN = "diverged", "not run"
ONE_SEED = ", one seed"
WORDS = (REACHED, AT_THE_END, EXPLAINED, MORE, NEITHER, OTHER_SIZE, DIVERGED, NOT_RUN)
HOUR = 3600.0  # seconds
SIZE, BYTES = 0.25, 4  # a network whose numbers, of four bytes, are off the source's by more is another one


class Score(NamedTuple):
    """A variable of the record, its factor to the published unit, and 1 where more is better, else −1."""

    variable: str
    factor: float
    sign: int


ACCURACY, PERPLEXITY = Score("test_accuracy", 100.0, 1), Score("test_perplexity", 1.0, -1)


class Row(NamedTuple):
    """A published number, the queue's trainings that measure it, and the learned numbers that it was published with."""

    published: float
    trainings: Sequence[str]
    score: Score = ACCURACY
    size: float = np.nan


def measured(recorded: xr.Dataset, rows: Mapping[str, Row], verdict: Any) -> xr.Dataset:
    """Return what the trainings of each row score, over the seeds that are finished.

    Parameters
    ----------
    recorded : Dataset
        As ``make queue-results`` writes it.
    rows : dict of Row
        By the name of each along ``network``.
    verdict : callable
        Makes the sentences of the Dataset.

    Returns
    -------
    Dataset
        ``score`` and ``score_std`` (network, selection) in percent or as perplexities, ``published``, ``seeds``,
        ``queued``, ``diverged``, ``iterations``, ``cell_parameters``, ``hours`` and ``meaning``
        (network).
    """
    words = {
        "score": "test accuracy in percent, or perplexity",
        "score_std": "its deviation between seeds",
        "published": "published",
        "seeds": "seeds whose trainings ended",
        "queued": "seeds of the queue",
        "diverged": "seeds of which a training diverged",
        "iterations": "iterations of each training",
        "cell_parameters": "learned numbers of the cell",
        "hours": "median hours of a training on each device",
        "meaning": "what the published number is",
    }
    columns = [_measured(recorded, row) for row in rows.values()]
    dims = (schema.NETWORK, schema.SELECTION)
    return schema.dataset(
        {
            name: schema.variable(dims[: 1 + name.startswith("score")], np.array([one[name] for one in columns]), text)
            for name, text in words.items()
        },
        system="several",
        settings={"rows": list(rows), "standard_errors": STANDARD_ERRORS},
        verdict=verdict,
        method="mean and deviation (n − 1) over seeds; the test split is scored after every epoch for the record",
        coords={schema.NETWORK: list(rows), schema.SELECTION: list(SELECTIONS)},
        flags={
            "score": "no training has ended, or it held nothing out that chose an epoch",
            "score_std": "fewer than two seeds have ended",
        },
    )


def _measured(recorded: xr.Dataset, row: Row) -> dict[str, Any]:
    done = set(recorded[schema.TRAINING].values)
    finished = [name for name in row.trainings if {name, _choosing(name)} <= done]
    scores = np.array([_scores(recorded, name, row.score) for name in finished]).reshape(-1, len(SELECTIONS))
    ends = np.isfinite(scores[:, SELECTIONS.index(LAST)])
    ended, runs = scores[ends], recorded.sel({schema.TRAINING: np.array(finished, dtype=str)[ends]})
    several, unknown = len(ended) >= LEAST_SEEDS, np.full(len(SELECTIONS), np.nan)
    mean = ended.mean(axis=0) if len(ended) else unknown
    spread = ended.std(axis=0, ddof=1) if several else unknown
    numbers = int(runs["cell_parameters"].max()) if len(ended) else 0
    if not finished:
        said = NOT_RUN
    elif not len(ended):
        said = DIVERGED
    elif abs(numbers / row.size - 1) > SIZE:
        said = OTHER_SIZE
    else:
        error = np.nan_to_num(spread) / len(ended) ** 0.5
        said = meaning(row.published, mean, error, row.score.sign) + ("" if several else ONE_SEED)
    return {
        "score": mean,
        "score_std": spread,
        "published": row.published,
        "seeds": len(ended),
        "queued": len(row.trainings),
        "diverged": len(finished) - len(ended),
        "iterations": int(runs["iterations"].max()) if len(ended) else 0,
        "cell_parameters": numbers,
        "hours": _hours(runs),
        "meaning": said,
    }


def _hours(runs: xr.Dataset) -> str:
    devices = runs["device"].values
    hours = runs["duration"].values / HOUR
    return "; ".join(f"{np.median(hours[devices == one]):.2g} h, {one}" for one in sorted(set(devices)))


def _choosing(name: str) -> str:
    """Return the name of the training whose data held out choose the epoch: a twin, or the training itself."""
    return f"{name.removesuffix('-whole')}-held-out" if name.endswith("-whole") else name


def _scores(recorded: xr.Dataset, name: str, score: Score) -> list[float]:
    """Return the four scores of a training: NaN where it diverged, the first one where nothing chose an epoch."""
    whole, choosing = (recorded.sel({schema.TRAINING: one}) for one in (name, _choosing(name)))
    if str(whole["diverged"].values) or str(choosing["diverged"].values):
        return [np.nan] * len(SELECTIONS)
    curves = [score.factor * one[score.variable].dropna(schema.EPOCH).values.astype(float) for one in (choosing, whole)]
    held_out = not queue()[_choosing(name)].run.task_settings.get("retrain", False)
    chosen = curves[0][int(choosing["chosen_epoch"]) - 1] if held_out else np.nan
    tail = curves[1][-max(LEAST_EPOCHS, len(curves[1]) // TENTH) :]
    return [chosen, curves[1][-1], float(np.median(tail)), score.sign * (score.sign * curves[1]).max()]


def meaning(published: float, mean: Real, error: Real, sign: int = 1) -> str:
    """Return what a published number is, from the four means and their standard errors; more is better where sign is 1.

    A mean that is not there (NaN) is not reached.
    """
    at = dict(zip(SELECTIONS, sign * (mean - published), strict=True))
    allowed = STANDARD_ERRORS * error[-1]
    if at[CHOSEN] >= 0 or at[LAST] >= 0:
        return REACHED if at[CHOSEN] >= 0 else AT_THE_END
    if at[BEST] > allowed:
        return MORE
    return EXPLAINED if at[BEST] >= -allowed else NEITHER


def two_errors(ds: xr.Dataset) -> xr.DataArray:
    """Return so many standard errors of each mean score."""
    return STANDARD_ERRORS * ds["score_std"] / np.maximum(ds["seeds"], 1) ** 0.5


def with_deviations(one: xr.Dataset) -> list[str]:
    """Return the scores of a row as a table shows them, each with its deviation where it has one."""
    return [
        "" if np.isnan(value) else f"{value:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")
        for value, std in zip(one["score"].values, one["score_std"].values, strict=True)
    ]


def outcomes(ds: xr.Dataset) -> dict[str, int]:
    """Return how many rows were run and reached, and how many are open: not run, lost, of one seed or another size."""
    words = ds["meaning"].values.tolist()
    run = [word for word in words if word != NOT_RUN]
    unsure = [word for word in run if word in (DIVERGED, OTHER_SIZE) or word.endswith(ONE_SEED)]
    return {
        "rows": len(words),
        "run": len(run),
        "open": len(words) - len(run) + len(unsure),
        "reached": sum(word.startswith("reached") for word in run),
    }
