"""A run before it starts: its task, its untrained network, and the facts that its checkpoints will hold."""

import dataclasses
import inspect
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import dynlab
from dynlab import tasks
from dynlab.checkpoints.document import EMBEDDING
from dynlab.errors import UserError, lookup, require_extra
from dynlab.progress import working
from dynlab.systems import SYSTEMS, Map, System, create
from dynlab.systems.autonomous import check_device
from dynlab.systems.fastgrnn import FastGRNN
from dynlab.systems.orthogonal import Orthogonal
from dynlab.tasks import Task
from dynlab.training.batches import Batches
from dynlab.training.network import Network
from dynlab.training.run import Run
from dynlab.training.settings import PLATEAU, Settings


def prepare(
    run: Run,
    *,
    data_dir: str | Path | None = None,
    device: str = "cpu",
    progress: bool = False,
    say: Callable[[str], None] | None = None,
) -> tuple[Task, Network, dict[str, Any]]:
    """Check everything that can be checked, and return the task, the untrained network and the facts of a run.

    Its weights are drawn with the run's seed; nothing is written. `say`, or with `progress` a terminal, is told what is
    read where that takes long.

    Raises
    ------
    UserError
        For unknown names and settings, settings that mean nothing for that system, data that cannot be had, a device
        that is not there, and without Lightning.
    """
    takes = accepted(run.system)
    check_device(device)
    version = require_extra("lightning", "train").__version__
    if "data_dir" in run.task_settings:
        raise UserError("data_dir is no setting of a run: name the folder of the data with --data-dir or DYNLAB_DATA.")
    with working(f"Reading {run.task}", quiet=not (progress or say)):
        given = {"seed": run.settings.seed} | dict(run.task_settings)
        task = tasks.create(run.task, **given, data_dir=data_dir)
    task.augmentation(run.settings.augment)
    if run.settings.loss is not None and task.loss != "mse":
        raise UserError(f"Task {run.task!r} has classes and learns by cross-entropy: leave out --loss.")
    _check_what_the_task_has(run.settings, task)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.settings.seed)
        system = _system(run, task, takes)
        _check_what_the_system_has(run.settings, system)
        _check_that_the_base_moves(run, task)
        network = Network(system, task, run.settings.dropout)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    return task, network, _facts(run, task, network, version) | {"device": name}


def _system(run: Run, task: Task, takes: list[str]) -> Map:
    given = dict(run.config)
    for name, value in (("input_size", run.settings.embedding or task.input_size), ("length", task.length)):
        if name in takes:
            given.setdefault(name, value)
    try:
        system = create(run.system, **given)
    except (TypeError, RuntimeError) as error:  # a value of the wrong type, deep inside torch
        settings = ", ".join(f"{key}={value!r}" for key, value in given.items())
        raise UserError(f"System {run.system!r} cannot be made with {settings}: {error}") from error
    if not isinstance(system, Map) or not any(True for _ in system.parameters()):
        raise UserError(f"System {run.system!r} has nothing to train; choose a network such as ernn.")
    if task.tokens is not None:
        if system.input_size != run.settings.embedding:
            raise UserError(
                f"The vectors of tokens have --embedding {run.settings.embedding}, the system takes "
                f"{system.input_size}: leave out --set input_size."
            )
        system.embed(task.tokens)
    return system


def _check_what_the_task_has(settings: Settings, task: Task) -> None:
    """Raise the error for a setting that does nothing on that task, or that it cannot do without."""
    if task.tokens is not None and not settings.embedding:
        raise UserError(
            f"Task {task.name!r} has {task.tokens:,} tokens by their numbers: say how long the vectors are that are "
            f"learned for them, --embedding 200."
        )
    if task.tokens is None and settings.embedding:
        raise UserError(f"Task {task.name!r} has no tokens, got --embedding {settings.embedding}: leave it out.")
    if task.tokens is not None and settings.noise:
        raise UserError(f"Task {task.name!r} has tokens, to which no noise is added: leave out --noise.")
    if settings.carry and not task.unit:
        raise UserError(f"The sequences of task {task.name!r} do not follow each other: leave out --carry.")
    if settings.schedule == PLATEAU and task.validation is None:
        raise UserError("--schedule plateau needs a validation split: leave out --retrain, or choose --schedule halve.")


def _check_what_the_system_has(settings: Settings, system: Map) -> None:
    """Raise the error for a setting that does nothing for that system, or that would undo what it is."""
    name = system.name
    for option, value in (
        ("--constrained-lr", settings.constrained_lr),
        ("--constrained-optimizer", settings.constrained_optimizer),
    ):
        if value is not None and not system.constrained_parameters():
            raise UserError(
                f"System {name!r} has no constrained parameters that learn in a way of their own, got {option} "
                f"{value}: leave it out."
            )
    penalty = system.penalty()
    if settings.penalty and (penalty is None or not penalty.requires_grad):  # a soft-orthogonal one of margin 0 is 0
        raise UserError(f"System {name!r} as it is set has no penalty, got --penalty {settings.penalty}: leave it out.")
    if settings.ema and any(isinstance(part, Orthogonal) and part.rebase_every for part in system.modules()):
        raise UserError(
            f"System {name!r} moves the base of its coordinates while it learns, so that they have no average, got "
            f"--ema {settings.ema}: leave it out."
        )
    if settings.ema and isinstance(system, FastGRNN) and system.density < 1:
        raise UserError(
            f"The average of sparse matrices is not sparse: System {name!r} of density {system.density} takes no "
            f"--ema, got {settings.ema}: leave it out."
        )


def _check_that_the_base_moves(run: Run, task: Task) -> None:
    """Raise the error for a period K that is longer than the training: an option that would do nothing."""
    every = run.config.get("rebase_every")
    steps = run.settings.epochs * len(Batches(task, run.settings))
    if every is not None and every > steps:
        raise UserError(
            f"The base moves after every rebase_every={every} steps of the optimiser, and this training has {steps}: "
            f"--set rebase_every={steps} or fewer, or train longer."
        )


def accepted(system: str) -> list[str]:
    """The names of the arguments that a system of `SYSTEMS` takes."""
    return list(inspect.signature(lookup(SYSTEMS, system, "system")).parameters)


def _facts(run: Run, task: Task, network: Network, lightning: str) -> dict[str, Any]:
    settings = dataclasses.asdict(run.settings) | {"augment": list(run.settings.augment)}
    if network.system.constrained_parameters():
        settings["constrained_lr"] = run.settings.constrained_rate
    return {
        "command": run.command,
        "seed": run.settings.seed,
        "settings": settings,
        "data": task.source,
        "cell_parameters": cell_parameters(network.system),
        "validation_subjects": _subjects(task),
        "versions": {
            "dynlab": dynlab.__version__,
            "torch": str(torch.__version__),  # it is a subclass, which a plain reader refuses
            "lightning": lightning,
            "python": platform.python_version(),
        },
    }


def cell_parameters(system: System) -> int:
    """Return how many learned numbers the cell has: ERNN's η are among them, an embedding and a read-out are not."""
    return sum(parameter.numel() for name, parameter in system.named_parameters() if name != EMBEDDING)


def _subjects(task: Task) -> list[int] | None:
    held = None if task.validation is None else task.validation.subjects
    return None if held is None else sorted({int(subject) for subject in held})
