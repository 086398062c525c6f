"""Tables of published accuracies: each row is a preset, and its measurement is what the queue's trainings of it gave.

What a row reports stands with its preset (`dynlab.training.PRESETS`), the sizes and times beside it in
``published.toml``. A row that no finished training measures is "not run", or "not complete" where one has begun.
"""

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.training import PRESETS
from dynlab.words import capital, counted

from .har2 import DIVERGED, LEAST_SEEDS, UNKNOWN, compared, meaning, with_deviations
from .kept import told, trainings
from .scripts import Table
from .training_queue import har2_networks, queue

FACT_NAMES = {
    "parameters": "parameters, published",
    "kilobytes": "kilobytes, published",
    "train_time": "training, published",
    "test_time": "test, published",
}
NOT_RUN, NOT_COMPLETE = UNKNOWN, "not complete"
ONE_TRAINING = ", one seed"
CHOSEN, LAST, BEST = "chosen epoch", "last epoch", "best epoch on test"
MEASURED = (CHOSEN, LAST, BEST)
NUMBER = re.compile(r"\d+(\.\d+)?")


class Score(NamedTuple):
    """What a training is scored by: its variable in the record, in which unit, and 1 where more is better, else −1."""

    variable: str
    factor: float
    sign: int


ACCURACY, PERPLEXITY = Score("test_accuracy", 100.0, 1), Score("test_perplexity", 1.0, -1)


@dataclass(frozen=True)
class Accuracies:
    """One table of a source, which ``sources.toml`` describes; called, it is made from the trainings that are finished.

    There ``rows`` are patterns of presets or of their sources, ``facts`` columns of ``published.toml``, ``remark`` what
    a reader must know, and ``held_out`` is true where the score at a chosen epoch is shown.
    """

    name: str

    @property
    def names(self) -> list[str]:
        """The presets of the table."""
        patterns = told("sources.toml")["tables"][self.name]["rows"]
        return [
            name
            for name, one in PRESETS.items()
            if any(fnmatch.fnmatch(each, pattern) for pattern in patterns for each in (name, one.source))
        ]

    def __call__(self, recompute: bool = False) -> Table:
        said, names = told("sources.toml")["tables"][self.name], self.names
        ds = measured(trainings(), names)
        selections = MEASURED if said.get("held_out") else MEASURED[1:]
        shown = ds.sel({schema.SELECTION: list(selections)})
        rows = [_row(shown.sel({schema.NETWORK: name}), said["facts"]) for name in names]
        beside = [FACT_NAMES[fact] for fact in said["facts"]]
        return Table(
            self.name,
            f"{ds.attrs['verdict']} {said['remark']}",
            ["preset", "published", *selections, "seeds", "iterations", *beside, "verdict"],
            rows,
            ["published", *selections, "iterations", *beside],
            ds,
        )


def facts() -> dict[str, dict[str, str]]:
    """Return what ``published.toml`` has of each preset."""
    found: dict[str, dict[str, str]] = told("published.toml")
    return found


def trainings_of(preset: str) -> list[str]:
    """Return the names of the queue's trainings that measure a preset's row, on all that is not tested."""
    found = [name for name in queue() if preset.removeprefix("antisymmetricrnn-") == name.partition("-seed")[0]]
    pattern = rf"har2-published-{_har2_network(preset)}-seed\d+-whole"
    return found or [name for name in queue() if re.fullmatch(pattern, name)]


def _har2_network(preset: str) -> str:
    """Return the name among HAR-2's twelve networks, empty where the preset is none of them."""
    row = preset.removeprefix("ernn-har2-").removeprefix("edgeml-har2-")
    return row if row in har2_networks() and PRESETS[preset].task == "har2" else ""


def measured(recorded: xr.Dataset, presets: list[str]) -> xr.Dataset:
    """Return test accuracies of these presets in percent, or perplexities, over the seeds that are finished.

    Returns
    -------
    Dataset
        ``published`` (network), ``score`` and ``score_std`` (network, selection), ``iterations``, ``seeds``,
        ``queued``, ``diverged``, ``incomplete`` and ``meaning`` (network).
    """
    of_har2 = compared(recorded).sel({schema.RECIPE: "published"})
    rows = [_measured(recorded, name, of_har2) for name in presets]
    words = {
        "published": "published",
        "iterations": "iterations of each training",
        "seeds": "trainings that ended",
        "queued": "trainings of the queue",
        "diverged": "trainings that diverged",
        "incomplete": "iterations of each training that is not complete",
        "meaning": "what the published number is",
        "score": "test accuracy in percent, or perplexity",
        "score_std": "its deviation between seeds",
    }
    dims = (schema.NETWORK, schema.SELECTION)
    return schema.dataset(
        {
            name: schema.variable(dims[: 1 + name.startswith("score")], [row[name] for row in rows], text)
            for name, text in words.items()
        },
        system="several",
        settings={"presets": presets},
        verdict=_verdict,
        method="mean and deviation (n − 1) over seeds; the test split is scored after every epoch for the record",
        coords={schema.NETWORK: presets, schema.SELECTION: list(MEASURED)},
        flags={
            "score": "no training has ended, or it held nothing out that chose an epoch",
            "score_std": "fewer than two trainings have ended",
        },
    )


def _measured(recorded: xr.Dataset, preset: str, of_har2: xr.Dataset) -> dict[str, Any]:
    names = trainings_of(preset)
    runs = [recorded.sel({schema.TRAINING: name}) for name in names if name in recorded[schema.TRAINING].values]
    ended = [one for one in runs if not str(one["diverged"].values)]
    score = PERPLEXITY if PRESETS[preset].task == "ptb-word" else ACCURACY
    held_out = not PRESETS[preset].task_settings.get("retrain", False)
    values = np.array([_scores(one, score, held_out) for one in ended]).reshape(-1, len(MEASURED))
    published = number(PRESETS[preset].reported)
    empty = np.full(len(MEASURED), np.nan)
    so_far = {name: one for name, one in schema.settings(recorded).get("unfinished", {}).items() if name in names}
    if network := _har2_network(preset):
        said = str(of_har2["meaning"].sel({schema.NETWORK: network}).values)
    elif runs:
        said = _meaning(published, values, score.sign) if ended else DIVERGED
    else:
        said = NOT_COMPLETE if any(one["epochs"] for one in so_far.values()) else NOT_RUN
    return {
        "published": published,
        "score": values.mean(axis=0) if len(values) else empty,
        "score_std": values.std(axis=0, ddof=1) if len(values) >= LEAST_SEEDS else empty,
        "iterations": max((int(one["iterations"]) for one in ended), default=0),
        "seeds": len(ended),
        "queued": len(names),
        "diverged": len(runs) - len(ended),
        "incomplete": "; ".join(_of_iterations(one) for one in so_far.values()),
        "meaning": said,
    }


def _of_iterations(so_far: Mapping[str, int]) -> str:
    """Return how many iterations of how many a training has behind it; epochs where no batches of one were counted."""
    batches = so_far.get("batches", 0)
    done, whole = (so_far[name] * (batches or 1) for name in ("epochs", "of"))
    return f"{done:,} of {whole:,}{'' if batches else ' epochs'}"


def _scores(training: xr.Dataset, score: Score, held_out: bool) -> list[float]:
    """Return the score at the epoch that held-out data chose, NaN without any, at the last and at the best on test."""
    curve = score.factor * training[score.variable].dropna(schema.EPOCH).values.astype(float)
    chosen = curve[int(training["chosen_epoch"]) - 1] if held_out else np.nan
    return [chosen, curve[-1], score.sign * (score.sign * curve).max()]


def number(reported: str) -> float:
    """Return the number in what is reported, NaN where there is none."""
    found = NUMBER.search(str(reported))
    return float(found.group()) if found else float("nan")


def _meaning(published: float, values: Real, sign: int) -> str:
    """Return what a published number is, from the chosen, the last and the best epoch of each training."""
    several = len(values) >= LEAST_SEEDS
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5 if several else np.zeros(len(MEASURED))
    # where nothing was held out nothing chose an epoch
    said = meaning(sign * published, np.nan_to_num(sign * values.mean(axis=0), nan=-np.inf), error)
    return said if several else f"{said}{ONE_TRAINING}"


def _row(one: xr.Dataset, columns: list[str]) -> list[str]:
    cells = with_deviations(one["score"].values, one["score_std"].values)
    preset = str(one[schema.NETWORK].values)
    seeds = f"{int(one['seeds'])} of {int(one['queued'])}" if one["queued"] else "none queued"
    seeds += f", {int(one['diverged'])} diverged" if one["diverged"] else ""
    complete = f"{int(one['iterations']):,}" if one["iterations"] else ""
    iterations = "; ".join(filter(None, [complete, str(one["incomplete"].values)]))
    beside = [facts()[preset][column] for column in columns]
    return [preset, PRESETS[preset].reported, *cells, seeds, iterations, *beside, str(one["meaning"].values)]


def _verdict(ds: xr.Dataset) -> str:
    words = ds["meaning"].values.tolist()
    said = ". ".join(f"{capital(each)}: {words.count(each)}" for each in dict.fromkeys(words))
    done, queued = int(ds["seeds"].sum() + ds["diverged"].sum()), int(ds["queued"].sum())
    finished = (
        f"Finished are {done} of {counted(queued, 'training')} for them" if queued else "No training measures them"
    )
    return f"Here are the outcomes of {counted(len(words), 'published number')}. {said}. {finished}.{_least(ds)}"


def _least(ds: xr.Dataset) -> str:
    """Return which network has the least perplexity, and where the one published as the least stands."""
    names = ds[schema.NETWORK].values.tolist()
    scores = ds["score"].sel({schema.SELECTION: CHOSEN}).values
    if not all(PRESETS[name].task == "ptb-word" for name in names) or np.isnan(scores).any():
        return ""
    best, claimed = int(scores.argmin()), int(ds["published"].values.argmin())
    row = [name.removeprefix("ernn-ptb-word-") for name in names]
    return (
        f" The least perplexity here is that of {row[best]}, {scores[best]:.2f}; {row[claimed]} has "
        f"{scores[claimed]:.2f}, number {int((scores < scores[claimed]).sum()) + 1} of {len(names)}."
    )


def outcomes(words: list[str]) -> dict[str, int]:
    """Return how many rows of a table were run, were reached, and are open: not run, diverged, or of one seed."""
    run = [word for word in words if word not in (NOT_RUN, NOT_COMPLETE)]
    unsure = [word for word in run if word == DIVERGED or word.endswith(ONE_TRAINING)]
    return {
        "rows": len(words),
        "run": len(run),
        "open": len(words) - len(run) + len(unsure),
        "reached": sum(word.startswith("reached") for word in run),
    }


antisymmetric_1 = Accuracies("antisymmetric-1")
antisymmetric_2 = Accuracies("antisymmetric-2")
asrnn_mnist = Accuracies("asrnn-mnist")
asrnn_ptb = Accuracies("asrnn-ptb")
ernn_3 = Accuracies("ernn-3")
ernn_4 = Accuracies("ernn-4")
ernn_5 = Accuracies("ernn-5")
ernn_6 = Accuracies("ernn-6")
