"""The checkpoints of a run that are kept, to see how a network changes while it learns."""

from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer


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
