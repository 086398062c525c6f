"""The order of the data, a function of (seed, epoch, batch) alone, so that a resumed run goes on where it was."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynlab.tasks import Task
from dynlab.tasks.on_demand import OnDemand
from dynlab.training.settings import Settings

# Streams of the seed, so that the order and the changes of the data are independent.
ORDER, CHANGE = 0, 1


class Batches:
    """The training batches of one epoch after the other: iterating it goes through what is left of the present one.

    Lightning saves `state_dict` in its checkpoints and calls `load_state_dict` when it resumes.

    Parameters
    ----------
    task : Task
    settings : Settings
        Of which the seed, the batch size, the noise and the augmentations matter here.
    """

    def __init__(self, task: Task, settings: Settings) -> None:
        self.task = task
        self.settings = settings
        self.changes = task.augmentation(settings.augment)
        self.epoch = 0
        self.position = 0

    def __len__(self) -> int:
        """Batches in an epoch; the last may be smaller."""
        return math.ceil(len(self.task.train) / self.settings.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        if self.position == len(self):
            self.epoch, self.position = self.epoch + 1, 0
        order = self._generator(ORDER, self.epoch).permutation(len(self.task.train))
        while self.position < len(self):
            size = self.settings.batch_size
            batch = self._batch(order[self.position * size : (self.position + 1) * size])
            self.position += 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch, self.position = state["epoch"], state["position"]

    def _batch(self, which: np.ndarray) -> tuple[Tensor, Tensor]:
        inputs, targets = self.task.train.inputs[which], self.task.train.targets[which]
        generator = self._generator(CHANGE, self.epoch, self.position)
        if self.changes:
            inputs = self.task.augmented(inputs, self.changes, generator)
        if self.settings.noise:
            inputs = inputs + self.settings.noise * generator.standard_normal(inputs.shape, dtype=np.float32)
        return torch.from_numpy(inputs), torch.from_numpy(targets)

    def _generator(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed, *stream])


class Sweep:
    """A split from its first sequence to its last, in batches of at most `batch_size`."""

    def __init__(self, inputs: np.ndarray | OnDemand, targets: np.ndarray, batch_size: int) -> None:
        self.inputs = inputs
        self.targets = targets
        self.batch_size = batch_size

    def __len__(self) -> int:
        return math.ceil(len(self.inputs) / self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, len(self.inputs), self.batch_size):
            rows = slice(start, start + self.batch_size)
            yield torch.from_numpy(self.inputs[rows]), torch.from_numpy(self.targets[rows])
