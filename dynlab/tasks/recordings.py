"""The part that classifications of real data share: raw sequences in memory, standardised when they are asked for."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from dynlab.errors import UserError, entry
from dynlab.tasks.task import FIXED_SEED, Augmentation, Scaling, Split, Task, hold_out

Standardise = Literal["feature", "channel", "global"]
# What mean and deviation are taken over, of sequences (sample, time, input) or (sample, time, channel, column).
STANDARDISE = {"feature": (0,), "channel": (0, 1, 3), "global": (0, 1, 2, 3)}
CHUNK = 64  # sequences whose moments are summed at a time


def make(
    name: str,
    data: tuple[Split, Split, dict[str, str]],
    held_out: float | np.ndarray,
    output_size: int,
    description: str,
    settings: dict[str, Any],
    *,
    augmentations: Mapping[str, tuple[Augmentation, float]] | None = None,
    levels: float | None = None,
) -> Task:
    """A classification of sequences, standardised over the training examples; memory holds the raw ones alone.

    Parameters
    ----------
    data : (Split, Split, dict)
        The raw sequences of the training and the test, shape (sample, time, input) or (sample, time, channel, column),
        and the source of the data.
    held_out : float or ndarray
        See `hold_out`.
    settings : dict
        Has ``seed``, ``retrain``, ``standardise`` and what else the task was made with; with a ``length`` each
        sequence goes on with noise up to it.
    augmentations : mapping, optional
        See `Task`.
    levels : float, optional
        See `fit`.
    """
    train, test, source = data
    length = settings.get("length")
    rows = Split(np.arange(len(train)), train.targets, train.subjects)  # held out by number: nothing is copied
    kept, held = hold_out(rows, held_out, settings["seed"], settings["retrain"])
    scaling = fit(train.inputs, kept.inputs, settings["standardise"], levels)
    steps, width = scaling.mean.shape
    if length is not None and length < steps:
        raise UserError(f"The length must be at least {steps}, the rows of an image; got {length}.")
    of_train, of_test = (partial(shown, part.inputs, scaling, length, i) for i, part in enumerate((train, test)))
    sizes = length or steps, width
    return Task(
        name=name,
        settings=settings,
        train=kept.made_by(of_train, sizes),
        validation=None if held is None else held.made_by(of_train, sizes),
        test=Split(np.arange(len(test)), test.targets, test.subjects).made_by(of_test, sizes),
        output_size=output_size,
        loss="cross-entropy",
        every_step=False,
        description=description,
        source=source,
        scaling=scaling if length is None else None,  # noise has no raw values
        augmentations=augmentations or {},
    )


def shown(raw: np.ndarray, scaling: Scaling, length: int | None, stream: int, numbers: np.ndarray) -> np.ndarray:
    """The sequences of these numbers of `raw`, and then standard normal noise up to `length`.

    The noise of a sequence depends on its number in a stream alone, which is 0 in training and 1 in the test.
    """
    made = scaling.apply(raw[numbers].reshape(-1, *scaling.mean.shape))
    if length is None:
        return made
    steps, width = scaling.mean.shape
    sequences = np.empty((len(made), length, width), np.float32)
    sequences[:, :steps] = made
    for sequence, number in zip(sequences, numbers, strict=True):
        noise = np.random.default_rng([FIXED_SEED, stream, int(number)])
        noise.standard_normal(out=sequence[steps:], dtype=np.float32)
    return sequences


def fit(raw: np.ndarray, numbers: np.ndarray, standardise: str, levels: float | None = None) -> Scaling:
    """Mean and deviation of the rows `numbers` of `raw`, shape (time, input), float32.

    What never changes has deviation 1. With `levels` there is a fourth way, ``none``: values are only divided by it.
    """
    axes = entry(({} if levels is None else {"none": ()}) | STANDARDISE, standardise, "way to standardise")
    axes = tuple(axis for axis in axes if axis < raw.ndim)

    def chunks() -> Iterator[np.ndarray]:
        return (raw[numbers[start : start + CHUNK]].astype(np.float64) for start in range(0, len(numbers), CHUNK))

    if axes:
        count = len(numbers) * np.prod([raw.shape[axis] for axis in axes[1:]])
        mean = sum(chunk.sum(axis=axes, keepdims=True) for chunk in chunks()) / count
        variance = sum(((chunk - mean) ** 2).sum(axis=axes, keepdims=True) for chunk in chunks()) / count
        moments = mean, np.sqrt(np.where(variance > 0, variance, 1))
    else:
        moments = np.zeros(1), np.full(1, levels)
    whole = [np.broadcast_to(moment, (1, *raw.shape[1:])).reshape(raw.shape[1], -1) for moment in moments]
    return Scaling(*(moment.astype(np.float32) for moment in whole))
