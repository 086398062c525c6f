"""A training run: a system, a task, and every setting of both, JSON-able."""

import dataclasses
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dynlab.arguments import check_at_least
from dynlab.errors import UserError
from dynlab.training.settings import Settings, option

RUN_FILE, NETWORK_FILE = "run.json", "network.pt"
METRICS_FILE, STEPS, TENSORBOARD = "metrics.csv", "steps", "tensorboard"
BEST, LAST = "best", "last"


class Diverged(UserError):
    """The loss of a training is no number any more."""


@dataclass(frozen=True)
class Writes:
    """The things that a run writes down while it goes; of no influence on the result.

    Attributes
    ----------
    checkpoint_every : int or None
        Batches between two ``last.ckpt``, beside the one of each epoch.
    keep_every : int or None
        Batches between checkpoints that are kept.
    log_every : int
        Steps between rows of ``steps/`` and points in TensorBoard.
    monitor_every : int or None
        Steps between two measurements of a `StabilityMonitor`; None has none.
    test_every_epoch : bool
        ``metrics.csv`` has the test split's loss and metric too. They are a record: nothing is chosen by them.
    """

    checkpoint_every: int | None = None
    keep_every: int | None = None
    log_every: int = 50
    monitor_every: int | None = None
    test_every_epoch: bool = False

    def __post_init__(self) -> None:
        check_at_least(1, **{option(name): value for name, value in vars(self).items() if type(value) is int})


@dataclass(frozen=True)
class Run:
    """The training of a system on a task, and how; JSON-able.

    Attributes
    ----------
    system, task : str
        Public names.
    settings : Settings
    config : dict
        Settings of the system. ``input_size`` and ``length`` are the task's where they are left out.
    task_settings : dict
        Settings of the task; ``seed`` is that of the settings where it is left out.
    """

    system: str
    task: str
    settings: Settings = field(default_factory=Settings)
    config: Mapping[str, Any] = field(default_factory=dict)
    task_settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command line that does the same, but for where the data lie and the results go."""
        words = ["dynlab", "train", "--system", self.system, "--task", self.task]
        for chosen, given in (("--set", self.config), ("--task-set", self.task_settings)):
            for key, value in given.items():
                if (chosen, key) == ("--task-set", "retrain"):
                    words += ["--retrain"] if value else []
                else:
                    words += [chosen, f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        for entry in dataclasses.fields(self.settings):
            value = getattr(self.settings, entry.name)
            if value is True:
                words += [option(entry.name)]
            elif value != entry.default:
                words += [option(entry.name), ",".join(value) if isinstance(value, tuple) else str(value)]
        return shlex.join(words)


def stored_run(folder: Path) -> tuple[Run, Writes]:
    """Return the run of a folder and what it writes, as its ``run.json`` says.

    Raises
    ------
    UserError
        If there is none, or its settings are none of a run.
    """
    path = folder / RUN_FILE
    if not path.is_file():
        raise UserError(f"{folder} holds no training run (no {RUN_FILE}); name the folder that --output named.")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        settings, writes = Settings(**stored.pop("settings")), Writes(**stored.pop("writes"))
        stored.pop("devices", None)  # of older runs
        return Run(settings=settings, **stored), writes
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}); start the run anew with --overwrite.") from error
