"""The flip-flop: each of three bits is to be held until a pulse sets it anew.

References
----------
.. [1] D. Sussillo, O. Barak, "Opening the Black Box: Low-Dimensional Dynamics in High-Dimensional Recurrent Neural
   Networks", Neural Computation 25 (2013), section 4.
.. [2] M. D. Golub, D. Sussillo, "FixedPointFinder: A Tensorflow toolbox for identifying and characterizing fixed points
   in recurrent neural networks", JOSS 3 (2018): its example has the length, the probability and the first pulses.
"""

from pathlib import Path

import numpy as np

from dynlab.arguments import check_at_least
from dynlab.errors import UserError
from dynlab.tasks import generated
from dynlab.tasks.task import Split, Task


def flipflop(
    *,
    bits: int = 3,
    length: int = 64,
    pulse_probability: float = 0.5,
    train_size: int = 5000,
    test_size: int = 1000,
    seed: int = 0,
    retrain: bool = False,
    fresh: bool = False,
    data_dir: str | Path | None = None,
) -> Task:
    """The flip-flop: bits that hold what a pulse last set them to.

    Parameters
    ----------
    bits : int
        The number of bits, each with its own input and output.
    length : int
        Steps of a sequence.
    pulse_probability : float
        Probability of a pulse, +1 or −1, at each step after the first; at the first each bit gets one.
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
        For sizes that are not positive and a probability outside (0, 1].
    """
    check_at_least(1, bits=bits, length=length)
    if not 0 < pulse_probability <= 1:
        raise UserError(f"pulse_probability must be above 0 and at most 1, got {pulse_probability}.")
    return generated.make(
        "flipflop",
        sequences,
        {"bits": bits, "length": length, "pulse_probability": pulse_probability},
        {"train_size": train_size, "test_size": test_size, "seed": seed, "retrain": retrain, "fresh": fresh},
        output_size=bits,
        loss="mse",
        every_step=True,
        description=(
            f"The {bits}-bit flip-flop over {length} steps: a pulse of +1 or −1 sets its bit, which is asked for from "
            f"that step on. Always answering 0 has a mean squared error of 1. The first source gives neither length "
            f"nor rate of the pulses: here each bit gets one at the first step and then at a step with probability "
            f"{pulse_probability:g}. Of the sequences, {{drawn}}."
        ),
    )


def sequences(size: int, length: int, bits: int, pulse_probability: float, generator: np.random.Generator) -> Split:
    """`size` sequences of pulses −1, 0 and 1, and the sign of each bit's last pulse, both (sample, time, bit)."""
    shape = (size, length, bits)
    pulsed = generator.random(shape) < pulse_probability
    pulsed[:, 0] = True
    pulses = np.where(pulsed, 2 * generator.integers(0, 2, shape) - 1, 0)
    last = np.maximum.accumulate(np.where(pulsed, np.arange(length)[:, None], 0), axis=1)
    held = np.take_along_axis(pulses, last, axis=1)
    return Split(pulses.astype(np.float32), held.astype(np.float32))
