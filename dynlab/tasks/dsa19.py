"""DSA-19: five sensors on the body, and which of 19 daily and sports activities their wearer is at.

References
----------
.. [1] K. Altun, B. Barshan, O. Tunçel, "Comparative study on classifying human activities with miniature inertial and
   magnetic sensors", Pattern Recognition 43 (2010). doi:10.24432/C5C59F
.. [2] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B.
"""

import io
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dynlab.tasks import official, recordings
from dynlab.tasks.recordings import Standardise
from dynlab.tasks.task import Split, Task, digest, hold_out

ARCHIVE = "daily+and+sports+activities.zip"
# Of the file of 170,800,010 bytes; its home publishes no checksum. A copy that is there already is held against what
# it must contain: every segment of everybody, each of its size, and the check sums within the zip.
ARCHIVE_SHA256 = "f42ad7744ecf14151c9fa3a86dfb5b24de9d7cb7ffe956ef5de242983459c77e"
INNER_ARCHIVE = "data.zip"  # what the set's older address serves; also looked for inside the newer one
DATASET = official.DataSet(
    title="Daily and Sports Activities",
    folder="daily_sports",
    files={},
    downloads={ARCHIVE: (f"https://archive.ics.uci.edu/static/public/256/{ARCHIVE}", f"sha256:{ARCHIVE_SHA256}")},
    unpacked="data",
    marker="a01",
    forms=(INNER_ARCHIVE,),
)

ACTIVITIES, SUBJECTS, SEGMENTS = 19, 8, 60  # everybody does everything for five minutes, cut into 60 segments
STEPS = 125  # 5 s at 25 Hz
# torso, right arm, left arm, right leg, left leg: each three axes of accelerometer, gyroscope and magnetometer
CHANNELS = 45
SEGMENT = re.compile(r"(?:^|/)a(\d\d)/p(\d)/s(\d\d)\.txt$")
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
    signals, source = load(data_dir, download=download)
    everything = Split(np.arange(len(signals)), signals.targets, signals.subjects)
    tests = np.isin(np.asarray(signals.subjects), TEST_SUBJECTS)
    train, validation = hold_out(everything[~tests], HELD_OUT_SHARE, seed, retrain)
    return recordings.make(
        "dsa19",
        (signals.inputs, signals.inputs),
        (train, validation, everything[tests]),
        ACTIVITIES,
        DESCRIPTION,
        {"seed": seed, "retrain": retrain, "standardise": standardise},
        source,
    )


def load(data_dir: str | Path | None = None, *, download: bool = True) -> tuple[Split, dict[str, str]]:
    """Read the data set from the zip file of either address, or the folder ``data`` that it unpacks to.

    Looked for in the folder `data_dir` or DYNLAB_DATA, there in ``daily_sports`` first, in dynlab's cache, and at its
    public home.

    Returns
    -------
    signals : Split
        All segments, by activity, then by subject, then in time: accelerations in m/s², angular velocities in rad/s,
        magnetic fields in the earth's; the activities counted from 0, the subjects from 1.
    source : dict
        ``origin`` and ``sha256``, of the bytes of the inputs.

    Raises
    ------
    NotAtHand
        If nothing is found and nothing is to be downloaded.
    UserError
        If nothing can be downloaded, where `data_dir` is no folder, and where a copy is damaged.
    """
    (path,) = official.find(DATASET, data_dir, download=download)
    with official.damage_is_named(DATASET, path):
        return parse(official.members(path), path.name)


def parse(files: Iterable[official.Member], origin: str) -> tuple[Split, dict[str, str]]:
    """Read the official text files ``aXX/pY/sZZ.txt``: a row a step, a column a channel, separated by commas.

    Raises
    ------
    ValueError
        If a segment is missing, is not numbers of its size, or is none of the data set's.
    """
    shape = (ACTIVITIES, SUBJECTS, SEGMENTS)
    inputs, found = np.empty((*shape, STEPS, CHANNELS), np.float32), np.zeros(shape, bool)
    for path, opened in files:
        match = SEGMENT.search(path)
        if match is None:
            continue
        place = tuple(int(number) - 1 for number in match.groups())
        if not all(0 <= number < size for number, size in zip(place, shape, strict=True)):
            raise ValueError(f"{match.group().lstrip('/')} is none of its segments")
        values = np.loadtxt(io.BytesIO(opened().read()), dtype=np.float32, delimiter=",", ndmin=2)
        if values.shape != (STEPS, CHANNELS) or not np.isfinite(values).all():
            size = f"{STEPS} rows of {CHANNELS}"
            raise ValueError(f"{match.group().lstrip('/')} has {values.shape}, not {size} finite numbers")
        inputs[place], found[place] = values, True
    if not found.all():
        activity, subject, segment = np.argwhere(~found)[0] + 1
        lacks = f"a{activity:02d}/p{subject}/s{segment:02d}.txt"
        raise ValueError(f"it lacks {lacks}, one of {np.sum(~found)} of {found.size} segments")
    activities, subjects, _ = np.indices(shape).reshape(3, -1).astype(np.int64)
    rows = inputs.reshape(-1, STEPS, CHANNELS)
    return Split(rows, activities, subjects + 1), {"origin": origin, "sha256": digest(rows)}
