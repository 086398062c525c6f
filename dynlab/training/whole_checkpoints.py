"""Checkpoints that are written whole or not at all: the last good one survives a full disk and a killed run."""

from pathlib import Path
from typing import Any

from lightning.pytorch.plugins.io import TorchCheckpointIO

from dynlab.checkpoints.document import as_torch
from dynlab.io import write_bytes


class WholeCheckpoints(TorchCheckpointIO):
    """Lightning's way to write, but to a file beside that replaces the old one only when it is on the disk."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, as_torch(checkpoint))
