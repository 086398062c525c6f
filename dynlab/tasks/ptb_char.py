"""PTB by characters: at each step, say the next character.

References
----------
.. [1] N. Nguyen-Duy, Q. Pham, B. T. Nguyen, "Adaptive-saturated RNN: Remember more with less instability", 2023.
.. [2] G. Kerg, K. Goyette et al., "Non-normal Recurrent Neural Network (nnRNN): learning long time dependencies while
   improving expressivity with transient dynamics", NeurIPS 2019.
"""

from pathlib import Path

from dynlab.tasks import ptb
from dynlab.tasks.task import Task

LENGTH = 150  # the sources have 150 and 300
DESCRIPTION = (
    "The Penn Treebank in Mikolov's files, {tokens} characters with the end of a line and <unk>'s own, the official "
    "split, windows of {length}; what is left of a stream after its last whole window is not used. Bits per character "
    "are the cross-entropy over ln 2. The sources learn vectors of 200 for the characters (--embedding 200) and carry "
    "the state from window to window along 128 parallel streams, 10 in validation and test (--carry); their streams "
    "are cut first and their windows then."
)


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
    return ptb.make(
        "char", DESCRIPTION, length=length, seed=seed, retrain=retrain, data_dir=data_dir, download=download
    )
