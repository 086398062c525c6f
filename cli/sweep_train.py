"""A training as a cell of a sweep: a run in a folder of its own, and what came of it as a Dataset."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynlab.errors import UserError, entry, lookup

from .train import run_of, score, train

if TYPE_CHECKING:
    import xarray as xr

    from dynlab.training import Result, Run

REFUSED = {"resume": "the same line goes on", "overwrite": "a run that is complete is kept"}
OF_ALL = ("data_dir", "device", "output", "quiet", "as_json", *REFUSED)
WRITES = ("checkpoint_every", "keep_every", "log_every", "monitor_every", "test_every_epoch")


def asked(words: Sequence[str]) -> tuple[Run, dict[str, Any]]:
    """The run that `dynlab train` makes of these words, and its other options; nothing is read or written."""
    with train.make_context("train", [*words]) as context:
        given = dict(context.params)
    for name, reason in REFUSED.items():
        if given[name]:
            raise UserError(f"--{name} is of one training: leave it out, {reason}.")
    if given["output"] is None:
        raise UserError("A sweep of trainings needs --output FOLDER: each has a folder of its own in it.")
    others = {name: given.pop(name) for name in (*OF_ALL, *WRITES)}
    return run_of(**given), others


def settings_of(given: Mapping[str, Any]) -> dict[str, str]:
    """What stands before a value of each setting of the system and of the task that are named."""
    from dynlab.systems import SYSTEMS
    from dynlab.tasks import TASKS
    from dynlab.training import PRESETS

    preset = entry(PRESETS, given["preset"], "preset", listed_by="dynlab list presets") if given["preset"] else None
    system, task = given["system"] or (preset and preset.system), given["task"] or (preset and preset.task)
    if not system or not task:
        raise UserError("Name what is trained and what on: --system ernn --task har2, or a --preset.")
    of_task = {name: f"--task-set={name}=" for name in names_of(TASKS, task, "task")}
    return of_task | {name: f"--set={name}=" for name in names_of(SYSTEMS, system, "system")}


def names_of(table: Mapping[str, str], name: str, what: str) -> list[str]:
    """The settings that an entry of a table of systems or tasks takes."""
    import inspect

    return list(inspect.signature(lookup(table, name, what)).parameters)


def trained(words: Sequence[str], values: Mapping[str, Any]) -> xr.Dataset:
    """Train the network of one cell, or go on with it, and say what came of it.

    Parameters
    ----------
    words : sequence of str
        What `dynlab train` is given, the cell's values among it.
    values : mapping
        The cell's, by the name of their axis: its folder is called after them.

    Returns
    -------
    Dataset
        The scores of the network that was kept, its epoch and parameters; the history, ``(epoch)``.
    """
    run, others = asked(words)
    name = ",".join(f"{key}={value}" for key, value in values.items())
    result = _result(run, Path(others["output"]) / name.replace("/", "_"), others)
    return _dataset(run, result)


def _result(run: Run, folder: Path, others: dict[str, Any]) -> Result:
    from dynlab import training

    show = {"data_dir": others["data_dir"], "device": others["device"]}
    if not (folder / "last.ckpt").is_file():
        writes = {name: others[name] for name in WRITES if others[name] is not None}
        return training.train(run, folder, overwrite=True, **writes, **show)
    if training.stored_run(folder)[0].command != run.command:
        raise UserError(f"{folder} holds another training: choose another --output.")
    return training.resume(folder, **show)


def _dataset(run: Run, result: Result) -> xr.Dataset:
    import numpy as np

    from dynlab import schema

    facts = {key: value for key, value in result.facts.items() if score(key)}
    facts |= {key: result.facts[key] for key in ("epoch", "cell_parameters")}
    with (result.checkpoint.parent / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    variables = {
        ("kept_epoch" if key == "epoch" else key): schema.variable((), value, key.replace("_", " "))
        for key, value in facts.items()
    }
    for key in rows[0]:
        if key != schema.EPOCH:
            history = np.array([float(row[key]) for row in rows])
            variables[f"{key}_history"] = schema.variable((schema.EPOCH,), history, key.replace("_", " "))
    epochs = schema.variable((schema.EPOCH,), np.arange(1, len(rows) + 1), "epoch")
    said = ", ".join(f"{key.replace('_', ' ')} {value:.4g}" for key, value in facts.items() if score(key))
    ds = schema.dataset(
        variables | {schema.EPOCH: epochs}, system=run.system, settings={"command": run.command}, verdict=f"{said}."
    )
    return ds.set_coords(schema.EPOCH)
