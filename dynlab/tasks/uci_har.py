"""UCI HAR, the inertial signals: from a folder of the user's, from dynlab's cache, or from its public home.

Every copy, however it came, is held against the same checksums.

References
----------
.. [1] D. Anguita, A. Ghio, L. Oneto, X. Parra, J. L. Reyes-Ortiz, "Human activity recognition on smartphones using a
   multiclass hardware-friendly support vector machine", IWAAL 2012. doi:10.24432/C54S4K
"""

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from dynlab.tasks import official

ARCHIVE = "human+activity+recognition+using+smartphones.zip"
ARCHIVE_SHA256 = "c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031"
INNER_ARCHIVE = "UCI HAR Dataset.zip"  # inside the other one, and what the set's older address serves
FOLDER = "UCI HAR Dataset"
PREPARED = "uci_har_inertial.npz"
DATASET = official.DataSet(
    title="UCI HAR",
    folder="uci_har",
    files={},
    downloads={ARCHIVE: (f"https://archive.ics.uci.edu/static/public/240/{ARCHIVE}", f"sha256:{ARCHIVE_SHA256}")},
    forms=(INNER_ARCHIVE, PREPARED),
)

CHANNELS = tuple(f"{sensor}_{axis}" for sensor in ("body_acc", "body_gyro", "total_acc") for axis in "xyz")
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
        Where nothing is found and nothing is to be downloaded.
    UserError
        Where nothing can be downloaded, where `data_dir` is no folder, and where a copy is damaged.
    """
    path = official.find(DATASET, _locate, data_dir, download=download)
    with official.damage_is_named(DATASET, path):
        signals = _READERS[path.name](path)
        for name, expected in SHA256.items():
            if digest(getattr(signals, name)) != expected:
                raise ValueError(f"{name} does not have the data set's checksum")
    return signals, path.name


def _locate(folder: Path) -> Path | None:
    paths = (folder / name for name in _READERS)
    return next((path for path in paths if (path.is_dir() if path.name == FOLDER else path.is_file())), None)


def digest(array: np.ndarray) -> str:
    """SHA-256 of an array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def _from_prepared(path: Path) -> Signals:
    # numpy leaves a file open that it cannot read, so it is given an open one
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return Signals(**{field.name: arrays[field.name] for field in fields(Signals)})


def _from_folder(path: Path) -> Signals:
    return parse(lambda name: (path / name).read_bytes())


def _from_zip(path: Path) -> Signals:
    """Read either archive; the outer one holds the inner one."""
    with official.zipped(path, INNER_ARCHIVE) as archive:
        return parse(lambda name: archive.read(f"{FOLDER}/{name}"))


def parse(read: Callable[[str], bytes]) -> Signals:
    """The official text files: for each split one file a channel, one row a window, and the labels and subjects.

    Parameters
    ----------
    read : callable
        The bytes of a file named as in the official folder, such as ``train/y_train.txt``.

    Returns
    -------
    Signals
        Not yet held against the checksums.

    Raises
    ------
    ValueError
        Where a file is no table of numbers.
    """
    arrays: dict[str, np.ndarray] = {}
    for split in ("train", "test"):
        tables = (_table(read(f"{split}/Inertial Signals/{name}_{split}.txt")) for name in CHANNELS)
        arrays[f"x_{split}"] = np.stack([table.astype(np.float32) for table in tables], axis=-1)
        for stem in ("y", "subject"):
            arrays[f"{stem}_{split}"] = _table(read(f"{split}/{stem}_{split}.txt"))[:, 0].astype(np.int64)
    return Signals(**arrays)


def _table(text: bytes) -> np.ndarray:
    return np.loadtxt(io.BytesIO(text), dtype=np.float64, ndmin=2)


# The forms in which a folder may hold the set, the quickest to read first.
_READERS = {PREPARED: _from_prepared, ARCHIVE: _from_zip, INNER_ARCHIVE: _from_zip, FOLDER: _from_folder}
