"""DSA-19: five sensors on the body, and which of 19 activities their wearer is at.

References
----------
.. [1] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B.
"""

from pathlib import Path

import numpy as np

from dynlab.tasks import daily_sports, recordings
from dynlab.tasks.recordings import Standardise
from dynlab.tasks.task import Split, Task, hold_out

TEST_SUBJECTS = (5, 6, 7, 8)
HELD_OUT_SHARE = 0.25  # one of the four subjects of the training split
DESCRIPTION = (
    "Daily and Sports Activities: 19 activities, five sensors of 9 channels each, segments of 125 steps at 25 Hz. The "
    "sources have 4,560 segments for training and 4,560 for testing and do not say which. Here they are subjects 1 to "
    "4 and 5 to 8, which is 4,560 each. That is the harder choice, since segments of one person resemble each other. "
    "The sources hold out 20 % of the training split without saying how: here one of its 4 subjects, 25 %. How they "
    "standardise is not said either: FastGRNN has zero mean and unit variance, a port of ERNN one global mean and "
    "deviation (0.16565, 3.81596 of its own split)."
)


def dsa19(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "feature",
    download: bool = True,
) -> Task:
    """Daily and sports activities in 19 classes, standardised over the training examples.

    Parameters
    ----------
    seed : int
        Chooses the training subject held out for validation.
    retrain : bool
        Train on all of them.
    data_dir : str or Path, optional
        A folder with the data set, see `daily_sports.load`.
    standardise : {"feature", "channel", "global"}
        Each (step, feature), each channel over all steps, or all values together.
    download : bool
        Fetch the data set where it is not at hand.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had.
    """
    signals, source = daily_sports.load(data_dir, download=download)
    everything = Split(np.arange(len(signals)), signals.targets, signals.subjects)
    tests = np.isin(np.asarray(signals.subjects), TEST_SUBJECTS)
    train, validation = hold_out(everything[~tests], HELD_OUT_SHARE, seed, retrain)
    return recordings.make(
        "dsa19",
        (signals.inputs, signals.inputs),
        (train, validation, everything[tests]),
        daily_sports.ACTIVITIES,
        DESCRIPTION,
        {"seed": seed, "retrain": retrain, "standardise": standardise},
        source,
    )
