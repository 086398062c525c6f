"""The progress bar of a run: one bar from the first step to the last, with the time that is left."""

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dynlab.training.history import History


class Bar(Callback):
    """Draws on standard error; says of the last finished epoch what `history` has of it."""

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
