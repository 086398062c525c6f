"""Tables of published accuracies: each row is a preset, and its measurement is what the queue's trainings of it gave.

What a row reports stands with its preset (`dynlab.training.PRESETS`), the sizes and times beside it in
``published.csv``, and the trainings in ``trainings.nc``. A row that no finished training measures is "not run", or "not
complete" where one has begun.
"""

import csv
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from dynlab import io, schema
from dynlab.gallery.har2 import DIVERGED, LEAST_SEEDS, RECORDED, UNKNOWN, compared, meaning
from dynlab.gallery.made import Table
from dynlab.numerics.arrays import Real
from dynlab.training import PRESETS
from dynlab.training.queue.table import NETWORKS, QUEUE
from dynlab.wording import capital, counted

FACTS = Path(__file__).parent / "published.csv"
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
    """What a training is scored by: its variable in the record of trainings, in which unit, and whether more is better.

    Attributes
    ----------
    variable : str
    factor : float
    sign : int
        1 where more is better, −1 where less is.
    """

    variable: str
    factor: float
    sign: int


ACCURACY, PERPLEXITY = Score("test_accuracy", 100.0, 1), Score("test_perplexity", 1.0, -1)


@dataclass(frozen=True)
class Accuracies:
    """One table of a source; called, it is made from the trainings that are finished.

    Attributes
    ----------
    title, claim : str
    presets : callable
        Whether a row of this table, given a preset's name and its source.
    facts : tuple of str
        Which columns of ``published.csv`` the source's table has.
    remark : str
        What a reader must know of the source's table.
    selections : tuple of str
        Of which epochs its scores are shown, from `MEASURED`: nothing is held out in most.
    """

    title: str
    claim: str
    presets: Callable[[str, str], bool]
    facts: tuple[str, ...] = ()
    remark: str = ""
    selections: tuple[str, ...] = (LAST, BEST)

    @property
    def names(self) -> list[str]:
        """The presets of the table."""
        return [name for name, one in PRESETS.items() if self.presets(name, one.source)]

    def __call__(self, recompute: bool = False) -> Table:
        names = self.names
        ds = measured(io.open(RECORDED), names)
        of_each = facts()
        shown = ds.sel({schema.SELECTION: list(self.selections)})
        rows = [_row(shown.sel({schema.NETWORK: name}), of_each[name], self.facts) for name in names]
        beside = [FACT_NAMES[fact] for fact in self.facts]
        numeric = ["published", *self.selections, "iterations", *beside]
        return Table(
            self.title,
            self.claim,
            " ".join(filter(None, [str(ds.attrs["verdict"]), self.remark])),
            ["preset", "published", *self.selections, "seeds", "iterations", *beside, "verdict"],
            rows,
            numeric,
            ds,
        )


@functools.cache
def facts() -> dict[str, dict[str, str]]:
    """What ``published.csv`` has of each preset."""
    with FACTS.open(encoding="utf-8", newline="") as file:
        return {row.pop("preset"): row for row in csv.DictReader(file)}


def trainings_of(preset: str) -> list[str]:
    """The names of the queue's trainings that measure a preset's row, on all that is not tested."""
    found = [one.name for one in QUEUE if preset.removeprefix("antisymmetricrnn-") == one.name.partition("-seed")[0]]
    if found:
        return found
    network = _har2_network(preset)
    return [one.name for one in QUEUE if re.fullmatch(rf"har2-published-{network}-seed\d+-whole", one.name)]


def _har2_network(preset: str) -> str:
    """The name among HAR-2's twelve networks, empty where the preset is none of them."""
    row = preset.removeprefix("ernn-har2-").removeprefix("edgeml-har2-")
    return row if row in NETWORKS and PRESETS[preset].task == "har2" else ""


def measured(trainings: xr.Dataset, presets: list[str]) -> xr.Dataset:
    """Test accuracies of these presets in percent, of streams of words perplexities, over the seeds that are finished.

    Returns
    -------
    Dataset
        ``published`` (network), ``score`` and ``score_std`` (network, selection), ``iterations``, ``seeds``,
        ``queued``, ``diverged``, ``incomplete`` and ``meaning`` (network).
    """
    of_har2 = compared(trainings).sel({schema.RECIPE: "published"})
    rows = [_measured(trainings, name, of_har2) for name in presets]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    words = {
        "published": "published",
        "iterations": "iterations of each training",
        "seeds": "trainings that ended",
        "queued": "trainings of the queue",
        "diverged": "trainings that diverged",
        "incomplete": "iterations of each training that is not complete",
        "meaning": "what the published number is",
    }
    of_both = (schema.NETWORK, schema.SELECTION)
    ds = schema.dataset(
        {name: schema.variable((schema.NETWORK,), columns[name], text) for name, text in words.items()}
        | {
            "score": schema.variable(of_both, columns["score"], "test accuracy in percent, or perplexity"),
            "score_std": schema.variable(of_both, columns["score_std"], "its deviation between seeds"),
        },
        system="several",
        settings={"presets": presets},
        method="mean and deviation (n − 1) over seeds; the test split is scored after every epoch for the record",
        coords={schema.NETWORK: presets, schema.SELECTION: list(MEASURED)},
        flags={
            "score": "no training has ended, or it held nothing out that chose an epoch",
            "score_std": "fewer than two trainings have ended",
        },
    )
    return ds.assign_attrs(verdict=_verdict(ds))


def _measured(trainings: xr.Dataset, preset: str, of_har2: xr.Dataset) -> dict[str, object]:
    names = trainings_of(preset)
    finished = [name for name in names if name in trainings[schema.TRAINING].values]
    runs = [trainings.sel({schema.TRAINING: name}) for name in finished]
    ended = [one for one in runs if not str(one["diverged"].values)]
    score = PERPLEXITY if PRESETS[preset].task == "ptb-word" else ACCURACY
    held_out = not PRESETS[preset].task_settings.get("retrain", False)
    values = np.array([_scores(one, score, held_out) for one in ended]).reshape(-1, len(MEASURED))
    published = number(PRESETS[preset].reported)
    network = _har2_network(preset)
    said = str(of_har2["meaning"].sel({schema.NETWORK: network}).values) if network else ""
    empty = np.full(len(MEASURED), np.nan)
    so_far = {name: one for name, one in schema.settings(trainings).get("unfinished", {}).items() if name in names}
    said = said or _meaning(published, values, score.sign)
    if not runs and any(one["epochs"] for one in so_far.values()):
        said = NOT_COMPLETE
    return {
        "published": published,
        "score": values.mean(axis=0) if len(values) else empty,
        "score_std": values.std(axis=0, ddof=1) if len(values) >= LEAST_SEEDS else empty,
        "iterations": max((int(one["iterations"]) for one in ended), default=0),
        "seeds": len(ended),
        "queued": len(names),
        "diverged": len(runs) - len(ended),
        "incomplete": "; ".join(of_iterations(one) for one in so_far.values()),
        "meaning": DIVERGED if runs and not ended else said,
    }


def of_iterations(so_far: Mapping[str, int]) -> str:
    """How many iterations of how many a training has behind it; epochs where no batches of one were counted."""
    batches = so_far.get("batches", 0)
    done, whole = (so_far[name] * (batches or 1) for name in ("epochs", "of"))
    return f"{done:,} of {whole:,}{'' if batches else ' epochs'}"


def _scores(training: xr.Dataset, score: Score, held_out: bool) -> list[float]:
    """At the epoch that held-out data chose, NaN where there are none, at the last epoch, and at the best on test."""
    curve = score.factor * training[score.variable].dropna(schema.EPOCH).values.astype(float)
    chosen = curve[int(training["chosen_epoch"]) - 1] if held_out else np.nan
    return [chosen, curve[-1], score.sign * (score.sign * curve).max()]


def number(reported: str) -> float:
    """The number in what a preset reports, NaN where it has none."""
    found = NUMBER.search(reported)
    return float(found.group()) if found else float("nan")


def _meaning(published: float, values: Real, sign: int) -> str:
    """What a published number is, from the chosen, the last and the best epoch of each training."""
    if not len(values):
        return NOT_RUN
    several = len(values) >= LEAST_SEEDS
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5 if several else np.zeros(len(MEASURED))
    # where nothing was held out nothing chose an epoch
    said = meaning(sign * published, np.nan_to_num(sign * values.mean(axis=0), nan=-np.inf), error)
    return said if several else f"{said}{ONE_TRAINING}"


def _row(one: xr.Dataset, of_row: Mapping[str, str], columns: tuple[str, ...]) -> list[str]:
    cells = [
        "" if np.isnan(value) else f"{value:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")
        for value, std in zip(one["score"].values, one["score_std"].values, strict=True)
    ]
    preset = str(one[schema.NETWORK].values)
    seeds = f"{int(one['seeds'])} of {int(one['queued'])}" if one["queued"] else "none queued"
    seeds += f", {int(one['diverged'])} diverged" if one["diverged"] else ""
    complete = f"{int(one['iterations']):,}" if one["iterations"] else ""
    iterations = "; ".join(filter(None, [complete, str(one["incomplete"].values)]))
    beside = [of_row[column] for column in columns]
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
    """Of perplexities, which network has the least one here, and where the one published as the least stands."""
    names = ds[schema.NETWORK].values.tolist()
    scores = ds["score"].sel({schema.SELECTION: CHOSEN}).values
    if not all(PRESETS[name].task == "ptb-word" for name in names) or np.isnan(scores).any():
        return ""
    best, claimed = int(scores.argmin()), int(ds["published"].values.argmin())
    place = int((scores < scores[claimed]).sum()) + 1
    row = [name.removeprefix("ernn-ptb-word-") for name in names]
    return (
        f" The least perplexity here is that of {row[best]}, {scores[best]:.2f}; {row[claimed]} has "
        f"{scores[claimed]:.2f}, number {place} of {len(names)}."
    )


def _of(*sources: str) -> Callable[[str, str], bool]:
    return lambda name, source: source in sources


WORDS = (
    "The validation text chooses the epoch. The source gives neither epochs nor clipping nor units: what was taken "
    "stands in docs/presets.md."
)
antisymmetric_1 = Accuracies(
    "AntisymmetricRNN, Table 1: pixel-by-pixel MNIST and permuted MNIST",
    "AntisymmetricRNN outperforms an LSTM and unitary networks with 10k parameters: 98.0 % and 95.8 %.",
    _of("AntisymmetricRNN, Table 1"),
    ("parameters",),
    "The 10k parameters are those of a strictly triangular W (9,674; with gate 9,930). The LSTM, uRNN, soft-orthogonal "
    "and KRU rows are quoted there from other papers.",
)
antisymmetric_2 = Accuracies(
    "AntisymmetricRNN, Table 2: pixel-by-pixel and noise-padded CIFAR-10",
    "On noise-padded CIFAR-10 an LSTM stays near chance (11.6 %), AntisymmetricRNN reaches 48.3 %, with gate 54.7 %.",
    _of("AntisymmetricRNN, Table 2"),
    ("parameters",),
    "The table's parameters are those of the pixel-by-pixel task; with 96 inputs the same networks have 60,042, 84,874 "
    "(with gate) and 116,490 (LSTM).",
)
ernn_3 = Accuracies(
    "ERNN, Table 3: accuracies, sizes and times",
    "ERNN reaches the accuracy of the best networks with fewer parameters and in less time.",
    _of("ERNN, Table 3"),
    tuple(FACT_NAMES),
    "HAR-2's networks other than ERNN were trained by EdgeML's recipe (presets edgeml-har2-…), not by the row's "
    "preset. `dynlab table har2` has HAR-2 with epochs that held-out subjects chose. The times were not measured "
    "again: ERNN's are of a GTX 1080, most others are quoted from FastGRNN's authors and their machine.",
)
ernn_4 = Accuracies(
    "ERNN, Table 4: PTB by words",
    "ERNN with K = 1 has the least perplexity, 115.71.",
    _of("ERNN, Table 4"),
    ("kilobytes", "train_time"),
    WORDS,
    MEASURED,
)
ernn_5 = Accuracies(
    "ERNN, Table 5: HAR-2 with ReLU and with sigmoid",
    "The results of the sigmoid variant follow the pattern of ReLU: more inner steps give a higher accuracy.",
    lambda name, source: name.startswith("ernn-har2-ernn-"),
    ("parameters", "kilobytes", "train_time"),
    "The table has the ReLU rows of Table 3 once more.",
)
ernn_6 = Accuracies(
    "ERNN, Table 6: PTB by words, with test times and parameters",
    "Section 6.4 says that Table 3 reports these metrics; it means Table 6.",
    _of("ERNN, Table 4"),
    tuple(FACT_NAMES),
    "The columns contradict each other: ERNN's 288 KB are 73.7k numbers of four bytes, beside 29.5k parameters. "
    f"{WORDS}",
    MEASURED,
)
asrnn_mnist = Accuracies(
    "asRNN: best test accuracy on pixelated MNIST",
    "asRNN is ahead of expRNN and scoRNN at each of three sizes, and of the LSTM at the one that it has.",
    _of("asRNN, sequential MNIST", "asRNN, permuted MNIST"),
    ("parameters",),
    "The source reports the best epoch on test. Its code reads out the LSTM's cell state, here the output is read: "
    "that may be why its LSTM has 81.9 % and 79.5 %. Its hyper-parameters for permuted MNIST name expRNN's 512 units "
    "before 360, and give scoRNN's 512 units a larger rate than its 360, against the pattern elsewhere.",
)
asrnn_ptb = Accuracies(
    "asRNN: PTB by characters, bits per character",
    "asRNN (1.46 and 1.49) is ahead of expRNN (1.49 and 1.52) and behind the LSTM (1.41 and 1.43).",
    lambda name, source: source.startswith("asRNN, PTB"),
    ("parameters",),
    "The LSTM's and expRNN's numbers are those of nnRNN's paper.",
)
