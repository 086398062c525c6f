"""Daily and Sports Activities: from a folder of the user's, from dynlab's cache, or from its public home.

References
----------
.. [1] K. Altun, B. Barshan, O. Tunçel, "Comparative study on classifying human activities with miniature inertial and
   magnetic sensors", Pattern Recognition 43 (2010). doi:10.24432/C5C59F
"""

import io
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dynlab.tasks import official
from dynlab.tasks.task import Split
from dynlab.tasks.uci_har import digest

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
