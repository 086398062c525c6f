"""Yelp-5: the words of a review, and how many stars it gives.

References
----------
.. [1] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B.
"""

from functools import partial
from pathlib import Path

import numpy as np

from dynlab.arguments import check_at_least
from dynlab.tasks import yelp
from dynlab.tasks.on_demand import OnDemand
from dynlab.tasks.task import Split, Task, hold_out

TRAIN, TEST = 500_000, 500_000  # reviews
LENGTH = 300
VOCABULARY = 20_000
HELD_OUT_SHARE = 0.2
DESCRIPTION = (
    "Yelp's first million reviews, one to five stars: 500,000 for training and 500,000 for testing. The sources do not "
    "say how the million is split, nor how texts become words. Here the first half trains. Words are runs of letters "
    "and digits, in small letters. The {tokens:,} tokens are padding, unknown words and the most frequent words of the "
    "training half. Of a longer review the first {length} words are read; a shorter one has padding before it. The "
    "sources read Yelp's release of 2017, which it gives no more: others begin with other reviews, and the checksum of "
    "the lines read says which. ERNN holds out 20 % of the training reviews without saying how: here a random fifth."
)


def padded(reviews: yelp.Reviews, length: int, numbers: np.ndarray) -> np.ndarray:
    """The reviews of these numbers by the numbers of their words, all of one length, (sample, time, 1)."""
    made = np.full((len(numbers), length, 1), yelp.PADDING, np.float32)
    for row, number in zip(made, numbers, strict=True):
        words = reviews.tokens[reviews.ends[number - 1] if number else 0 : reviews.ends[number]]
        row[length - len(words) :, 0] = words
    return made


def yelp5(*, length: int = LENGTH, seed: int = 0, retrain: bool = False, data_dir: str | Path | None = None) -> Task:
    """Reviews word by word, and the stars they give.

    Parameters
    ----------
    length : int
        Words of a review.
    seed : int
        Chooses the training reviews held out for validation.
    retrain : bool
        Train on all of them.
    data_dir : str or Path, optional
        A folder with Yelp's file, see `yelp.load`: it cannot be downloaded from here.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had, and for a length that is not positive.
    """
    check_at_least(1, length=length)
    reviews = yelp.load(data_dir, count=TRAIN + TEST, train=TRAIN, words=length, vocabulary=VOCABULARY)
    everything = Split(np.arange(len(reviews.stars)), reviews.stars - 1)
    train, validation = hold_out(everything[everything.inputs[:TRAIN]], HELD_OUT_SHARE, seed, retrain)

    def on_demand(part: Split) -> Split:
        return Split(OnDemand(partial(padded, reviews, length), part.inputs, length, 1), part.targets)

    return Task(
        name="yelp5",
        settings={"length": length, "seed": seed, "retrain": retrain},
        train=on_demand(train),
        validation=None if validation is None else on_demand(validation),
        test=on_demand(everything[everything.inputs[TRAIN:]]),
        output_size=yelp.STARS,
        loss="cross-entropy",
        every_step=False,
        tokens=len(reviews.vocabulary),
        description=DESCRIPTION.format(tokens=len(reviews.vocabulary), length=length),
        source=reviews.source,
    )
