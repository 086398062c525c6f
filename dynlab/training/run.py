"""What a training run is: a system, a task, and every setting of both, JSON-able."""

import dataclasses
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dynlab.arguments import check_at_least
from dynlab.errors import UserError
from dynlab.training.settings import Settings, option

RUN_FILE, NETWORK_FILE = "run.json", "network.pt"
METRICS_FILE, STEPS_FILE, TENSORBOARD = "metrics.csv", "steps.csv", "tensorboard"
BEST, LAST = "best", "last"
LONGEST_REASON = 200  # letters of what torch says


@dataclass(frozen=True)
class Writes:
    """What a run writes down while it goes; of no influence on the result.

    Attributes
    ----------
    checkpoint_every : int or None
        Batches between two ``last.ckpt``, beside the one of each epoch.
    keep_every : int or None
        Batches between checkpoints that are kept.
    log_every : int
        Steps between rows of ``steps.csv`` and points in TensorBoard.
    monitor_every : int or None
        Steps between two measurements of a `StabilityMonitor`; None has none.
    test_every_epoch : bool
        Whether ``metrics.csv`` has the test split's loss and metric too. They are a record: nothing is chosen by them.
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
    """What is trained on what, and how; JSON-able.

    Attributes
    ----------
    system, task : str
        Public names.
    settings : Settings
    config : dict
        Of the system. ``input_size`` and ``length`` are the task's where they are left out.
    task_settings : dict
        Of the task; ``seed`` is that of the settings where it is left out.
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
                text = ",".join(value) if isinstance(value, tuple) else str(value)
                words += [option(entry.name), text]
        return shlex.join(words)


@contextmanager
def checked_against_run(path: Path | None, has_begun: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Say of a run's checkpoint that it does not fit the run, where it is read and used within, before it `has_begun`.

    A damaged file may have other names and shapes than the network and its optimiser, which torch tells of in its own
    words, and some of them at the first step only.
    """
    try:
        yield
    except (RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
        if path is None or has_begun() or isinstance(error, UserError | torch.OutOfMemoryError):
            raise
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        raise UserError(f"{path} does not fit its run ({reason}); start the run anew with --overwrite.") from error
