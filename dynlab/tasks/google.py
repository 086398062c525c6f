"""Google-12 and Google-30: one second of speech by its log-mel features, and which command it is.

References
----------
.. [1] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B: both tasks, 99 steps of 32 features.
.. [2] TensorFlow's example ``speech_commands``, ``input_data.py``: the twelve classes, a tenth of silence and a tenth
   of unknown words.
"""

from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynlab.errors import require_extra
from dynlab.tasks import recordings, speech_commands
from dynlab.tasks.log_mel import FILTERS, RATE, STEPS, log_mel
from dynlab.tasks.recordings import Standardise
from dynlab.tasks.speech_commands import WORDS, Catalogue
from dynlab.tasks.task import Split, Task, digest

COMMANDS = WORDS[:10]
SILENCE, UNKNOWN = 0, 1  # classes of Google-12, the commands come after
SHARE = 10  # in percent of the commands' clips, how many silent and how many unknown ones there are
DRAWN_SEED = 2**31  # of what is drawn for Google-12, the same whatever the run's seed
FEATURES = (
    "32 log-mel features in windows of 25 ms every 10 ms. What is shorter than a second has zeros before it and takes "
    "ln(x + 1e-10), as in one of EdgeML's two scripts; the other puts the zeros behind and takes ln x. The official "
    "lists say what validates and tests. The sources hold out 20 % of the training clips and do not use those of the "
    "validation list: here these validate, and retrain learns from them too."
)


class Silence(NamedTuple):
    """A second of a recording of noise.

    Attributes
    ----------
    noise, start : int
        The recording, and the sample in it at which the second begins.
    volume : float
        The factor of its samples.
    """

    noise: int
    start: int
    volume: float


Example = tuple[str | Silence, int]  # a clip's name, or silence, and its class


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
        A folder with the data set, see `speech_commands.catalogue`.
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
        If the data set is not to be had, and without the extra ``speech``.
    """
    found = _catalogue(data_dir, download)
    return _make(
        "google30",
        found,
        [[(name, _word(name)) for name in names] for names in (found.train, found.validation, found.test)],
        len(WORDS),
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
        If the data set is not to be had, and without the extra ``speech``.
    """
    found = _catalogue(data_dir, download)
    return _make(
        "google12",
        found,
        [_twelve(names, found.noises, i) for i, names in enumerate((found.train, found.validation, found.test))],
        2 + len(COMMANDS),
        f"Speech Commands 0.01, ten commands, other words and silence, {FEATURES} The sources name ten commands, noise "
        "and silence, with 22,246 and 3,081 examples. These are the counts of TensorFlow's example. To the 18,538 and "
        "2,567 clips of the commands it adds a tenth of other words. It also adds a tenth of pieces of the noise, at a "
        "volume up to 1. Which ones they had is not known: here a fixed seed draws them.",
        {"seed": seed, "retrain": retrain, "standardise": standardise},
    )


def _twelve(names: tuple[str, ...], noises: tuple[np.ndarray, ...], split: int) -> list[Example]:
    """The commands of a split, and its tenths of other words and of silence."""
    generator = np.random.default_rng([DRAWN_SEED, split])
    commands = [(name, 2 + _word(name)) for name in names if _word(name) < len(COMMANDS)]
    others = [(name, UNKNOWN) for name in names if _word(name) >= len(COMMANDS)]
    count = -(-len(commands) * SHARE // 100)
    chosen = np.sort(generator.permutation(len(others))[:count])
    silences = []
    for _ in range(count):
        noise = int(generator.integers(len(noises)))
        start = int(generator.integers(len(noises[noise]) - RATE))
        silences.append((Silence(noise, start, float(generator.uniform())), SILENCE))
    return [*commands, *(others[place] for place in chosen), *silences]


def _catalogue(data_dir: str | Path | None, download: bool) -> Catalogue:
    require_extra("kaldi_native_fbank", "speech")  # before a gigabyte is fetched
    return speech_commands.catalogue(data_dir, download=download)


def _word(name: str) -> int:
    return WORDS.index(name.partition("/")[0])


def _make(
    name: str,
    found: Catalogue,
    splits: list[list[Example]],
    classes: int,
    description: str,
    settings: dict[str, Any],
) -> Task:
    """The task of the splits' examples; memory holds their features alone."""
    examples = list(chain.from_iterable(splits))
    features = np.empty((len(examples), STEPS, FILTERS), np.float32)
    rows = {}
    for row, (what, _) in enumerate(examples):
        if isinstance(what, str):
            rows[what] = row
        else:
            features[row] = log_mel(what.volume * found.noises[what.noise][what.start : what.start + RATE])
    for clip, sound in speech_commands.clips(found, rows):
        features[rows[clip]] = log_mel(sound)
    targets = np.array([target for _, target in examples], np.int64)
    everything, starts = Split(np.arange(len(examples)), targets), np.cumsum([len(split) for split in splits])
    train, validation, test = np.split(everything.inputs, starts[:-1])
    if settings["retrain"]:
        train = np.concatenate([train, validation])
    return recordings.make(
        name,
        (features, features),
        (everything[train], None if settings["retrain"] else everything[validation], everything[test]),
        classes,
        description,
        settings,
        {"origin": found.path.name, "sha256": digest(features)},
    )
