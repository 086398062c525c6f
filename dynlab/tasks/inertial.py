"""What the tasks on UCI HAR share: the split by subjects, how the signals are standardised, the sample that ships.

Inertial signals of 128 steps at 50 Hz, 9 channels; see `uci_har`.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynlab.errors import unknown
from dynlab.tasks import augmentation, uci_har
from dynlab.tasks.task import Scaling, Split, Task, hold_out

Standardise = Literal["feature", "channel", "global"]
Classes = Callable[[np.ndarray], np.ndarray]  # activities 1 to 6, as in `uci_har.ACTIVITIES`, to classes from 0

# Seed 1 tunes on a fifth of the training split; here of its subjects, since windows of one subject resemble each other.
HELD_OUT_SHARE = 0.2
CHUNK = 256  # sequences that are scaled at a time
# What mean and deviation are taken over, of inputs (sample, time, input).
STANDARDISE = {"feature": (0,), "channel": (0, 1), "global": (0, 1, 2)}
LEFT_OPEN = (
    "9 inertial signals of 128 steps, the official split by subjects. The sources hold out 20 % of the training split "
    "without saying how: here 4 of its 21 subjects; they standardise per (step, feature) or with one global mean and "
    "deviation, and per channel is offered too."
)


def make(
    name: str,
    classes: Classes,
    output_size: int,
    description: str,
    *,
    seed: int,
    retrain: bool,
    data_dir: str | Path | None,
    standardise: Standardise,
    download: bool,
) -> Task:
    """A classification of the signals, standardised over the training examples."""
    signals, origin = uci_har.load(data_dir, download=download)
    # held out by number and scaled in pieces, and the raw test signals let go of before the others are scaled: memory
    # never holds twice the data set
    train = Split(np.arange(len(signals.x_train)), classes(signals.y_train), signals.subject_train)
    test = Split(np.arange(len(signals.x_test)), classes(signals.y_test), signals.subject_test)
    validation = None
    if not retrain:
        train, validation = hold_out(train, HELD_OUT_SHARE, np.random.default_rng(seed))
    scaling = fit(signals.x_train[train.inputs], standardise)
    test = _scaled(signals.x_test, test, scaling)
    raw = signals.x_train
    del signals
    settings: dict[str, Any] = {"seed": seed, "retrain": retrain, "standardise": standardise}
    return Task(
        name=name,
        settings=settings,
        train=_scaled(raw, train, scaling),
        validation=None if validation is None else _scaled(raw, validation, scaling),
        test=test,
        output_size=output_size,
        loss="cross-entropy",
        every_step=False,
        description=description,
        source={"origin": Path(origin).name, "sha256": uci_har.SHA256["x_train"]},
        scaling=scaling,
        augmentations=augmentation.INERTIAL,
    )


def sample(classes: Classes, standardise: Standardise) -> Split:
    """The 32 test sequences that ship with dynlab, standardised as the whole training split would be.

    The licence and the citation lie beside the file, in ``samples/README.md``.
    """
    raw, constants = _embedded()
    inputs = constants[_known(standardise)].apply(raw.inputs)
    return Split(inputs, classes(raw.targets), raw.subjects)


def fit(inputs: np.ndarray, standardise: str) -> Scaling:
    """Mean and deviation of raw inputs (sample, time, input), in float32 as they are stored."""
    axes = STANDARDISE[_known(standardise)]
    mean = inputs.mean(axis=axes, dtype=np.float64)
    squares = sum(((chunk - mean) ** 2).sum(axis=axes) for chunk in _chunks(inputs))
    count = np.prod([inputs.shape[axis] for axis in axes])
    return Scaling(np.asarray(mean, np.float32), np.asarray(np.sqrt(squares / count), np.float32))


def _known(standardise: str) -> str:
    if standardise not in STANDARDISE:
        raise unknown("way to standardise", standardise, STANDARDISE)
    return standardise


def _scaled(raw: np.ndarray, rows: Split, scaling: Scaling) -> Split:
    """The split whose inputs are numbers of raw sequences, with those sequences scaled."""
    scaled = np.empty((len(rows), *raw.shape[1:]), np.float32)
    for numbers, into in zip(_chunks(rows.inputs), _chunks(scaled), strict=True):
        into[:] = scaling.apply(raw[numbers])
    return Split(scaled, rows.targets, rows.subjects)


def _chunks(array: np.ndarray) -> Iterator[np.ndarray]:
    return (array[start : start + CHUNK] for start in range(0, len(array), CHUNK))


@cache
def _embedded() -> tuple[Split, dict[str, Scaling]]:
    """The sample with its activities 1 to 6 as targets, and the constants of each way to standardise."""
    file = resources.files("dynlab.tasks") / "samples" / "har2_test_sample.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        split = Split(arrays["inputs"], arrays["activities"], arrays["subjects"])
        scalings = {kind: Scaling(arrays[f"{kind}_mean"], arrays[f"{kind}_deviation"]) for kind in STANDARDISE}
    return split, scalings
