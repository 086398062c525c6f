"""Six-class HAR: a smartphone's signals, and which of `uci_har.ACTIVITIES` its wearer is at."""

from pathlib import Path

import numpy as np

from dynlab.tasks import inertial, uci_har
from dynlab.tasks.inertial import Standardise
from dynlab.tasks.task import Split, Task

DESCRIPTION = "UCI HAR in its six activities, " + inertial.LEFT_OPEN


def har6(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "feature",
    download: bool = True,
) -> Task:
    """UCI HAR in its six activities, standardised over the training examples.

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
        "har6",
        classes,
        len(uci_har.ACTIVITIES),
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
    """Activities 1 to 6 as classes 0 to 5, in the official order."""
    return activities.astype(np.int64) - 1
