"""PTB by characters: at each step, say the next character.

References
----------
.. [1] N. Nguyen-Duy, Q. Pham, B. T. Nguyen, "Adaptive-saturated RNN: Remember more with less instability", 2023.
.. [2] G. Kerg, K. Goyette et al., "Non-normal Recurrent Neural Network (nnRNN): learning long time dependencies while
   improving expressivity with transient dynamics", NeurIPS 2019.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynlab.errors import UserError
from dynlab.tasks import ptb
from dynlab.tasks.on_demand import OnDemand
from dynlab.tasks.task import Split, Task

LENGTH = 150  # the sources have 150 and 300


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


def ptb_char(
    *,
    length: int = LENGTH,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    download: bool = True,
) -> Task:
    """The Penn Treebank, character by character: what comes next.

    Parameters
    ----------
    length : int
        Of the windows that the streams are cut into, in their order and without overlap.
    seed : int
        Taken by every task; here nothing is drawn.
    retrain : bool
        Train on the official validation stream too.
    data_dir : str or Path, optional
        A folder with the official files, see `official.read`.
    download : bool
        Whether to fetch the data set where it is not at hand.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        Where the data set is not to be had, and for a length that is not positive or more than a stream has.
    """
    corpus = ptb.load("char", data_dir, download=download)
    shortest = min(len(corpus.train), len(corpus.validation), len(corpus.test)) - 1
    if not 1 <= length <= shortest:
        raise UserError(f"The length must be at least 1 and at most {shortest}, the shortest stream's; got {length}.")
    width = len(corpus.vocabulary)
    train = np.concatenate([corpus.train, corpus.validation]) if retrain else corpus.train
    return Task(
        name="ptb-char",
        settings={"length": length, "seed": seed, "retrain": retrain},
        train=windows(train, length),
        validation=None if retrain else windows(corpus.validation, length),
        test=windows(corpus.test, length),
        output_size=width,
        loss="cross-entropy",
        every_step=True,
        tokens=width,
        unit="character",
        description=(
            f"The Penn Treebank in Mikolov's files, {width} characters with the end of a line and <unk>'s own, the "
            f"official split, windows of {length}; what is left of a stream after its last whole window is not used. "
            "Bits per character are the cross-entropy over ln 2. The sources learn vectors of 200 for the characters "
            "(--embedding 200) and carry the state from window to window along 128 parallel streams, 10 in validation "
            "and test (--carry); their streams are cut first and their windows then."
        ),
        source=corpus.source,
    )


def windows(tokens: np.ndarray, length: int) -> Split:
    """The stream in windows, in their order, and for each step the token that follows."""
    count = (len(tokens) - 1) // length
    targets = tokens[1 : 1 + count * length].reshape(count, length).astype(np.int64)
    return Split(OnDemand(Windows(tokens, length), np.arange(count), length, 1), targets)
