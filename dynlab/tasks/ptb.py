"""The Penn Treebank as Mikolov prepared it: streams of characters or of words.

References
----------
.. [1] M. P. Marcus, B. Santorini, M. A. Marcinkiewicz, "Building a Large Annotated Corpus of English: The Penn
   Treebank", Computational Linguistics 19 (1993).
.. [2] T. Mikolov et al., "Subword Language Modeling with Neural Networks", 2012: the files of ``simple-examples.tgz``.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dynlab.errors import UserError, unknown
from dynlab.tasks import official
from dynlab.tasks.on_demand import OnDemand
from dynlab.tasks.task import Split, Task

Level = Literal["char", "word"]
EOS = "<eos>"  # the end of a line
UNITS: dict[Level, str] = {"char": "character", "word": "word"}
ARCHIVE = "simple-examples.tgz"
DOWNLOADS = {ARCHIVE: (f"http://www.fit.vutbr.cz/~imikolov/rnnlm/{ARCHIVE}", "md5:30177ea32e27c525793142b6bf2c8e2d")}
PTB = {
    "char": official.DataSet(
        title="PTB by characters",
        folder="ptb",
        files={
            "ptb.char.train.txt": "e313d91425e06c4f0a8fb6e881dcce0c291f2a0e9f4dda54833069b122f91da9",
            "ptb.char.valid.txt": "21661f63ec355085879458b6524644d4add5573541b4be14fb52ab2e2e995eb8",
            "ptb.char.test.txt": "1ef5607ac3c463b16e38bfe7900dd3bfc91de5a96e0f21e7eab5188b465b8ebe",
        },
        downloads=DOWNLOADS,
        unpacked="simple-examples/data",
    ),
    "word": official.DataSet(
        title="PTB by words",
        folder="ptb",
        files={
            "ptb.train.txt": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
            "ptb.valid.txt": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
            "ptb.test.txt": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
        },
        downloads=DOWNLOADS,
        unpacked="simple-examples/data",
    ),
}


@dataclass(frozen=True)
class Corpus:
    """Streams of tokens.

    Attributes
    ----------
    vocabulary : tuple of str
        In the order of first appearance in the training stream, then the validation's, then the test's.
    train, validation, test : ndarray, shape (time,), int16
        Places in the vocabulary. Each line ends in `EOS`.
    source : dict
        ``origin`` and ``sha256``.
    """

    vocabulary: tuple[str, ...]
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    source: dict[str, str]


@dataclass(frozen=True)
class Windows:
    """Windows of a stream of tokens; called with their numbers, makes them.

    Attributes
    ----------
    tokens : ndarray, shape (time,)
        By their numbers.
    length : int
        Steps of a window.
    """

    tokens: np.ndarray
    length: int

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        shown = self.tokens[numbers[:, None] * self.length + np.arange(self.length)]
        return shown[..., None].astype(np.float32)


def make(
    level: Level,
    description: str,
    *,
    length: int,
    seed: int,
    retrain: bool,
    data_dir: str | Path | None,
    download: bool,
) -> Task:
    """The next token at each step of the streams, in windows; `description` may name ``tokens`` and ``length``.

    Raises
    ------
    UserError
        Where the data set is not to be had, and for a length that is not positive or more than a stream has.
    """
    corpus = load(level, data_dir, download=download)
    shortest = min(len(corpus.train), len(corpus.validation), len(corpus.test)) - 1
    if not 1 <= length <= shortest:
        raise UserError(f"The length must be at least 1 and at most {shortest}, the shortest stream's; got {length}.")
    tokens = len(corpus.vocabulary)
    train = np.concatenate([corpus.train, corpus.validation]) if retrain else corpus.train
    return Task(
        name=f"ptb-{level}",
        settings={"length": length, "seed": seed, "retrain": retrain},
        train=windows(train, length),
        validation=None if retrain else windows(corpus.validation, length),
        test=windows(corpus.test, length),
        output_size=tokens,
        loss="cross-entropy",
        every_step=True,
        tokens=tokens,
        unit=UNITS[level],
        description=description.format(tokens=tokens, length=length),
        source=corpus.source,
    )


def windows(tokens: np.ndarray, length: int) -> Split:
    """The stream in windows, in their order, and for each step the token that follows."""
    count = (len(tokens) - 1) // length
    targets = tokens[1 : 1 + count * length].reshape(count, length).astype(np.int64)
    return Split(OnDemand(Windows(tokens, length), np.arange(count), length, 1), targets)


def load(level: Level, data_dir: str | Path | None = None, *, download: bool = True) -> Corpus:
    """The characters or the words; see `official.read` for where they are looked for and what is raised."""
    if level not in PTB:
        raise unknown("level", level, PTB)
    numbers: dict[str, int] = {}
    texts, origin = official.read(PTB[level], lambda _, stream: stream.rest(), data_dir, download=download)
    # in the official order, whatever an archive's is
    train, validation, test = (tokens(texts.pop(name), numbers) for name in PTB[level].files)
    return Corpus(tuple(numbers), train, validation, test, {"origin": origin, "sha256": PTB[level].sha256})


def tokens(text: bytes, numbers: dict[str, int]) -> np.ndarray:
    """The tokens of a text, separated by white space, and `EOS` after each line; `numbers` grows by the new ones."""
    lines = (line.decode("utf-8").split() for line in io.BytesIO(text))
    return np.fromiter((numbers.setdefault(token, len(numbers)) for line in lines for token in (*line, EOS)), np.int16)
