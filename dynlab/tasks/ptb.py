"""The Penn Treebank as Mikolov prepared it, by characters or by words: at each step, say the next one.

References
----------
.. [1] M. P. Marcus, B. Santorini, M. A. Marcinkiewicz, "Building a Large Annotated Corpus of English: The Penn
   Treebank", Computational Linguistics 19 (1993).
.. [2] T. Mikolov et al., "Subword Language Modeling with Neural Networks", 2012: the files of ``simple-examples.tgz``.
.. [3] N. Nguyen-Duy, Q. Pham, B. T. Nguyen, "Adaptive-saturated RNN: Remember more with less instability", 2023, and
   G. Kerg, K. Goyette et al., "Non-normal Recurrent Neural Network (nnRNN): learning long time dependencies while
   improving expressivity with transient dynamics", NeurIPS 2019: characters.
.. [4] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B: sequences of 300 words.
.. [5] A. Kag, Z. Zhang, V. Saligrama, "RNNs Evolving on an Equilibrium Manifold: A Panacea for Vanishing and Exploding
   Gradients?", 2019, Table 4: words.
"""

import io
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from dynlab.errors import UserError
from dynlab.tasks import official
from dynlab.tasks.task import OnDemand, Split, Task

Level = Literal["char", "word"]
EOS = "<eos>"  # the end of a line
UNITS: dict[Level, str] = {"char": "character", "word": "word"}
CHARACTERS, WORDS = 150, 300  # of a window: some sources have 300 characters too
DESCRIPTION = (
    "The Penn Treebank in Mikolov's files, {of}, the official split, windows of {length}; what is left of a stream "
    "after its last whole window is not used. {open}"
)
OF = {
    "char": "{:,} characters with the end of a line and <unk>'s own",
    "word": "{:,} words with the end of a line, <unk> and N for numbers",
}
LEFT_OPEN = {
    "char": "Bits per character are the cross-entropy over ln 2. The sources learn vectors of 200 for the characters "
    "(--embedding 200). They carry the state from window to window (--carry) along 128 parallel streams, 10 in "
    "validation and test. Their streams are cut first and their windows then.",
    "word": "Perplexity is the exponential of the cross-entropy. The sources say neither how long the vectors of the "
    "words are nor whether the state is carried from window to window: it is with --carry, and starts at 0 without.",
}


def shown(stream: np.ndarray, length: int, numbers: np.ndarray) -> np.ndarray:
    """The windows of these numbers of a stream of tokens, (sample, time, 1)."""
    return stream[numbers[:, None] * length + np.arange(length)][..., None].astype(np.float32)


def ptb_char(
    *,
    length: int = CHARACTERS,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    download: bool = True,
) -> Task:
    """The Penn Treebank, character by character: what comes next.

    Parameters
    ----------
    length : int
        Steps of the windows that the streams are cut into, in their order and without overlap.
    seed : int
        Taken by every task; here nothing is drawn.
    retrain : bool
        Train on the official validation stream too.
    data_dir : str or Path, optional
        A folder with the official files, see `official.read`.
    download : bool
        Fetch the data set where it is not at hand.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had, and for a length that is not positive or more than a stream has.
    """
    return _make("char", length, seed, retrain, data_dir, download)


def ptb_word(
    *,
    length: int = WORDS,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    download: bool = True,
) -> Task:
    """The Penn Treebank, word by word: what comes next.

    Parameters
    ----------
    length, seed, retrain, data_dir, download
        As in `ptb_char`.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had, and for a length that is not positive or more than a stream has.
    """
    return _make("word", length, seed, retrain, data_dir, download)


def _make(level: Level, length: int, seed: int, retrain: bool, data_dir: str | Path | None, download: bool) -> Task:
    """The next token at each step of the streams, in windows."""
    vocabulary, (train, validation, test), source = load(level, data_dir, download=download)
    shortest = min(map(len, (train, validation, test))) - 1
    if not 1 <= length <= shortest:
        raise UserError(f"The length must be at least 1 and at most {shortest}, the shortest stream's; got {length}.")
    tokens = len(vocabulary)
    return Task(
        name=f"ptb-{level}",
        settings={"length": length, "seed": seed, "retrain": retrain},
        train=windows(np.concatenate([train, validation]) if retrain else train, length),
        validation=None if retrain else windows(validation, length),
        test=windows(test, length),
        output_size=tokens,
        loss="cross-entropy",
        every_step=True,
        tokens=tokens,
        unit=UNITS[level],
        description=DESCRIPTION.format(of=OF[level].format(tokens), length=length, open=LEFT_OPEN[level]),
        source=source,
    )


def windows(tokens: np.ndarray, length: int) -> Split:
    """The stream in windows, in their order, and for each step the token that follows."""
    count = (len(tokens) - 1) // length
    targets = tokens[1 : 1 + count * length].reshape(count, length).astype(np.int64)
    return Split(OnDemand(partial(shown, tokens, length), np.arange(count), (length, 1)), targets)


def load(
    level: Level, data_dir: str | Path | None = None, *, download: bool = True
) -> tuple[list[str], list[np.ndarray], dict[str, str]]:
    """The characters or the words; see `official.read` for where they are looked for and what is raised.

    Returns
    -------
    vocabulary : list of str
        In the order of first appearance in the training stream, then the validation's, then the test's.
    streams : list of ndarray, shape (time,), int16
        For training, validation and test, places in the vocabulary. Each line ends in `EOS`.
    source : dict
        ``origin`` and ``sha256``.
    """
    numbers: dict[str, int] = {}
    texts, source = official.read(official.DATA_SETS[f"ptb-{level}"], data_dir, download=download)
    streams = [tokens(text, numbers) for text in texts]
    return list(numbers), streams, source


def tokens(text: bytes, numbers: dict[str, int]) -> np.ndarray:
    """The tokens of a text, separated by white space, and `EOS` after each line; `numbers` grows by the new ones."""
    lines = (line.decode("utf-8").split() for line in io.BytesIO(text))
    return np.fromiter((numbers.setdefault(token, len(numbers)) for line in lines for token in (*line, EOS)), np.int16)
