"""A training that waits, and the choice of settings that one leaves to shorter ones before it."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynlab.training.presets import PRESETS
from dynlab.training.run import Run

Record = dict[str, Any]
GPU_TIER = 3  # from here on what a processor has no time for


@dataclass(frozen=True)
class Queued:
    """A training of the queue.

    Attributes
    ----------
    name : str
        Of its folder and its record.
    tier : int
        As urgent as that: 1 before 2. From `GPU_TIER` on it waits for a GPU.
    group : str
        What it is counted with, in words: "HAR-2, published recipe".
    run : Run
    writes : mapping
        What of `dynlab.training.Writes` it has beside the queue's own.
    candidates : tuple of str
        Names of earlier trainings on part of the training data: the system's settings and the learning rate are those
        of the candidate that is best on the held-out part. Empty where the run has its own.
    """

    name: str
    tier: int
    group: str
    run: Run
    writes: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()


def run_of(
    preset: str, *, config: Mapping[str, Any] | None = None, task: Mapping[str, Any] | None = None, **settings: Any
) -> Run:
    """A preset's run with these settings of the system, of the task and of the training in place of its own."""
    one = PRESETS[preset]
    return Run(
        one.system,
        one.task,
        dataclasses.replace(one.settings, **settings),
        dict(one.config) | dict(config or {}),
        dict(one.task_settings) | dict(task or {}),
    )


def described(run: Run) -> dict[str, Any]:
    """The run as JSON has it, to be compared with one that was read."""
    found: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(run)))
    return found


def chosen(run: Run, candidates: list[Record]) -> Run:
    """The run with the configuration and the learning rate of the candidate that is best on held-out data."""
    best = max(candidates, key=lambda record: record["facts"].get("validation_accuracy", -1.0))["run"]
    settings = dataclasses.replace(run.settings, lr=best["settings"]["lr"])
    return dataclasses.replace(run, settings=settings, config=best["config"])


def kind(run: Run) -> str:
    """What an iteration's time depends on: runs of one kind differ in seed, length and learning rate."""
    task = {key: value for key, value in run.task_settings.items() if key != "seed"}
    size = {key: value for key, value in run.config.items() if isinstance(value, int)}
    return json.dumps([run.system, size, run.task, task, run.settings.batch_size], sort_keys=True)
