"""Yelp-5: the words of a review, and how many stars it gives.

The reviews come from a folder of the user's, since Yelp gives them only to who accepts its terms.

References
----------
.. [1] Yelp, "Yelp Open Dataset": ``yelp_academic_dataset_review.json``, one review a line.
.. [2] A. Kusupati et al., "FastGRNN: A Fast, Accurate, Stable and Tiny Kilobyte Sized Gated Recurrent Neural Network",
   NeurIPS 2018, Appendix B.
"""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dynlab.arguments import check_at_least
from dynlab.tasks import official
from dynlab.tasks.task import Split, Task, hold_out

REVIEWS = ("yelp_academic_dataset_review.json", "review.json")  # its name differs between the releases
STARS = 5
WORD = re.compile(r"\w+(?:'\w+)*")  # of a text in small letters
PADDING, UNKNOWN = 0, 1  # the first two tokens
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


def padded(reviews: Sequence[np.ndarray], length: int, numbers: np.ndarray) -> np.ndarray:
    """The reviews of these numbers by the numbers of their words, all of one length, (sample, time, 1)."""
    made = np.full((len(numbers), length, 1), PADDING, np.float32)
    for row, number in zip(made, numbers, strict=True):
        row[length - len(reviews[number]) :, 0] = reviews[number]
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
        A folder with Yelp's file, see `load`: it cannot be downloaded from here.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had, and for a length that is not positive.
    """
    check_at_least(1, length=length)
    reviews, stars, vocabulary, source = load(data_dir, length)
    everything = Split(np.arange(len(stars)), stars - 1)
    train, validation = hold_out(everything[:TRAIN], HELD_OUT_SHARE, seed, retrain)
    shown, sizes = partial(padded, reviews, length), (length, 1)
    return Task(
        name="yelp5",
        settings={"length": length, "seed": seed, "retrain": retrain},
        train=train.made_by(shown, sizes),
        validation=None if validation is None else validation.made_by(shown, sizes),
        test=everything[TRAIN:].made_by(shown, sizes),
        output_size=STARS,
        loss="cross-entropy",
        every_step=False,
        tokens=len(vocabulary),
        description=DESCRIPTION.format(tokens=len(vocabulary), length=length),
        source=source,
    )


def load(data_dir: str | Path | None, length: int) -> tuple[list[np.ndarray], np.ndarray, list[str], dict[str, str]]:
    """The first reviews, for training and then for the test.

    Parameters
    ----------
    data_dir : str or Path, optional
        A folder with ``yelp_dataset.tar`` or what is in it, besides DYNLAB_DATA and dynlab's cache.
    length : int
        The number of words of each review that are kept, the first ones.

    Returns
    -------
    reviews : list of ndarray, shape (time,), int16
        The words of each by their places in the vocabulary.
    stars : ndarray, shape (sample,), int64
        1 to 5.
    vocabulary : list of str
        Padding, unknown words, and then those of the training reviews by how often they come.
    source : dict
        ``origin`` and ``sha256``, of the lines that were read.

    Raises
    ------
    NotAtHand
        If it is in none of the folders.
    UserError
        If `data_dir` is no folder, and where a copy is damaged or has fewer reviews.
    """
    numbers: dict[str, int] = {}  # of the words, as they come
    texts, stars, counts, checksum = [], [], Counter[int](), hashlib.sha256()
    with official.opened(official.DATA_SETS["yelp"], data_dir) as ((path,), files):
        reviews = next(file for name, file in files if name.rpartition("/")[2] in REVIEWS)
        for line in itertools.islice(reviews, TRAIN + TEST):
            checksum.update(line)
            review = json.loads(line)
            words = WORD.findall(review["text"].lower())[:length]
            texts.append(np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32))
            stars.append(int(review["stars"]))
            if len(texts) <= TRAIN:
                counts.update(texts[-1].tolist())
        if len(texts) < TRAIN + TEST:
            raise ValueError(f"it has {len(texts):,} reviews, not {TRAIN + TEST:,}")
    frequent = [number for number, _ in counts.most_common(VOCABULARY - 2)]  # of a tie the first to come
    places = np.full(len(numbers), UNKNOWN, np.int16)
    places[frequent] = np.arange(2, 2 + len(frequent))
    names = np.array(list(numbers), dtype=object)[frequent]
    source = {"origin": path.name, "sha256": checksum.hexdigest()}
    return [places[text] for text in texts], np.array(stars), ["<padding>", "<unknown>", *names], source
