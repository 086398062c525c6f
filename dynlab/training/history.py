"""What a run measures epoch by epoch: in a file, in words, and beside the bar of its progress."""

import csv
import io
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dynlab.errors import UserError
from dynlab.files import write_text
from dynlab.systems.ernn_exact import ExactERNN
from dynlab.tasks import Task
from dynlab.training.module import VALIDATION_LOSS, VALIDATION_METRIC, Training
from dynlab.training.network import evaluate
from dynlab.training.run import METRICS_FILE

SAID_EVERY = 30.0  # seconds after which it is said how far a long epoch is


class Diverged(UserError):
    """The loss of a training is no number any more."""


class History(Callback):
    """Writes ``metrics.csv``, a row an epoch, says each row, and stops a training that has diverged."""

    def __init__(
        self, folder: Path, task: Task, epochs: int, say: Callable[[str], None] | None, test: bool = False
    ) -> None:
        self.path = folder / METRICS_FILE
        self.task = task
        self.epochs = epochs
        self.say = say
        self.test = test
        self.rows: list[dict[str, float]] = []
        self.said_at = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.say is None or not trainer.is_global_zero or time.monotonic() - self.said_at < SAID_EVERY:
            return
        epoch = f"epoch {trainer.current_epoch + 1} of {self.epochs}"
        batch_of = f"batch {batch_idx + 1:,} of {trainer.num_training_batches:,}"
        self._say(f"{epoch}, {batch_of}: loss {_ours(pl_module).latest_loss:#.4g}")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        training = _ours(pl_module)
        row = {"epoch": trainer.current_epoch + 1, "loss": training.take_mean_loss()}
        names = {VALIDATION_LOSS: "validation_loss", VALIDATION_METRIC: f"validation_{self.task.metric}"}
        for key, name in names.items():
            if key in trainer.callback_metrics:
                row[name] = float(trainer.callback_metrics[key])
        if self.test:
            row |= self._tested(training)
        if not math.isfinite(row["loss"]):
            remedy = "lower --lr or set --clip"
            if isinstance(training.network.system, ExactERNN):
                remedy = (
                    f"a step has no equilibrium, as tanh and rank=none (a full U) always have: set these, or {remedy}"
                )
            raise Diverged(f"The training diverged in epoch {row['epoch']}: the loss is {row['loss']}; {remedy}.")
        self.rows.append(row)
        if not trainer.is_global_zero:
            return
        text = io.StringIO()
        writer = csv.DictWriter(text, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_text(self.path, text.getvalue())
        self._say(self.last_line())

    def _tested(self, training: Training) -> dict[str, float]:
        """What the test split says of the network that this epoch leaves."""
        network = training.trained
        learning = network.training
        found = evaluate(network, self.task, self.task.test, training.settings.carry)
        network.train(learning)
        return {f"test_{key}": value for key, value in found.items()}

    def _say(self, line: str) -> None:
        if self.say is not None:
            self.say(line)
        self.said_at = time.monotonic()

    def last_line(self) -> str:
        """The last row in words."""
        row = self.rows[-1]
        said = ", ".join(f"{name.replace('_', ' ')} {value:#.4g}" for name, value in row.items() if name != "epoch")
        return f"epoch {row['epoch']} of {self.epochs}: {said}"

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rows = list(state_dict["rows"])
        if any(not self._fits(row) for row in rows):
            raise ValueError("its rows of metrics are not those of this run")
        self.rows = rows

    def _fits(self, row: object) -> bool:
        """Whether a row has the names that this run gives its own, and numbers."""
        if not isinstance(row, dict) or not all(type(value) in (int, float) for value in row.values()):
            return False
        held = {"validation_loss", f"validation_{self.task.metric}"} if self.task.validation is not None else set()
        tested = {name for name in row if str(name).startswith("test_")}
        return row.keys() - tested == {"epoch", "loss"} | held and bool(tested) == self.test


def _ours(module: LightningModule) -> Training:
    if not isinstance(module, Training):
        raise TypeError(f"History goes with Training, got {type(module).__name__}")
    return module


class Bar(Callback):
    """One bar from the first step to the last, with the time that is left.

    It is drawn on standard error, and says of the last finished epoch what `history` has of it.
    """

    def __init__(self, history: History, batches: int) -> None:
        self.history = history
        self.batches = batches
        self.drawn = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.line = self.drawn.add_task("epoch 0", total=history.epochs * batches)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.is_global_zero:
            self.drawn.update(self.line, completed=trainer.global_step)
            self.drawn.start()

    def on_train_batch_end(self, *_: Any) -> None:
        self.drawn.advance(self.line)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.drawn.update(self.line, description=self._said())

    def _said(self) -> str:
        """The epoch and its last number, short enough for a narrow terminal."""
        row = self.history.rows[-1]
        name, value = list(row.items())[-1]
        return f"epoch {row['epoch']} of {self.history.epochs}, {name.replace('_', ' ')} {value:#.4g}"

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.drawn.stop()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self.drawn.stop()
