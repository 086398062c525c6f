"""Speech Commands, version 0.01: one-second clips of thirty words by many people, and six recordings of noise.

References
----------
.. [1] P. Warden, "Speech Commands: A Dataset for Limited-Vocabulary Speech Recognition", 2018, arXiv 1804.03209.
"""

import hashlib
import io
import wave
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynlab.tasks import official
from dynlab.tasks.log_mel import RATE

ARCHIVE = "speech_commands_v0.01.tar.gz"
ARCHIVE_SHA256 = "743935421bb51cccdb6bdd152e04c5c70274e935c82119ad7faeec31780d811d"
DATASET = official.DataSet(
    title="Speech Commands",
    folder="speech_commands",
    files={},
    downloads={
        ARCHIVE: (
            f"https://storage.googleapis.com/download.tensorflow.org/data/{ARCHIVE}",
            f"sha256:{ARCHIVE_SHA256}",
        )
    },
    unpacked="speech_commands_v0.01",
    marker="validation_list.txt",
)
# The order of the sources' code: the ten words of Kaggle's challenge come first.
WORDS = (
    *("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"),
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("bed", "bird", "cat", "dog", "happy", "house", "marvin", "sheila", "tree", "wow"),
)
CLIPS = 64_721  # of the words
BACKGROUND = "_background_noise_"  # the folder of the recordings of noise, a minute or more each
LISTS = ("validation_list.txt", "testing_list.txt")  # which clips are for what; the others are for training


@dataclass(frozen=True)
class Catalogue:
    """The contents of a copy of the data set.

    Attributes
    ----------
    path : Path
        The archive, or the folder that it unpacks to.
    train, validation, test : tuple of str
        The clips of each official split by their names, ``word/file.wav``, sorted.
    noises : tuple of ndarray, shape (time,), int16
        The recordings of noise, in the order of their names.
    """

    path: Path
    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    noises: tuple[np.ndarray, ...]


def catalogue(data_dir: str | Path | None = None, *, download: bool = True) -> Catalogue:
    """List the clips in the archive, whose checksum is compared, or in the folder ``speech_commands_v0.01``.

    Looked for in the folder `data_dir` or DYNLAB_DATA, there in ``speech_commands`` first, in dynlab's cache, and at
    its public home.

    Raises
    ------
    NotAtHand
        If nothing is found and nothing is to be downloaded.
    UserError
        If nothing can be downloaded, where `data_dir` is no folder, and where a copy is damaged.
    """
    (path,) = official.find(DATASET, data_dir, download=download)
    names, lists, noises = [], {}, {}
    with official.damage_is_named(DATASET, path):
        if path.is_file():
            _check_archive(path)
        for name, opened in official.members(path):
            folder = name.partition("/")[0]
            sound = name.endswith(".wav")
            if sound and folder in WORDS:
                names.append(name)
            elif sound and folder == BACKGROUND:
                noises[name] = samples(name, opened().read())
            elif name in LISTS:
                lists[name] = frozenset(opened().read().decode().split())
        if len(names) != CLIPS or not noises or len(lists) != len(LISTS):
            raise ValueError(
                f"it has {len(names):,} clips of the words, {len(noises)} recordings of noise and {len(lists)} lists, "
                f"not {CLIPS:,}, some and {len(LISTS)}"
            )
        validation, test = (lists[name] for name in LISTS)
    train = frozenset(names) - validation - test
    recordings = tuple(noises[name] for name in sorted(noises))
    return Catalogue(path, tuple(sorted(train)), tuple(sorted(validation)), tuple(sorted(test)), recordings)


def clips(found: Catalogue, wanted: Container[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The names and the samples, int16, of the clips that are `wanted`, in the order in which they lie there."""
    with official.damage_is_named(DATASET, found.path):
        for name, opened in official.members(found.path):
            if name in wanted:
                sound = samples(name, opened().read())
                if len(sound) > RATE:
                    raise ValueError(f"{name} has {len(sound)} samples, more than a second's {RATE}")
                yield name, sound


def samples(name: str, content: bytes) -> np.ndarray:
    """The samples of the wav file of that name, int16.

    Raises
    ------
    ValueError
        If it is none of one channel of 16 bits at 16 kHz.
    """
    try:
        with wave.open(io.BytesIO(content)) as sound:
            form = (sound.getnchannels(), sound.getsampwidth(), sound.getframerate())
            data = sound.readframes(sound.getnframes())
    except (wave.Error, EOFError, RuntimeError) as error:  # RuntimeError: of a length beyond the file
        raise ValueError(f"{name} is no wav file: {error}") from error
    if form != (1, 2, RATE):
        raise ValueError(f"{name} has {form[0]} channels of {8 * form[1]} bits at {form[2]} Hz, not 1 of 16 at {RATE}")
    return np.frombuffer(data, "<i2")


def _check_archive(path: Path) -> None:
    with path.open("rb") as packed:
        if hashlib.file_digest(packed, "sha256").hexdigest() != ARCHIVE_SHA256:
            raise ValueError("it does not have its official checksum")
