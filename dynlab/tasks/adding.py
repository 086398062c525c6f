"""The adding problem: two of T numbers are marked; say their sum.

References
----------
.. [1] S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory", Neural Computation 9 (1997), experiment 4.
.. [2] Q. V. Le, N. Jaitly, G. E. Hinton, "A Simple Way to Initialize Recurrent Networks of Rectified Linear
   Units", 2015.
"""

from pathlib import Path

import numpy as np

from dynlab.errors import UserError
from dynlab.tasks import generated
from dynlab.tasks.task import Split, Task


def adding(
    *,
    length: int = 100,
    train_size: int = 5000,
    test_size: int = 1000,
    seed: int = 0,
    retrain: bool = False,
    fresh: bool = False,
    data_dir: str | Path | None = None,
) -> Task:
    """The adding problem.

    Parameters
    ----------
    length : int
        T, at least 2.
    train_size, test_size : int
        The number of sequences.
    seed : int
        Draws the training sequences and those held out.
    retrain : bool
        Hold out none.
    fresh : bool
        Train every epoch on `train_size` new sequences, made when they are asked for and never stored.
    data_dir : str or Path, optional
        Not needed: the sequences are generated.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        For a length below 2 and sizes that are not positive.
    """
    if length < 2:
        raise UserError(f"The length must be at least 2, one number of each half is marked; got {length}.")
    return generated.make(
        "adding",
        sequences,
        {"length": length},
        {"train_size": train_size, "test_size": test_size, "seed": seed, "retrain": retrain, "fresh": fresh},
        output_size=1,
        loss="mse",
        every_step=False,
        description=(
            f"The adding problem over {length} steps: numbers in [0, 1), one of each half marked, their sum asked for; "
            "always answering 1 has a mean squared error of 1/6. The sources draw new sequences without end: here "
            "{drawn}."
        ),
    )


def sequences(size: int, length: int, generator: np.random.Generator) -> Split:
    """`size` sequences of numbers and markers, shape (size, length, 2), and their sums, shape (size, 1)."""
    numbers = generator.random((size, length))
    rows = np.arange(size)
    first = generator.integers(0, length // 2, size)
    second = generator.integers(length // 2, length, size)
    marks = np.zeros((size, length))
    marks[rows, first] = marks[rows, second] = 1
    sums = (numbers * marks).sum(axis=1, keepdims=True)
    return Split(np.stack([numbers, marks], axis=-1).astype(np.float32), sums.astype(np.float32))
