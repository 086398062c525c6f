"""The trainer, so that checkpoints exist: a system and a linear read-out on a task, on Lightning (extra ``train``)."""

from dynlab.training.presets import PRESETS, Preset
from dynlab.training.run import Run
from dynlab.training.settings import Settings
from dynlab.training.train import Result, resume, train

__all__ = ["PRESETS", "Preset", "Result", "Run", "Settings", "resume", "train"]
