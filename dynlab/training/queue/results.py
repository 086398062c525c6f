"""What the finished trainings of the queue gave, in one Dataset that is small enough to be kept with the code."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.errors import UserError
from dynlab.training.queue.folder import KEPT, TIMES, begun, epochs, noted, record, run_folder
from dynlab.training.queue.queued import Queued, Record, described

# Columns of the records' epochs, and what they are.
COLUMNS = {
    "loss": "training loss",
    "validation_accuracy": "accuracy on held-out training data",
    "test_accuracy": "test accuracy, for the record",
    "test_perplexity": "test perplexity of streams of words, for the record",
}
LOSS_DIGITS = 4  # significant ones, which compress
COMPRESSED = {"zlib": True, "complevel": 9, "shuffle": True}


def results(queue: Sequence[Queued], folder: Path) -> xr.Dataset:
    """Every epoch's numbers of the finished trainings, and what each was and took; how far the unfinished are.

    The unfinished stand in the settings: by name, the ``epochs`` behind them, ``of`` how many, the ``batches`` of each
    where these are known, and the last numbers.

    Raises
    ------
    UserError
        Where none is finished.
    """
    elsewhere = noted(folder, KEPT)
    others = elsewhere.get("unfinished", {})
    records = [found for one in queue if (found := record(one, folder))]
    batches = _batches(records, folder)
    unfinished = {
        one.name: _so_far(one, folder, others.get(one.name, {})) | batches.get(_fed(described(one.run)), {})
        for one in queue
        if not record(one, folder)
    }
    if not records:
        raise UserError(f"No training of the queue in {folder} is finished yet: `make queue` goes on.")
    longest = max(len(one["epochs"].get("loss", ())) for one in records)
    variables = {name: _by_epoch(records, name, words, longest) for name, words in COLUMNS.items()}
    facts = [one["facts"] for one in records]
    of_each: dict[str, tuple[list[Any], str, str]] = {
        "tier": ([one["tier"] for one in records], "tier", schema.ONE),
        "group": ([one["group"] for one in records], "counted with", schema.ONE),
        "seed": ([one["run"]["settings"]["seed"] for one in records], "seed", schema.ONE),
        "iterations": ([one["iterations"] for one in records], "iterations", schema.STEP),
        "device": ([one.get("device", "cpu") for one in facts], "device", schema.ONE),
        "duration": ([3600 * one["core_hours"] for one in records], "time of one core, or on a GPU", schema.SECOND),
        "chosen_epoch": ([one.get("epoch", 0) for one in facts], "epoch that is kept, 0 for none", schema.ONE),
        "command": ([one["command"] for one in facts], "command", schema.ONE),
        "diverged": ([one.get("diverged", "") for one in facts], "where it diverged", schema.ONE),
    }
    variables |= {name: schema.variable((schema.TRAINING,), *given) for name, given in of_each.items()}
    finished = schema.dataset(
        variables,
        system="several",
        settings={
            "versions": _different(records, "versions", elsewhere),
            "data": _different(records, "data", elsewhere),
            "unfinished": unfinished,
        },
        verdict=f"{len(records)} of {len(queue)} trainings are finished.",
        method="dynlab.training.train; the test split is scored after every epoch for the record and chooses nothing",
        coords={schema.TRAINING: [one["name"] for one in records], schema.EPOCH: np.arange(1, longest + 1)},
        flags=dict.fromkeys(COLUMNS, "the training has no such epoch, no such number, or nothing held out"),
    )
    for name in COLUMNS:
        finished[name].encoding.update(COMPRESSED)
    return finished


def _by_epoch(records: Sequence[Record], name: str, words: str, longest: int) -> xr.Variable:
    table = np.full((len(records), longest), np.nan, np.float32)
    for row, one in zip(table, records, strict=True):
        values = one["epochs"].get(name, [])
        row[: len(values)] = [float(f"{value:.{LOSS_DIGITS}g}") for value in values] if name == "loss" else values
    return schema.variable((schema.TRAINING, schema.EPOCH), table, words)


def _so_far(queued: Queued, folder: Path, elsewhere: dict[str, float]) -> dict[str, float]:
    """How many ``epochs`` an unfinished training has behind it, ``of`` how many, and the last one's numbers.

    The further of this folder's and another machine's.
    """
    done = epochs(run_folder(folder, queued.name)) if begun(queued, folder) else {}
    last = {name: values[-1] for name, values in done.items() if name in COLUMNS}
    here = {"epochs": len(done.get("loss", ())), "of": queued.run.settings.epochs} | last
    return max(here, elsewhere, key=lambda one: one.get("epochs", -1))


def _batches(records: Sequence[Record], folder: Path) -> dict[str, dict[str, int]]:
    """The ``batches`` of an epoch by what a run is fed: from runs that were timed, and from those that ended."""
    timed = {json.dumps(json.loads(kind)[2:]): int(one["batches"]) for kind, one in noted(folder, TIMES).items()}
    ended = {
        _fed(one["run"]): one["iterations"] // one["run"]["settings"]["epochs"]
        for one in records
        if len(one["epochs"].get("loss", ())) == one["run"]["settings"]["epochs"]
    }
    return {fed: {"batches": number} for fed, number in (timed | ended).items()}


def _fed(run: dict[str, Any]) -> str:
    """The task with its settings and the size of a batch, as they end what `kind` gives."""
    task = {key: value for key, value in run["task_settings"].items() if key != "seed"}
    return json.dumps([run["task"], task, run["settings"]["batch_size"]], sort_keys=True)


def _different(records: Sequence[Record], key: str, elsewhere: dict[str, Any]) -> list[dict[str, str]]:
    """Each of the values that occur, once, other machines' first."""
    here = [one["facts"][key] for one in records if key in one["facts"]]
    texts = dict.fromkeys(json.dumps(value, sort_keys=True) for value in [*elsewhere.get(key, []), *here])
    return [json.loads(text) for text in texts]
