"""The part that tasks on recordings share: the raw sequences in memory, standardised only when they are asked for."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from dynlab.errors import unknown
from dynlab.tasks.on_demand import OnDemand
from dynlab.tasks.task import Augmentation, Scaling, Split, Task

Standardise = Literal["feature", "channel", "global"]
# What mean and deviation are taken over, of sequences (sample, time, input).
STANDARDISE = {"feature": (0,), "channel": (0, 1), "global": (0, 1, 2)}
CHUNK = 64  # sequences whose moments are summed at a time


def scaled(raw: np.ndarray, scaling: Scaling, numbers: np.ndarray) -> np.ndarray:
    """The sequences of these numbers of `raw`, (sample, time, input)."""
    return scaling.apply(raw[numbers])


def make(
    name: str,
    raw: tuple[np.ndarray, np.ndarray],
    splits: tuple[Split, Split | None, Split],
    output_size: int,
    description: str,
    settings: dict[str, Any],
    source: dict[str, str],
    augmentations: Mapping[str, tuple[Augmentation, float]] | None = None,
) -> Task:
    """A classification of recordings, standardised over the training examples; memory holds the raw ones alone.

    Parameters
    ----------
    raw : (ndarray, ndarray), each of shape (sample, time, input), float32
        The source of training and validation, and that of the test; they may be one.
    splits : (Split, Split or None, Split)
        Training, validation and test; their inputs are numbers of rows of `raw`.
    settings : dict
        Has ``standardise`` and what else the task was made with.
    augmentations : mapping, optional
        See `Task`.
    """
    train, validation, test = splits
    check_standardise(settings["standardise"])
    scaling = fit(raw[0], train.inputs, STANDARDISE[settings["standardise"]])

    def on_demand(rows: np.ndarray, part: Split) -> Split:
        return Split(
            OnDemand(partial(scaled, rows, scaling), part.inputs, *rows.shape[1:]), part.targets, part.subjects
        )

    return Task(
        name=name,
        settings=settings,
        train=on_demand(raw[0], train),
        validation=None if validation is None else on_demand(raw[0], validation),
        test=on_demand(raw[1], test),
        output_size=output_size,
        loss="cross-entropy",
        every_step=False,
        description=description,
        source=source,
        scaling=scaling,
        augmentations=augmentations or {},
    )


def check_standardise(standardise: str) -> None:
    """Raise where there is no such way to standardise."""
    if standardise not in STANDARDISE:
        raise unknown("way to standardise", standardise, STANDARDISE)


def fit(raw: np.ndarray, numbers: np.ndarray, axes: tuple[int, ...]) -> Scaling:
    """Mean and deviation of the rows `numbers` of `raw` over `axes`, float32; what never changes has deviation 1.

    `axes` begins with 0, the rows.
    """

    def chunks() -> Iterator[np.ndarray]:
        return (raw[numbers[start : start + CHUNK]].astype(np.float64) for start in range(0, len(numbers), CHUNK))

    count = len(numbers) * np.prod([raw.shape[axis] for axis in axes[1:]])
    mean = sum(chunk.sum(axis=axes, keepdims=True) for chunk in chunks()) / count
    variance = sum(((chunk - mean) ** 2).sum(axis=axes) for chunk in chunks()) / count
    deviation = np.sqrt(np.where(variance > 0, variance, 1))
    return Scaling(np.asarray(np.squeeze(mean, axes), np.float32), np.asarray(deviation, np.float32))
