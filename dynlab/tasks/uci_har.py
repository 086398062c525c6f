"""UCI HAR, the inertial signals: from a folder of the user's, from dynlab's cache, or from its public home.

Every copy, however it came, is held against the same checksums.

References
----------
.. [1] D. Anguita, A. Ghio, L. Oneto, X. Parra, J. L. Reyes-Ortiz, "Human activity recognition on smartphones using a
   multiclass hardware-friendly support vector machine", IWAAL 2012. doi:10.24432/C54S4K
"""

import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynlab.tasks import official

ARCHIVE = "human+activity+recognition+using+smartphones.zip"
ARCHIVE_SHA256 = "c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031"
INNER_ARCHIVE = "UCI HAR Dataset.zip"  # inside the other one, and what the set's older address serves
PREPARED = "uci_har_inertial.npz"
DATASET = official.DataSet(
    title="UCI HAR",
    folder="uci_har",
    files={},
    downloads={ARCHIVE: (f"https://archive.ics.uci.edu/static/public/240/{ARCHIVE}", f"sha256:{ARCHIVE_SHA256}")},
    unpacked="UCI HAR Dataset",
    marker="train",
    forms=(PREPARED, INNER_ARCHIVE),
)

CHANNELS = tuple(f"{sensor}_{axis}" for sensor in ("body_acc", "body_gyro", "total_acc") for axis in "xyz")
SPLITS, STEMS = ("train", "test"), ("y", "subject")
TABLES = {f"{stem}_{split}" for split in SPLITS for stem in (*CHANNELS, *STEMS)}  # a text file each
ACTIVITIES = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")

# Of the raw bytes in C order: inputs as float32, labels and subjects as int64, in the official order of rows.
SHA256 = {
    "x_train": "3454e1b58586f76211ee2d4937fbc4c9c90771da6cd209699dfa6e6ce9a6c6a6",
    "y_train": "cd460b6d59620a9350dfe25d01f9a017eb036929d949029523b5ab612d90def1",
    "subject_train": "67ee642e93b07afe660e5a3785db14ff6e65a0f6d9c66e0e253a49610c67506b",
    "x_test": "304ef134d8ad3e7f7cab807b1023d6cf8c74f0b9d036d4e21c9be25fe5c5988b",
    "y_test": "081eb2f66cb00f17ef74021dc4528bdca213c28812e0e047287502925c0fd162",
    "subject_test": "0c2bbe9b52e81376ace1e9ea7b18a5c6c94f655c96cfb18d6c9783300f143b2a",
}


@dataclass(frozen=True)
class Signals:
    """The set in its official split.

    Attributes
    ----------
    x_train, x_test : ndarray, shape (sample, time, input), float32
        `CHANNELS` at 50 Hz, 128 steps: accelerations in g, angular velocities in rad/s.
    y_train, y_test : ndarray, shape (sample,), int64
        1 to 6, see `ACTIVITIES`.
    subject_train, subject_test : ndarray, shape (sample,), int64
        1 to 30.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    subject_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    subject_test: np.ndarray


def load(data_dir: str | Path | None = None, *, download: bool = True) -> tuple[Signals, str]:
    """The data set, and the name of what it was read from.

    Looked for in this order: the folder `data_dir` or DYNLAB_DATA (there the prepared ``uci_har/uci_har_inertial.npz``,
    or the official zip or unpacked folder), dynlab's cache (the same files), and its public home.

    Raises
    ------
    NotAtHand
        If nothing is found and nothing is to be downloaded.
    UserError
        If nothing can be downloaded, where `data_dir` is no folder, and where a copy is damaged.
    """
    (path,) = official.find(DATASET, data_dir, download=download)
    with official.damage_is_named(DATASET, path):
        signals = Signals(**(_prepared(path) if path.name == PREPARED else parse(official.members(path))))
        for name, expected in SHA256.items():
            if digest(getattr(signals, name)) != expected:
                raise ValueError(f"{name} does not have the data set's checksum")
    return signals, path.name


def digest(array: np.ndarray) -> str:
    """SHA-256 of an array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def _prepared(path: Path) -> dict[str, np.ndarray]:
    # numpy leaves a file open that it cannot read, so it is given an open one
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in SHA256}


def parse(files: Iterable[official.Member]) -> dict[str, np.ndarray]:
    """Read the official text files: for each split one file a channel, one row a window, and labels and subjects.

    Returns
    -------
    dict
        The arrays of `Signals`, not yet held against the checksums.

    Raises
    ------
    ValueError, LookupError
        If a file is no table of numbers, or is missing.
    """
    tables: dict[str, np.ndarray] = {}
    for full, opened in files:
        name = full.rpartition("/")[2].removesuffix(".txt")
        if name in TABLES:
            tables[name] = np.loadtxt(io.BytesIO(opened().read()), dtype=np.float64, ndmin=2)
    found = {}
    for split in SPLITS:
        channels = [tables[f"{name}_{split}"].astype(np.float32) for name in CHANNELS]
        found[f"x_{split}"] = np.stack(channels, axis=-1)
        found |= {f"{stem}_{split}": tables[f"{stem}_{split}"][:, 0].astype(np.int64) for stem in STEMS}
    return found
