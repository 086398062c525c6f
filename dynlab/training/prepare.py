"""A run before it starts: its task, its untrained network, and the facts that its checkpoints will hold."""

import dataclasses
import platform
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import torch

import dynlab
from dynlab import tasks
from dynlab.arguments import takes
from dynlab.checkpoints.document import EMBEDDING
from dynlab.errors import UserError, require_extra
from dynlab.progress import working
from dynlab.systems import SYSTEMS, Map, System, create
from dynlab.systems.autonomous import check_device
from dynlab.systems.fastgrnn import FastGRNN
from dynlab.systems.orthogonal import Orthogonal
from dynlab.tasks import Task
from dynlab.training.batches import Batches
from dynlab.training.network import Network
from dynlab.training.run import Run
from dynlab.training.settings import PLATEAU, Settings, refuse
from dynlab.words import capital


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
    accepted = takes(SYSTEMS, run.system, "system")
    check_device(device)
    version = require_extra("lightning", "train").__version__
    if "data_dir" in run.task_settings:
        raise UserError("data_dir is no setting of a run: name the folder of the data with --data-dir or DYNLAB_DATA.")
    with working(f"Reading {run.task}", quiet=not (progress or say)):
        task = tasks.create(run.task, **{"seed": run.settings.seed, **run.task_settings}, data_dir=data_dir)
    task.augmentation(run.settings.augment)
    _check_task(run.settings, task)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.settings.seed)
        system = _system(run, task, accepted)
        _check_system(run, task, system)
        network = Network(system, task, run.settings.dropout)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    return task, network, _facts(run, task, network, version) | {"device": name}


def _system(run: Run, task: Task, accepted: Collection[str]) -> Map:
    given = dict(run.config)
    for name, value in (("input_size", run.settings.embedding or task.input_size), ("length", task.length)):
        if name in accepted:
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


def _check_task(settings: Settings, task: Task) -> None:
    """Raise the error for a setting that does nothing on that task, or that it cannot do without."""
    has_tokens, name = task.tokens is not None, f"task {task.name!r}"
    refuse(
        [
            (
                settings.loss is not None and task.loss != "mse",
                f"{capital(name)} has classes and learns by cross-entropy: leave out --loss.",
            ),
            (
                has_tokens and not settings.embedding,
                f"{capital(name)} has {task.tokens or 0:,} tokens by their numbers: say how long the vectors are that "
                "are learned for them, --embedding 200.",
            ),
            (
                settings.embedding and not has_tokens,
                f"{capital(name)} has no tokens, got --embedding {settings.embedding}: leave it out.",
            ),
            (
                settings.noise and has_tokens,
                f"{capital(name)} has tokens, to which no noise is added: leave out --noise.",
            ),
            (
                settings.carry and not task.unit,
                f"The sequences of {name} do not follow each other: leave out --carry.",
            ),
            (
                settings.schedule == PLATEAU and task.validation is None,
                "--schedule plateau needs a validation split: leave out --retrain, or choose --schedule halve.",
            ),
        ]
    )


def _check_system(run: Run, task: Task, system: Map) -> None:
    """Raise the error for a setting that does nothing for that system, or that would undo what it is."""
    settings, name, penalty = run.settings, f"System {system.name!r}", system.penalty()
    every, steps = run.config.get("rebase_every"), settings.epochs * len(Batches(task, settings))
    own = {"--constrained-lr": settings.constrained_lr, "--constrained-optimizer": settings.constrained_optimizer}
    refuse(
        [
            *(
                (
                    value is not None and not system.constrained_parameters(),
                    f"{name} has no constrained parameters that learn in a way of their own, got {option} {value}: "
                    "leave it out.",
                )
                for option, value in own.items()
            ),
            (
                # that of a soft-orthogonal one of margin 0 is 0
                settings.penalty and (penalty is None or not penalty.requires_grad),
                f"{name} as it is set has no penalty, got --penalty {settings.penalty}: leave it out.",
            ),
            (
                settings.ema and any(isinstance(part, Orthogonal) and part.rebase_every for part in system.modules()),
                f"{name} moves the base of its coordinates while it learns, so that they have no average, got --ema "
                f"{settings.ema}: leave it out.",
            ),
            (
                settings.ema and isinstance(system, FastGRNN) and system.density < 1,
                f"The average of sparse matrices is not sparse: {name} takes no --ema with a density below 1, got "
                f"{settings.ema}: leave it out.",
            ),
            (
                every is not None and every > steps,
                f"The base moves after every rebase_every={every} steps of the optimiser, and this training has "
                f"{steps}: --set rebase_every={steps} or fewer, or train longer.",
            ),
        ]
    )


def _facts(run: Run, task: Task, network: Network, lightning: str) -> dict[str, Any]:
    held = None if task.validation is None else task.validation.subjects
    settings = dataclasses.asdict(run.settings) | {"augment": list(run.settings.augment)}
    if network.system.constrained_parameters():
        settings["constrained_lr"] = run.settings.constrained_rate
    return {
        "command": run.command,
        "seed": run.settings.seed,
        "settings": settings,
        "data": task.source,
        "cell_parameters": cell_parameters(network.system),
        "validation_subjects": None if held is None else sorted(set(held.tolist())),
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
