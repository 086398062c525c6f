"""The checkpoints of a run: the last and the best, and those that show how a network changes while it learns.

Each is written whole or not at all: the last good one survives a full disk and a killed run.
"""

from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from dynlab.checkpoints.document import as_torch
from dynlab.files import write_bytes
from dynlab.tasks import Task
from dynlab.training.module import VALIDATION_METRIC
from dynlab.training.run import Writes


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
        found.append(ModelCheckpoint(filename="best", monitor=VALIDATION_METRIC, mode=mode, **after_epochs))
    found.append(ModelCheckpoint(filename="last", **after_epochs))
    if writes.checkpoint_every is not None:
        within = where | {"save_on_train_epoch_end": False, "every_n_train_steps": writes.checkpoint_every}
        found.append(ModelCheckpointWithinEpochs(filename="last", **within))
    return found
