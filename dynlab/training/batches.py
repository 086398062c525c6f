"""The order of the data, a function of (seed, epoch, batch) alone, so that a resumed run goes on where it was."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynlab.tasks import Split, Task
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
        The seed, the batch size, the noise, the augmentations and whether states are carried matter here.
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
        rows = self._rows()
        while self.position < len(self):
            batch = self._batch(rows[self.position])
            self.position += 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch, self.position = state["epoch"], state["position"]

    def _rows(self) -> list[np.ndarray]:
        """The sequences of each batch of the present epoch."""
        count, size = len(self.task.train), self.settings.batch_size
        if self.settings.carry:
            return streams(count, size)
        order = self._generator(ORDER, self.epoch).permutation(count)
        return [order[start : start + size] for start in range(0, count, size)]

    def _batch(self, which: np.ndarray) -> tuple[Tensor, Tensor]:
        split = self.task.train if self.task.renew is None else self.task.renew(self.epoch)
        inputs, targets = split.inputs[which], split.targets[which]
        generator = self._generator(CHANGE, self.epoch, self.position)
        if self.changes:
            inputs = self.task.augmented(inputs, self.changes, generator)
        if self.settings.noise:
            inputs = inputs + self.settings.noise * generator.standard_normal(inputs.shape, dtype=np.float32)
        return torch.from_numpy(inputs), torch.from_numpy(targets)

    def _generator(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed, *stream])


@dataclass(frozen=True)
class Sweep:
    """A split in batches of these sequences."""

    split: Split
    rows: Sequence[np.ndarray | slice]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for rows in self.rows:
            yield torch.from_numpy(self.split.inputs[rows]), torch.from_numpy(self.split.targets[rows])


def streams(count: int, most: int) -> list[np.ndarray]:
    """`count` consecutive windows in at most `most` parallel streams: the windows of each batch, one of each stream.

    Each row of a batch follows that row of the batch before; a last stream that is shorter leaves the last batches.

    Examples
    --------
    >>> [rows.tolist() for rows in streams(5, 2)]
    [[0, 3], [1, 4], [2]]
    """
    length = math.ceil(count / most)
    return [np.arange(start, count, length) for start in range(length)]
