"""Trained networks from files: reading every usual format without running code, and writing dynlab's own."""

from dynlab.checkpoints.checkpoint import Checkpoint, read
from dynlab.checkpoints.description import describe
from dynlab.checkpoints.document import document, save_checkpoint, write
from dynlab.checkpoints.modules import from_module

__all__ = ["Checkpoint", "describe", "document", "from_module", "read", "save_checkpoint", "write"]
