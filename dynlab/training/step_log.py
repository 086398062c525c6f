"""What a run measures step by step, in a file and in TensorBoard."""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from dynlab.errors import require_extra
from dynlab.files import told_of_failure, write_text
from dynlab.training.module import VALIDATION_LOSS, VALIDATION_METRIC, Training
from dynlab.training.run import STEPS_FILE, TENSORBOARD
from dynlab.training.stability_monitor import StabilityMonitor
from dynlab.training.stability_watch import LARGEST_EXPONENT, LOG_GRADIENT, SPECTRAL_RADIUS

STABILITY = (LOG_GRADIENT, SPECTRAL_RADIUS, LARGEST_EXPONENT)
FIRST = ("step", "loss", "learning_rate")


class StepLog(Callback):
    """A row of ``steps.csv`` and points in TensorBoard every so many steps, and whenever the monitor has measured.

    A resumed run goes on where its checkpoint is: what was written of later steps is dropped from both.

    Parameters
    ----------
    folder : Path
        That of the run.
    every : int
        Steps of the optimiser.
    monitor : StabilityMonitor or None
        Whose measurements are written too; it comes before this in the list of callbacks.
    say : callable or None
        Is told, once, why something could not be measured.
    """

    def __init__(
        self, folder: Path, every: int, monitor: StabilityMonitor | None, say: Callable[[str], None] | None
    ) -> None:
        self.path = folder / STEPS_FILE
        self.board = folder / TENSORBOARD
        self.every = every
        self.monitor = monitor
        self.say = say
        self._said: set[str] = set()
        self.columns = [*FIRST, *(STABILITY if monitor else ())]
        self._writer: Any = None
        self._rate = math.nan

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        done = trainer.global_step
        kept = []
        if done and self.path.is_file():
            with self.path.open(newline="", encoding="utf-8") as file:
                kept = [row for row in csv.DictReader(file) if self._whole(row) and int(row["step"]) <= done]
        lines = [",".join(self.columns), *(",".join(row[name] for name in self.columns) for row in kept)]
        write_text(self.path, "\n".join(lines) + "\n")
        writer = require_extra("tensorboardX", "train").SummaryWriter
        with told_of_failure(self.board):
            self._writer = writer(str(self.board), purge_step=done + 1 if done else None)

    def _whole(self, row: dict[str, str]) -> bool:
        """Not the last row of a run that was killed while it wrote it."""
        return all(row.get(name) is not None for name in self.columns) and row["step"].isdigit()

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        self._rate = trainer.optimizers[0].param_groups[0]["lr"]  # at the batch's end it is the next step's already

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        measured = self.monitor.latest if self.monitor else {}
        if self._writer is None or (trainer.global_step % self.every and not measured):
            return
        failure = self.monitor.failure if self.monitor and measured else None
        if failure and self.say is not None and failure not in self._said:
            self._said.add(failure)
            self.say(f"step {trainer.global_step}: what is not known of the stability stays empty, since {failure}")
        if not isinstance(pl_module, Training):
            raise TypeError(f"StepLog goes with Training, got {type(pl_module).__name__}")
        values = {"loss": pl_module.latest_loss, "learning_rate": self._rate} | measured
        row = {"step": trainer.global_step} | {name: _text(value) for name, value in values.items()}
        with told_of_failure(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self.columns, restval="", lineterminator="\n").writerow(row)
        for name, value in values.items():
            self._writer.add_scalar(name, value, trainer.global_step)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._writer is None:
            return
        for name in (VALIDATION_LOSS, VALIDATION_METRIC):
            if name in trainer.callback_metrics:
                self._writer.add_scalar(name, float(trainer.callback_metrics[name]), trainer.global_step)
        self._writer.flush()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._close()  # at once: where processes share the run, this one ends without a teardown

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._close()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _text(value: float) -> str:
    """The shortest text that reads back as the same number; nothing for what was not measured."""
    return repr(float(value)) if math.isfinite(value) else ""
