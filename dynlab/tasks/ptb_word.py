"""PTB by words: at each step, say the next word.

References
----------
.. [1] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B: sequences of 300 words.
.. [2] A. Kag, Z. Zhang, V. Saligrama, "RNNs Evolving on an Equilibrium Manifold: A Panacea for Vanishing and Exploding
   Gradients?", 2019, Table 4.
"""

from pathlib import Path

from dynlab.tasks import ptb
from dynlab.tasks.task import Task

LENGTH = 300  # of both sources
DESCRIPTION = (
    "The Penn Treebank in Mikolov's files, {tokens:,} words with the end of a line, <unk> and N for numbers, the "
    "official split, windows of {length}; what is left of a stream after its last whole window is not used. Perplexity "
    "is the exponential of the cross-entropy. The sources say neither how long the vectors of the words are nor "
    "whether the state is carried from window to window: it is with --carry, and starts at 0 without."
)


def ptb_word(
    *,
    length: int = LENGTH,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    download: bool = True,
) -> Task:
    """The Penn Treebank, word by word: what comes next.

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
    return ptb.make(
        "word", DESCRIPTION, length=length, seed=seed, retrain=retrain, data_dir=data_dir, download=download
    )
