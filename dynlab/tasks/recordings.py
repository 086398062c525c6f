"""What the tasks on recordings share: all sequences in one array, standardised only when they are asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dynlab.errors import unknown
from dynlab.tasks.on_demand import OnDemand
from dynlab.tasks.task import Scaling, Split, Task

Standardise = Literal["feature", "channel", "global"]
# What mean and deviation are taken over, of sequences (sample, time, input).
STANDARDISE = {"feature": (0,), "channel": (0, 1), "global": (0, 1, 2)}
CHUNK = 64  # sequences whose moments are summed at a time


@dataclass(frozen=True)
class Scaled:
    """Raw sequences, shape (sample, time, input), that are scaled when it is called with their numbers."""

    raw: np.ndarray
    scaling: Scaling

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        return self.scaling.apply(self.raw[numbers])


def make(
    name: str,
    raw: np.ndarray,
    splits: tuple[Split, Split | None, Split],
    output_size: int,
    description: str,
    settings: dict[str, Any],
    source: dict[str, str],
) -> Task:
    """A classification of recordings, standardised over the training examples; memory holds the raw ones alone.

    Parameters
    ----------
    raw : ndarray, shape (sample, time, input), float32
    splits : (Split, Split or None, Split)
        Training, validation and test; their inputs are numbers of rows of `raw`.
    settings : dict
        Has ``standardise`` and what else the task was made with.
    """
    train, validation, test = splits
    scaling = fit(raw, train.inputs, settings["standardise"])

    def on_demand(part: Split) -> Split:
        return Split(OnDemand(Scaled(raw, scaling), part.inputs, *raw.shape[1:]), part.targets, part.subjects)

    return Task(
        name=name,
        settings=settings,
        train=on_demand(train),
        validation=None if validation is None else on_demand(validation),
        test=on_demand(test),
        output_size=output_size,
        loss="cross-entropy",
        every_step=False,
        description=description,
        source=source,
        scaling=scaling,
    )


def fit(raw: np.ndarray, numbers: np.ndarray, standardise: str) -> Scaling:
    """Mean and deviation of the rows `numbers` of `raw`, float32; what never changes has deviation 1."""
    if standardise not in STANDARDISE:
        raise unknown("way to standardise", standardise, STANDARDISE)
    axes = STANDARDISE[standardise]
    count = len(numbers) * np.prod([raw.shape[axis] for axis in axes[1:]])
    mean = sum(chunk.sum(axis=axes) for chunk in _chunks(raw, numbers)) / count
    variance = sum(((chunk - mean) ** 2).sum(axis=axes) for chunk in _chunks(raw, numbers)) / count
    deviation = np.sqrt(np.where(variance > 0, variance, 1))
    return Scaling(np.asarray(mean, np.float32), np.asarray(deviation, np.float32))


def _chunks(raw: np.ndarray, numbers: np.ndarray) -> Iterator[np.ndarray]:
    return (raw[numbers[start : start + CHUNK]].astype(np.float64) for start in range(0, len(numbers), CHUNK))
