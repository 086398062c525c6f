"""The long trainings of ``queue.toml`` and their record, as ``figures/Makefile`` calls them.

``names`` prints what this machine can train and is not finished, ``train NAME FOLDER`` trains one or goes on with it,
``status FOLDER`` says how far all are, and ``results FOLDER`` adds the finished ones to the kept record.
"""

import csv
import dataclasses
import functools
import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
import xarray as xr

from dynlab import checkpoints, io, schema
from dynlab.errors import entry
from dynlab.training import PRESETS, Diverged, Run, resume, train

from .scripts import COMPRESSED, FOLDER, told, trainings

FINISHED = "finished.json"  # of a run: where it diverged, and the seconds of one core
CHECKPOINT_EVERY = 100  # batches
COLUMNS = {
    "loss": "training loss",
    "validation_accuracy": "accuracy on held-out training data",
    "test_accuracy": "test accuracy, for the record",
    "test_perplexity": "test perplexity of streams of words, for the record",
}
LOSS_DIGITS = 4  # significant ones, which compress


@dataclass(frozen=True)
class Queued:
    """A training of the queue.

    Attributes
    ----------
    name, group : str
        Name of its folder and in the record.
    run : Run
    writes : dict
        Arguments of `dynlab.training.Writes` beside the queue's own.
    candidates : tuple of str
        Earlier trainings: the system's settings and the learning rate are those of the one that is best on held-out
        data. Empty where the run has its own.
    gpu : bool
        True if it takes too long on a processor.
    """

    name: str
    group: str
    run: Run
    writes: dict[str, Any]
    candidates: tuple[str, ...]
    gpu: bool


@functools.cache
def queue() -> dict[str, Queued]:
    """Return all trainings by name, in their order."""
    every = told("queue.toml")
    found = {}
    for name, one in every.items():
        preset = PRESETS[one["preset"]]
        run = Run(
            one.get("system", preset.system),
            preset.task,
            dataclasses.replace(preset.settings, **one.get("settings", {})),
            ({} if "system" in one else dict(preset.config)) | one.get("config", {}),
            dict(preset.task_settings) | one.get("task", {}),
        )
        candidates = tuple(other for other in every if "choice" in one and re.fullmatch(rf"{one['choice']}\d+", other))
        found[name] = Queued(name, one["group"], run, one.get("writes", {}), candidates, one.get("gpu", False))
    return found


def resolved(queued: Queued, record: xr.Dataset) -> Run | None:
    """Return what is to be trained; None while a candidate for its settings is not in the record."""
    if not queued.candidates:
        return queued.run
    if not set(queued.candidates) <= set(record[schema.TRAINING].values):
        return None
    scores = {name: held_out_accuracy(record, name) for name in queued.candidates}
    best = queue()[max(scores, key=lambda name: np.nan_to_num(scores[name], nan=-1))].run
    settings = dataclasses.replace(queued.run.settings, lr=best.settings.lr)
    return dataclasses.replace(queued.run, settings=settings, config=best.config)


def held_out_accuracy(record: xr.Dataset, name: str) -> float:
    """Return a recorded training's accuracy in percent at the epoch that is best on held-out data, NaN without one."""
    one = record.sel({schema.TRAINING: name})
    epoch = int(one["chosen_epoch"])
    return 100 * float(one["validation_accuracy"].sel({schema.EPOCH: epoch})) if epoch else float("nan")


def names() -> list[str]:
    """Return the trainings that this machine can do and the kept record does not have."""
    able, done = torch.cuda.is_available(), set(trainings()[schema.TRAINING].values)
    return [name for name, one in queue().items() if name not in done and (able or not one.gpu)]


def carry_out(name: str, folder: Path) -> None:
    """Train one to its end, from where it was, in a folder of its own below `folder`."""
    queued = entry(queue(), name, "training", listed_by="python -m dynlab.figures.training_queue names")
    run, where, began = resolved(queued, results(folder)), folder / name, time.process_time()
    if run is None:
        raise ValueError(f"{name} waits for {', '.join(queued.candidates)}")
    goes_on, lost = (where / "last.ckpt").exists(), ""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if goes_on:
            resume(where, device=device, log=click.echo)
        else:
            train(
                run,
                where,
                overwrite=True,
                device=device,
                log=click.echo,
                checkpoint_every=CHECKPOINT_EVERY,
                **queued.writes,
            )
    except Diverged as error:
        lost = str(error)
    seconds = float("nan") if goes_on else time.process_time() - began  # what was done before is not known
    (where / FINISHED).write_text(json.dumps({"diverged": lost, "seconds": seconds}), encoding="utf-8")


def results(folder: Path) -> xr.Dataset:
    """Return the kept record with the trainings that are finished below `folder`."""
    record = trainings()
    for name, queued in queue().items():
        where = folder / name
        if (where / FINISHED).exists() and name not in record[schema.TRAINING].values:
            columns = [record, _row(queued, where, record)]
            record = xr.concat(columns, schema.TRAINING, data_vars="minimal", join="outer", combine_attrs="override")
    order = [name for name in queue() if name in record[schema.TRAINING].values]
    said = f"{len(order)} of {len(queue())} trainings are finished."
    return record.sel({schema.TRAINING: order}).assign_attrs(verdict=said)


def _row(queued: Queued, where: Path, record: xr.Dataset) -> xr.Dataset:
    """Return the record of one finished training."""
    ended = json.loads((where / FINISHED).read_text(encoding="utf-8"))
    rows = _epochs(where)
    facts = {} if ended["diverged"] else checkpoints.read(where / "network.pt").facts
    of_each = {
        "group": queued.group,
        "seed": queued.run.settings.seed,
        "iterations": _steps(where),
        "cell_parameters": facts.get("cell_parameters", 0),
        "device": facts.get("device", "cpu"),
        "duration": ended["seconds"],
        "chosen_epoch": facts.get("epoch", 0),
        "command": facts.get("command", queued.run.command),
        "diverged": ended["diverged"],
    }
    both = (schema.TRAINING, schema.EPOCH)
    columns = {name: [[float(row.get(name, "nan")) for row in rows]] for name in COLUMNS}
    columns["loss"] = [[float(f"{value:.{LOSS_DIGITS}g}") for value in columns["loss"][0]]]
    return xr.Dataset(
        {name: (both, np.array(values, np.float32), record[name].attrs) for name, values in columns.items()}
        | {name: ((schema.TRAINING,), [value], record[name].attrs) for name, value in of_each.items()},
        {schema.TRAINING: [queued.name], schema.EPOCH: np.arange(1, len(rows) + 1)},
    )


def _epochs(where: Path) -> list[dict[str, str]]:
    """Return the rows of a run's ``metrics.csv``; none of one that is in its first epoch."""
    path = where / "metrics.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []


def _steps(where: Path) -> int:
    """Return the optimizer's steps in a run's last checkpoint; 0 where it has none."""
    last = where / "last.ckpt"
    return int(torch.load(last, map_location="cpu", weights_only=True)["global_step"]) if last.exists() else 0


def main(asked: str, *given: str) -> None:
    """Do what the command line asks."""
    if asked == "train":
        carry_out(given[0], Path(given[1]))
    elif asked == "names":
        click.echo(" ".join(names()))
    else:
        record = results(Path(given[0]))
        for name in names():
            if rows := _epochs(Path(given[0]) / name):
                click.echo(f"{name}: {len(rows)} of {queue()[name].run.settings.epochs} epochs")
        click.echo(str(record.attrs["verdict"]))
        if asked == "results":
            for name in COLUMNS:
                record[name].encoding.update(COMPRESSED)
            io.save(record, FOLDER / "trainings.nc", overwrite=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
