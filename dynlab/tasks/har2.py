"""HAR-2: a smartphone's signals, and in which of two groups of activities its wearer is.

{Sitting, Laying, Walking_Upstairs} (class 0) against {Standing, Walking, Walking_Downstairs} (class 1), as in FastGRNN,
Appendix B [1]_.

References
----------
.. [1] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B.
"""

from pathlib import Path

import numpy as np

from dynlab.tasks import inertial
from dynlab.tasks.inertial import Standardise
from dynlab.tasks.task import Split, Task

# One class is {Standing, Walking, Walking_Downstairs}, in the numbers of `uci_har.ACTIVITIES` from 1.
CLASS_ONE = (5, 1, 3)
DESCRIPTION = (
    "UCI HAR, {Sitting, Laying, Walking_Upstairs} against {Standing, Walking, Walking_Downstairs}, "
    + inertial.LEFT_OPEN
)


def har2(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "feature",
    download: bool = True,
) -> Task:
    """UCI HAR in two classes, standardised over the training examples.

    Parameters
    ----------
    seed : int
        Which training subjects are held out for validation.
    retrain : bool
        Train on all of them.
    data_dir : str or Path, optional
        A folder with the data set, see `uci_har.load`.
    standardise : {"feature", "channel", "global"}
        Each (step, feature), each channel over all steps, or all values together.
    download : bool
        Whether to fetch the data set where it is not at hand.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        Where the data set is not to be had.
    """
    return inertial.make(
        "har2",
        classes,
        2,
        DESCRIPTION,
        seed=seed,
        retrain=retrain,
        data_dir=data_dir,
        standardise=standardise,
        download=download,
    )


def sample(standardise: Standardise = "feature") -> Split:
    """The 32 test sequences that ship with dynlab, see `inertial.sample`."""
    return inertial.sample(classes, standardise)


def classes(activities: np.ndarray) -> np.ndarray:
    """Activities 1 to 6 in two classes, 0 and 1."""
    return np.isin(activities, CLASS_ONE).astype(np.int64)
