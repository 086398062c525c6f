"""The files that a run writes epoch by epoch: its measurements, and its last, best and kept checkpoints.

Each is written whole or not at all: the last good one survives a full disk and a killed run.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from dynlab.checkpoints.document import as_torch
from dynlab.files import write_bytes, write_text
from dynlab.tasks import Task
from dynlab.training.module import VALIDATION_LOSS, VALIDATION_METRIC
from dynlab.training.network import evaluate
from dynlab.training.run import BEST, LAST, METRICS_FILE, Diverged, Writes


class History(Callback):
    """Writes ``metrics.csv``, a row an epoch, says each row, and stops a training that has diverged."""

    def __init__(self, folder: Path, say: Callable[[str], None] | None, test: bool) -> None:
        self.path = folder / METRICS_FILE
        self.say = say
        self.test = test
        self.rows: list[dict[str, float]] = []

    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        task = pl_module.task
        row = {"epoch": trainer.current_epoch + 1, "loss": pl_module.take_mean_loss()}
        names = {VALIDATION_LOSS: "validation_loss", VALIDATION_METRIC: f"validation_{task.metric}"}
        metrics = trainer.callback_metrics
        row |= {name: float(metrics[key]) for key, name in names.items() if key in metrics}
        if self.test:
            network, learning = pl_module.trained, pl_module.trained.training
            found = evaluate(network, task, task.test, pl_module.settings.carry)
            network.train(learning)
            row |= {f"test_{key}": value for key, value in found.items()}
        if not math.isfinite(row["loss"]):
            raise Diverged(
                f"The training diverged in epoch {row['epoch']}: the loss is {row['loss']}; lower --lr or set --clip. "
                "For an ernn-exact set activation=tanh and rank=none, with which every step has an equilibrium."
            )
        self.rows.append(row)
        write_text(self.path, pd.DataFrame(self.rows).to_csv(index=False, na_rep="nan", lineterminator="\n"))
        if self.say is not None:
            said = [f"{name.replace('_', ' ')} {value:#.4g}" for name, value in row.items() if name != "epoch"]
            self.say(f"epoch {row['epoch']} of {trainer.max_epochs}: {', '.join(said)}")

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = list(state_dict["rows"])


class WholeCheckpoints(TorchCheckpointIO):
    """Writes to a file beside, which replaces the old one only when it is on the disk."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        write_bytes(Path(path), as_torch(checkpoint))


class Kept(Callback):
    """Writes ``step-000000.ckpt`` before the first batch, and another after every `every` batches; each stays.

    Not one of Lightning's savers: two of those with the same interval refuse each other, and none saves step 0.
    """

    def __init__(self, folder: Path, every: int) -> None:
        self.folder = folder
        self.every = every

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.global_step == 0:
            self._keep(trainer)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        if trainer.global_step % self.every == 0:
            self._keep(trainer)

    def _keep(self, trainer: Trainer) -> None:
        trainer.save_checkpoint(self.folder / f"step-{trainer.global_step:06d}.ckpt")


class ModelCheckpointWithinEpochs(ModelCheckpoint):
    """Saves after so many batches, but not after an epoch's last.

    A run that went on from there would begin the next epoch and leave out the end of this one: its validation, what the
    schedule and the best checkpoint make of it, and its row of metrics.
    """

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if batch_idx + 1 < trainer.num_training_batches:
            super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)


def savers(folder: Path, task: Task, writes: Writes) -> list[Callback]:
    """Return Lightning's savers: the best first, so that the last one's copy of their state is complete."""
    where: dict[str, Any] = {"dirpath": folder, "enable_version_counter": False}
    after_epochs = where | {"save_on_train_epoch_end": True}
    found: list[Callback] = [] if writes.keep_every is None else [Kept(folder, writes.keep_every)]
    if task.validation is not None:
        mode = "max" if task.metric == "accuracy" else "min"
        found.append(ModelCheckpoint(filename=BEST, monitor=VALIDATION_METRIC, mode=mode, **after_epochs))
    found.append(ModelCheckpoint(filename=LAST, **after_epochs))
    if writes.checkpoint_every is not None:
        within = where | {"save_on_train_epoch_end": False, "every_n_train_steps": writes.checkpoint_every}
        found.append(ModelCheckpointWithinEpochs(filename=LAST, **within))
    return found
