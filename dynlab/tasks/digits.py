"""Scikit-learn's 8 × 8 digits, pixel by pixel: ten classes, 64 steps, ships with scikit-learn."""

from pathlib import Path

import numpy as np

from dynlab.errors import require_extra
from dynlab.tasks.task import Split, Task, digest, of_few

TEST_SIZE = 360  # a fifth of the 1,797 images
LEVELS = 16.0  # pixels are 0 to 16
DESCRIPTION = (
    "Scikit-learn's 8 × 8 handwritten digits, one pixel a step, row by row, in [0, 1]. The set has no official split: "
    "a fixed random fifth is the test, a fifth of the rest is held out for validation by the seed."
)


def digits(*, seed: int = 0, retrain: bool = False, data_dir: str | Path | None = None) -> Task:
    """Handwritten digits as sequences of 64 pixels.

    Parameters
    ----------
    seed : int
        Chooses the training images held out for validation.
    retrain : bool
        Train on all of them.
    data_dir : str or Path, optional
        Not needed: the images ship with scikit-learn.

    Returns
    -------
    Task
    """
    images, labels = require_extra("sklearn.datasets", "train").load_digits(return_X_y=True)
    inputs = (images / LEVELS).astype(np.float32)[:, :, None]
    return of_few(
        Split(inputs, labels.astype(np.int64)),
        TEST_SIZE,
        seed,
        retrain,
        name="digits",
        output_size=10,
        loss="cross-entropy",
        description=DESCRIPTION,
        source={"origin": "sklearn.datasets.load_digits", "sha256": digest(inputs)},
    )
