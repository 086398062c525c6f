"""Copying memory: repeat K symbols after L empty steps.

Two conventions exist [1]_ [2]_. Both have length L + 2K, ten one-hot inputs (blank 0, symbols 1 to 8, marker 9) and
nine outputs, scored at every step by cross-entropy; without memory it is K ln 8 / (L + 2K).

References
----------
.. [1] ``overlap``: M. Lezcano-Casado, D. Martínez-Rubio, "Cheap Orthogonal Constraints in Neural Networks", ICML 2019:
   K symbols, L blanks, the marker, K − 1 blanks; the first answer falls on the marker.
.. [2] ``after``: M. Arjovsky, A. Shah, Y. Bengio, "Unitary Evolution Recurrent Neural Networks", ICML 2016: K symbols,
   L − 1 blanks, the marker, K blanks; the answer starts one step after the marker.
"""

import math
from pathlib import Path
from typing import Literal

import numpy as np

from dynlab.arguments import check_at_least
from dynlab.errors import UserError
from dynlab.tasks import generated
from dynlab.tasks.task import Split, Task

SYMBOLS = 8
MARKER = SYMBOLS + 1


def copying(
    *,
    symbols: int = 10,
    delay: int = 100,
    convention: Literal["overlap", "after"] = "overlap",
    train_size: int = 5000,
    test_size: int = 1000,
    seed: int = 0,
    retrain: bool = False,
    fresh: bool = False,
    data_dir: str | Path | None = None,
) -> Task:
    """Copying memory.

    Parameters
    ----------
    symbols : int
        K, how many are to be remembered.
    delay : int
        L, how many steps lie between.
    convention : {"overlap", "after"}
        The first answer falls on the marker, or after it.
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
        For sizes that are not positive and a convention that does not exist.
    """
    check_at_least(1, symbols=symbols, delay=delay)
    if convention not in ("overlap", "after"):
        raise UserError(f"The convention must be 'overlap' or 'after', got {convention!r}.")
    return generated.make(
        "copying",
        sequences,
        {"symbols": symbols, "delay": delay, "convention": convention},
        {"train_size": train_size, "test_size": test_size, "seed": seed, "retrain": retrain, "fresh": fresh},
        output_size=SYMBOLS + 1,
        loss="cross-entropy",
        every_step=True,
        description=(
            f"Copying memory, {symbols} of {SYMBOLS} symbols over {delay} steps; without memory the cross-entropy is "
            f"{baseline(symbols, delay):.5f}. The sources draw new sequences for each batch or fix 20,000: here "
            "{drawn}. Accuracy counts every step, blanks too."
        ),
    )


def sequences(size: int, symbols: int, delay: int, convention: str, generator: np.random.Generator) -> Split:
    """`size` sequences of delay + 2 symbols steps: one-hot inputs (sample, time, 10), a target for each step."""
    message = generator.integers(1, SYMBOLS + 1, (size, symbols))
    length = delay + 2 * symbols
    shown = np.zeros((size, length), dtype=np.int64)
    shown[:, :symbols] = message
    shown[:, symbols + delay - (convention == "after")] = MARKER
    targets = np.zeros((size, length), dtype=np.int64)
    targets[:, -symbols:] = message
    return Split(np.eye(SYMBOLS + 2, dtype=np.float32)[shown], targets)


def baseline(symbols: int, delay: int) -> float:
    """The cross-entropy per step of answering blanks, then guessing: K ln 8 / (L + 2K)."""
    return symbols * math.log(SYMBOLS) / (delay + 2 * symbols)
