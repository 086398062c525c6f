"""The trainer, so that checkpoints exist: a system and a linear read-out on a task, on Lightning (extra ``train``)."""

from typing import Any

from dynlab.training.presets import PRESETS, Preset
from dynlab.training.run import Diverged, Run, Writes, stored_run
from dynlab.training.settings import Settings
from dynlab.training.train import Result, resume, train

__all__ = [
    "PRESETS",
    "Diverged",
    "Preset",
    "Result",
    "Run",
    "Settings",
    "StabilityMonitor",
    "Writes",
    "resume",
    "stored_run",
    "train",
]


def __getattr__(name: str) -> Any:
    """`StabilityMonitor` is Lightning's class, whose import takes seconds and the extra ``train``."""
    if name != "StabilityMonitor":
        raise AttributeError(f"module 'dynlab.training' has no attribute {name!r}")
    from dynlab.errors import require_extra

    require_extra("lightning", "train")
    from dynlab.training.stability_monitor import StabilityMonitor

    return StabilityMonitor
