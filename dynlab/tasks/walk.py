"""A scalar random walk, and where it was some steps ago.

References
----------
.. [1] A. Kag, Z. Zhang, V. Saligrama, "RNNs Evolving on an Equilibrium Manifold: A Panacea for Vanishing and Exploding
   Gradients?", 2019, Figure 1, where a walk of variance 10 and 1,000 steps drives a network of which nothing is asked.
"""

import math
from pathlib import Path

import numpy as np

from dynlab.arguments import check_at_least, check_positive
from dynlab.errors import UserError
from dynlab.tasks import generated
from dynlab.tasks.task import Split, Task


def walk(
    *,
    length: int = 100,
    variance: float = 0.01,
    delay: int = 10,
    train_size: int = 5000,
    test_size: int = 1000,
    seed: int = 0,
    retrain: bool = False,
    fresh: bool = False,
    data_dir: str | Path | None = None,
) -> Task:
    """A scalar random walk; at each step, where it was `delay` steps ago.

    Parameters
    ----------
    length : int
        Steps of a walk.
    variance : float
        That of its normal increments, the first of which leads from 0 to the first input. Figure 1 of the source has
        10, over 1,000 steps.
    delay : int
        0 asks for the input itself. Up to step `delay` the answer is 0, where the walk began.
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
        For sizes that are not positive, a variance that is none, and a delay that is no step of the walk.
    """
    check_at_least(1, length=length)
    check_positive(variance=variance)
    if not 0 <= delay < length:
        raise UserError(f"The delay must be at least 0 and below the length, {length}; got {delay}.")
    return generated.make(
        "walk",
        sequences,
        {"length": length, "variance": variance, "delay": delay},
        {"train_size": train_size, "test_size": test_size, "seed": seed, "retrain": retrain, "fresh": fresh},
        output_size=1,
        loss="mse",
        every_step=True,
        description=(
            f"A scalar random walk of {length} steps, its increments of variance {variance:g}; at each step its place "
            f"{delay} steps ago is asked for. Without memory the mean squared error is at best "
            f"{baseline(length, variance, delay):.5g}. The source drives networks by such a walk and asks for nothing: "
            f"what is asked is dynlab's choice. Of the walks, {{drawn}}."
        ),
    )


def sequences(size: int, length: int, variance: float, delay: int, generator: np.random.Generator) -> Split:
    """`size` walks from 0 and the same walks `delay` steps later, both (sample, time, 1)."""
    places = math.sqrt(variance) * generator.standard_normal((size, length)).cumsum(axis=1)
    before = np.zeros_like(places)
    before[:, delay:] = places[:, : length - delay]
    return Split(places[:, :, None].astype(np.float32), before[:, :, None].astype(np.float32))


def baseline(length: int, variance: float, delay: int) -> float:
    """The least error of answering from the present input, (t − d) x_t / t at step t: the mean of d (t − d) σ² / t."""
    steps = np.arange(delay + 1, length + 1)
    return float(variance * (delay * (steps - delay) / steps).sum() / length)
