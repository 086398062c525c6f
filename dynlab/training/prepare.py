"""A run before it starts: its task, its untrained network, its device, and the facts that its checkpoints will hold."""

import dataclasses
import inspect
import pkgutil
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import dynlab
from dynlab import tasks
from dynlab.errors import UserError, require_extra
from dynlab.systems import SYSTEMS, Map, create
from dynlab.systems.base import check_device
from dynlab.tasks import Task
from dynlab.training.network import Network
from dynlab.training.settings import Settings

if TYPE_CHECKING:
    from dynlab.training.run import Run


@dataclass(frozen=True)
class Prepared:
    """All that Lightning is to be told.

    Attributes
    ----------
    task : Task
    network : Network
        Its weights drawn with the run's seed.
    settings : Settings
    facts : dict
        On the training, JSON-able.
    accelerator : str
    devices : int or list of int
        In Lightning's words.
    folder : Path
        Where checkpoints go.
    checkpoint_every : int or None
        Batches between checkpoints within an epoch.
    progress : bool
        Whether to draw a progress bar.
    say : callable or None
        Is given a line for each epoch.
    """

    task: Task
    network: Network
    settings: Settings
    facts: dict[str, Any]
    accelerator: str
    devices: int | list[int]
    folder: Path
    checkpoint_every: int | None
    progress: bool
    say: Callable[[str], None] | None


def prepare(
    run: "Run",
    folder: Path,
    data_dir: str | Path | None,
    device: str,
    checkpoint_every: int | None,
    progress: bool,
    say: Callable[[str], None] | None,
) -> Prepared:
    """Check everything that can be checked and make what is to be trained; nothing is written.

    Raises
    ------
    UserError
        For unknown names and settings, data that cannot be had, a device that is not there, and without Lightning.
    """
    if run.system not in SYSTEMS:
        create(run.system)  # which says so
    accelerator, devices = _device(device)
    version = require_extra("lightning", "train").__version__
    task_settings = {"seed": run.settings.seed} | dict(run.task_settings)
    task = tasks.create(run.task, **task_settings, data_dir=data_dir)
    task.augmentation(run.settings.augment)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.settings.seed)
        network = Network(_system(run, task), task, run.settings.dropout)
    facts = _facts(run, task, network, version)
    return Prepared(task, network, run.settings, facts, accelerator, devices, folder, checkpoint_every, progress, say)


def _system(run: "Run", task: Task) -> Map:
    given = dict(run.config)
    takes = accepted(run.system)
    for name, value in (("input_size", task.input_size), ("length", task.length)):
        if name in takes:
            given.setdefault(name, value)
    try:
        system = create(run.system, **given)
    except (TypeError, RuntimeError) as error:  # a value of the wrong type, deep inside torch
        settings = ", ".join(f"{key}={value!r}" for key, value in given.items())
        raise UserError(f"System {run.system!r} cannot be made with {settings}: {error}") from error
    if not isinstance(system, Map) or not any(True for _ in system.parameters()):
        raise UserError(f"System {run.system!r} has nothing to train; choose a network such as ernn.")
    return system


def accepted(system: str) -> list[str]:
    """The names of the arguments that a system of `SYSTEMS` takes."""
    return list(inspect.signature(pkgutil.resolve_name(SYSTEMS[system])).parameters)


def _device(device: str) -> tuple[str, int | list[int]]:
    """Lightning's accelerator and devices."""
    check_device(device)
    kind, _, index = device.partition(":")
    return kind, [int(index)] if index and kind != "cpu" else 1


def _facts(run: "Run", task: Task, network: Network, lightning: str) -> dict[str, Any]:
    return {
        "command": run.command,
        "seed": run.settings.seed,
        "settings": dataclasses.asdict(run.settings) | {"augment": list(run.settings.augment)},
        "data": task.source,
        "cell_parameters": sum(parameter.numel() for parameter in network.system.parameters()),
        "validation_subjects": _subjects(task),
        "versions": {
            "dynlab": dynlab.__version__,
            "torch": str(torch.__version__),  # it is a subclass, which a plain reader refuses
            "lightning": lightning,
            "python": platform.python_version(),
        },
    }


def _subjects(task: Task) -> list[int] | None:
    held = None if task.validation is None else task.validation.subjects
    return None if held is None else sorted({int(subject) for subject in held})
