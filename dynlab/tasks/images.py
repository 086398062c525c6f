"""Images as sequences: pixel by pixel, permuted, or row by row and then noise until a length is reached."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dynlab.errors import UserError, entry
from dynlab.tasks import recordings
from dynlab.tasks.on_demand import OnDemand
from dynlab.tasks.task import Scaling, Split, Task, hold_out

Standardise = Literal["none", "feature", "channel", "global"]
# What mean and deviation are taken over, of images (image, channel, row, column).
STANDARDISE: dict[str, tuple[int, ...] | None] = {
    "none": None,
    "feature": (0,),
    "channel": (0, 2, 3),
    "global": (0, 1, 2, 3),
}
LEVELS = 255.0  # pixels are 0 to 255
CLASSES = 10  # of MNIST and of CIFAR-10
NOISE_SEED = 2**31  # of the noise after the images, the same whatever the run's seed
TRAIN, TEST = 0, 1  # streams of that seed


@dataclass(frozen=True)
class Images:
    """A set of labelled images in its official split.

    Attributes
    ----------
    x_train, x_test : ndarray, shape (image, channel, row, column), uint8
    y_train, y_test : ndarray, shape (image,), int64
    source : dict
        ``origin`` and ``sha256``.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    source: dict[str, str]


def by_pixels(images: np.ndarray) -> np.ndarray:
    """A pixel a step, row by row: (image, channel, row, column) to (image, row · column, channel)."""
    return images.reshape(*images.shape[:2], -1).transpose(0, 2, 1)


def by_rows(images: np.ndarray) -> np.ndarray:
    """A row a step, one channel after the other: (image, channel, row, column) to (image, row, channel · column)."""
    return images.transpose(0, 2, 1, 3).reshape(len(images), images.shape[2], -1)


def shown(
    pixels: np.ndarray,
    arrange: Callable[[np.ndarray], np.ndarray],
    order: np.ndarray | None,
    scaling: Scaling,
    length: int | None,
    stream: int,
    numbers: np.ndarray,
) -> np.ndarray:
    """The images of these numbers as sequences.

    Parameters
    ----------
    pixels : ndarray, shape (image, channel, row, column), uint8
    arrange : callable
        `by_pixels` or `by_rows`.
    order : ndarray or None
        In which order the steps come.
    scaling : Scaling
        That of the arranged pixels in their order.
    length : int or None
        Up to which standard normal noise follows, drawn for each image anew.
    stream : int
        The stream of the noise.
    numbers : ndarray, shape (sample,)
    """
    made = scaling.apply(ordered(arrange(pixels[numbers]), order))
    return made if length is None else pad(made, numbers, length, stream)


def make(
    name: str,
    images: Images,
    description: str,
    settings: dict[str, Any],
    *,
    arrange: Callable[[np.ndarray], np.ndarray],
    held_out_share: float,
    order: np.ndarray | None = None,
    length: int | None = None,
) -> Task:
    """A classification of images in ten classes, their sequences made when they are asked for.

    `settings` has ``seed``, ``retrain``, ``standardise`` and what else the task was made with; see `shown` for the
    other arguments.
    """
    train = Split(np.arange(len(images.x_train)), images.y_train)  # held out by number: no image is copied
    test = Split(np.arange(len(images.x_test)), images.y_test)
    train, validation = hold_out(train, held_out_share, settings["seed"], settings["retrain"])
    of_pixels = fit(images.x_train, train.inputs, settings["standardise"])
    shape = (1, *images.x_train.shape[1:])
    moments = (np.broadcast_to(moment, shape) for moment in (of_pixels.mean, of_pixels.deviation))
    scaling = Scaling(*(ordered(arrange(moment), order)[0] for moment in moments))
    steps, width = scaling.mean.shape
    if length is not None and length < steps:
        raise UserError(f"The length must be at least {steps}, the rows of an image; got {length}.")

    def split(part: Split, pixels: np.ndarray, stream: int) -> Split:
        made = partial(shown, pixels, arrange, order, scaling, length, stream)
        return Split(OnDemand(made, part.inputs, length or steps, width), part.targets)

    return Task(
        name=name,
        settings=settings,
        train=split(train, images.x_train, TRAIN),
        validation=None if validation is None else split(validation, images.x_train, TRAIN),
        test=split(test, images.x_test, TEST),
        output_size=CLASSES,
        loss="cross-entropy",
        every_step=False,
        description=description,
        source=images.source,
        scaling=scaling if length is None else None,  # noise has no raw values
    )


def ordered(sequences: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """The steps of (sample, time, input) in an order, or as they are."""
    return sequences if order is None else sequences[:, order]


def pad(shown: np.ndarray, numbers: np.ndarray, length: int, stream: int) -> np.ndarray:
    """`shown`, (sample, time, input), and then noise up to `length`, which depends on the image's number alone."""
    sequences = np.empty((len(shown), length, shown.shape[2]), np.float32)
    steps = shown.shape[1]
    sequences[:, :steps] = shown
    for sequence, number in zip(sequences, numbers, strict=True):
        noise = np.random.default_rng([NOISE_SEED, stream, int(number)])
        noise.standard_normal(out=sequence[steps:], dtype=np.float32)
    return sequences


def fit(images: np.ndarray, numbers: np.ndarray, standardise: str) -> Scaling:
    """Mean and deviation over the chosen images, float32, to be broadcast against (image, channel, row, column).

    A pixel that never changes has deviation 1; without standardising, pixels are brought to [0, 1].
    """
    axes = entry(STANDARDISE, standardise, "way to standardise")
    if axes is None:
        return Scaling(np.zeros(1, np.float32), np.full(1, LEVELS, np.float32))
    found = recordings.fit(images, numbers, axes)
    return Scaling(np.expand_dims(found.mean, axes), np.expand_dims(found.deviation, axes))
