"""Google-12 and Google-30: one second of speech by its log-mel features, and which command it is.

References
----------
.. [1] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B: both tasks, 99 steps of 32 features.
.. [2] P. Warden, "Speech Commands: A Dataset for Limited-Vocabulary Speech Recognition", 2018, arXiv 1804.03209:
   version 0.01, one-second clips of thirty words by many people, and six recordings of noise.
.. [3] TensorFlow's example ``speech_commands``, ``input_data.py``: the twelve classes, a tenth of silence and a tenth
   of unknown words.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io.wavfile

from dynlab.tasks import official, recordings
from dynlab.tasks.log_mel import RATE, log_mel
from dynlab.tasks.recordings import Standardise
from dynlab.tasks.task import FIXED_SEED, Split, Task, digest

# The order of the sources' code: the ten words of Kaggle's challenge come first.
WORDS = (
    *("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"),
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("bed", "bird", "cat", "dog", "happy", "house", "marvin", "sheila", "tree", "wow"),
)
CLIPS = 64_721  # of the words
BACKGROUND = "_background_noise_"  # the folder of the recordings of noise, a minute or more each
LISTS = ("validation_list.txt", "testing_list.txt")  # which clips are for what; the others are for training
COMMANDS = 10  # the first words
SILENCE, UNKNOWN = 0, 1  # classes of Google-12, the commands come after
SHARE = 10  # in percent of the commands' clips, how many silent and how many unknown ones there are
FEATURES = (
    "32 log-mel features in windows of 25 ms every 10 ms. What is shorter than a second has zeros before it and takes "
    "ln(x + 1e-10), as in one of EdgeML's two scripts; the other puts the zeros behind and takes ln x. The official "
    "lists say what validates and tests. The sources hold out 20 % of the training clips and do not use those of the "
    "validation list: here these validate, and retrain learns from them too."
)


Examples = list[tuple[np.ndarray, int]]  # features of a clip or of silence, and the class


def google30(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "feature",
    download: bool = True,
) -> Task:
    """Thirty spoken words, by their log-mel features, standardised over the training examples.

    Parameters
    ----------
    seed : int
        Taken by every task; here nothing is drawn with it.
    retrain : bool
        Train on the official validation clips too.
    data_dir : str or Path, optional
        A folder with the data set, see `load`.
    standardise : {"feature", "channel", "global"}
        Each (step, feature), each filter over all steps, or all values together.
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
    features, splits, _, origin = load(data_dir, download=download)
    return _make(
        "google30",
        [[(features[name], _word(name)) for name in names] for names in splits],
        origin,
        f"Speech Commands 0.01, 30 words, {FEATURES}",
        {"seed": seed, "retrain": retrain, "standardise": standardise},
    )


def google12(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "feature",
    download: bool = True,
) -> Task:
    """Ten spoken commands, other words and silence, by their log-mel features, standardised over the training examples.

    Parameters
    ----------
    seed, retrain, data_dir, standardise, download
        As in `google30`.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had.
    """
    features, splits, noises, origin = load(data_dir, download=download)
    return _make(
        "google12",
        [_twelve(names, features, noises, part) for part, names in enumerate(splits)],
        origin,
        f"Speech Commands 0.01, ten commands, other words and silence, {FEATURES} The sources name ten commands, noise "
        "and silence, with 22,246 and 3,081 examples. These are the counts of TensorFlow's example. To the 18,538 and "
        "2,567 clips of the commands it adds a tenth of other words. It also adds a tenth of pieces of the noise, at a "
        "volume up to 1. Which ones they had is not known: here a fixed seed draws them.",
        {"seed": seed, "retrain": retrain, "standardise": standardise},
    )


def _word(name: str) -> int:
    return WORDS.index(name.partition("/")[0])


def _twelve(names: list[str], features: dict[str, np.ndarray], noises: list[np.ndarray], part: int) -> Examples:
    """The commands of a split, and its tenths of other words and of silence."""
    generator = np.random.default_rng([FIXED_SEED, part])
    commands = [(features[name], 2 + _word(name)) for name in names if _word(name) < COMMANDS]
    others = [name for name in names if _word(name) >= COMMANDS]
    count = -(-len(commands) * SHARE // 100)
    chosen = np.sort(generator.permutation(len(others))[:count])
    silences = [(log_mel(piece(noises, generator)), SILENCE) for _ in range(count)]
    return [*commands, *((features[others[place]], UNKNOWN) for place in chosen), *silences]


def piece(noises: list[np.ndarray], generator: np.random.Generator) -> np.ndarray:
    """A random second of a random recording of noise, at a random volume up to 1."""
    noise = noises[generator.integers(len(noises))]
    start = generator.integers(len(noise) - RATE)
    return generator.uniform() * noise[start : start + RATE]


def _make(name: str, splits: list[Examples], origin: str, description: str, settings: dict[str, Any]) -> Task:
    """The task of the examples for training, validation and test."""
    examples = [example for part in splits for example in part]
    features, targets = np.stack([one for one, _ in examples]), np.array([target for _, target in examples], np.int64)
    everything, tests = Split(features, targets), len(splits[0]) + len(splits[1])
    return recordings.make(
        name,
        (everything[:tests], everything[tests:], {"origin": origin, "sha256": digest(features)}),
        np.arange(tests) >= len(splits[0]),
        int(targets.max()) + 1,
        description,
        settings,
    )


def load(
    data_dir: str | Path | None = None, *, download: bool = True
) -> tuple[dict[str, np.ndarray], list[list[str]], list[np.ndarray], str]:
    """Read the archive, whose checksum is compared, or the folder ``speech_commands_v0.01``.

    Looked for in the folder `data_dir` or DYNLAB_DATA, there in ``speech_commands`` first, in dynlab's cache, and at
    its public home.

    Returns
    -------
    features : dict of str to ndarray, shape (step, filter), float32
        Features of each clip by its name, ``word/file.wav``; see `log_mel`.
    splits : list of list of str
        The clips for training, validation and test by their names, sorted.
    noises : list of ndarray, shape (time,), int16
        The recordings of noise, in the order of their names.
    origin : str
        The name of the archive or the folder.

    Raises
    ------
    NotAtHand
        If nothing is found and nothing is to be downloaded.
    UserError
        If nothing can be downloaded, where `data_dir` is no folder, and where a copy is damaged.
    """
    features, lists, noises, of = {}, {}, {}, official.DATA_SETS["speech_commands"]
    with official.opened(of, data_dir, download=download) as ((path,), files):
        if path.is_file() and of.downloads[path.name][1] != f"sha256:{official.pooch.file_hash(path)}":
            raise ValueError("it does not have its official checksum")
        for name, file in files:
            folder = name.partition("/")[0]
            if name in LISTS:
                lists[name] = frozenset(file.read().decode().split())
            elif name.endswith(".wav") and folder in WORDS:
                features[name] = log_mel(samples(file.read()))
            elif name.endswith(".wav") and folder == BACKGROUND:
                noises[name] = samples(file.read())
        if len(features) != CLIPS or not noises:
            raise ValueError(f"it has {len(features):,} clips of the words and {len(noises)} of noise, not all")
        validation, test = (lists[name] for name in LISTS)
    splits = [sorted(part) for part in (features.keys() - validation - test, validation, test)]
    return features, splits, [noises[name] for name in sorted(noises)], path.name


def samples(content: bytes) -> np.ndarray:
    """The samples of a wav file, int16.

    Raises
    ------
    ValueError
        If it is none of one channel of 16 bits at 16 kHz.
    """
    rate, found = scipy.io.wavfile.read(io.BytesIO(content))
    if (rate, found.ndim, found.dtype) != (RATE, 1, np.int16):
        raise ValueError(f"a clip has {found.shape} samples of {found.dtype} at {rate} Hz, not one channel of int16")
    return found
