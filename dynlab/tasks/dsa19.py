"""DSA-19: five sensors on the body, and which of 19 daily and sports activities their wearer is at.

References
----------
.. [1] K. Altun, B. Barshan, O. Tunçel, "Comparative study on classifying human activities with miniature inertial and
   magnetic sensors", Pattern Recognition 43 (2010). doi:10.24432/C5C59F
.. [2] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dynlab.tasks import official, recordings
from dynlab.tasks.recordings import Standardise
from dynlab.tasks.task import Split, Task, digest

ACTIVITIES, SUBJECTS, SEGMENTS = 19, 8, 60  # everybody does everything for five minutes, cut into 60 segments
STEPS = 125  # 5 s at 25 Hz
# torso, right arm, left arm, right leg, left leg: each three axes of accelerometer, gyroscope and magnetometer
CHANNELS = 45
TRAIN_SUBJECTS = 4  # the first ones; the others test
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
        A folder with the data set, see `load`.
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
    return recordings.make(
        "dsa19",
        load(data_dir, download=download),
        HELD_OUT_SHARE,
        ACTIVITIES,
        DESCRIPTION,
        {"seed": seed, "retrain": retrain, "standardise": standardise},
    )


def load(data_dir: str | Path | None = None, *, download: bool = True) -> tuple[Split, Split, dict[str, str]]:
    """Read the data set from the zip file of either address, or the folder ``data`` that it unpacks to.

    Looked for in the folder `data_dir` or DYNLAB_DATA, there in ``daily_sports`` first, in dynlab's cache, and at its
    public home.

    Returns
    -------
    train, test : Split
        Segments by activity, then by subject, then in time: accelerations in m/s², angular velocities in rad/s,
        magnetic fields in the earth's; the activities counted from 0, the subjects from 1.
    source : dict
        ``origin`` and ``sha256``, of the bytes of all inputs.

    Raises
    ------
    NotAtHand
        If nothing is found and nothing is to be downloaded.
    UserError
        If nothing can be downloaded, where `data_dir` is no folder, and where a copy is damaged.
    """
    with official.opened(official.DATA_SETS["dsa19"], data_dir, download=download) as ((path,), files):
        inputs = parse(files)
    places = np.indices(inputs.shape[:3])  # of a segment: its activity, its subject, its number
    train, test = (
        Split(inputs[:, part].reshape(-1, STEPS, CHANNELS), places[0, :, part].ravel(), places[1, :, part].ravel() + 1)
        for part in (slice(TRAIN_SUBJECTS), slice(TRAIN_SUBJECTS, None))
    )
    return train, test, {"origin": path.name, "sha256": digest(inputs)}


def parse(files: Iterable[official.Member]) -> np.ndarray:
    """Read the official text files ``aXX/pY/sZZ.txt``: a row a step, a column a channel, separated by commas.

    Returns
    -------
    ndarray, shape (activity, subject, segment, time, channel), float32

    Raises
    ------
    ValueError
        If a segment is missing, or is not numbers of its size.
    """
    shape = (ACTIVITIES, SUBJECTS, SEGMENTS)
    inputs = np.empty((*shape, STEPS, CHANNELS), np.float32)
    places = {f"a{place[0] + 1:02d}/p{place[1] + 1}/s{place[2] + 1:02d}.txt": place for place in np.ndindex(*shape)}
    for path, file in files:
        name = "/".join(path.split("/")[-3:])
        if name in places:
            values = np.loadtxt(file, dtype=np.float32, delimiter=",", ndmin=2)
            if values.shape != (STEPS, CHANNELS) or not np.isfinite(values).all():
                raise ValueError(f"{name} has {values.shape}, not {STEPS} rows of {CHANNELS} finite numbers")
            inputs[places.pop(name)] = values
    if places:
        raise ValueError(f"it lacks {next(iter(places))}, one of {len(places)} of {np.prod(shape)} segments")
    return inputs
