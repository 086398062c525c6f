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
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Reviews:
    """Reviews, one after the other.

    Attributes
    ----------
    tokens : ndarray, shape (time,), int16
        The words of all reviews, by their places in the vocabulary.
    ends : ndarray, shape (sample,), int64
        The place in `tokens` at which each review ends.
    stars : ndarray, shape (sample,), int64
        1 to 5.
    vocabulary : tuple of str
        Padding, unknown words, and then words by how often they come.
    source : dict
        ``origin`` and ``sha256``, of the lines that were read.
    """

    tokens: np.ndarray
    ends: np.ndarray
    stars: np.ndarray
    vocabulary: tuple[str, ...]
    source: dict[str, str]


def padded(reviews: Reviews, length: int, numbers: np.ndarray) -> np.ndarray:
    """The reviews of these numbers by the numbers of their words, all of one length, (sample, time, 1)."""
    made = np.full((len(numbers), length, 1), PADDING, np.float32)
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
    reviews = load(data_dir, count=TRAIN + TEST, train=TRAIN, words=length, vocabulary=VOCABULARY)
    everything = Split(np.arange(len(reviews.stars)), reviews.stars - 1)
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
        tokens=len(reviews.vocabulary),
        description=DESCRIPTION.format(tokens=len(reviews.vocabulary), length=length),
        source=reviews.source,
    )


def load(data_dir: str | Path | None, *, count: int, train: int, words: int, vocabulary: int) -> Reviews:
    """The first reviews.

    Parameters
    ----------
    data_dir : str or Path, optional
        A folder with ``yelp_dataset.tar`` or what is in it, besides DYNLAB_DATA and dynlab's cache.
    count : int
        The number of reviews.
    train : int
        The number of reviews whose words are counted for the vocabulary.
    words : int
        The number of words of each review that are kept, the first ones.
    vocabulary : int
        Its size.

    Raises
    ------
    NotAtHand
        If it is in none of the folders.
    UserError
        If `data_dir` is no folder, and where a copy is damaged or has fewer reviews.
    """
    numbers: dict[str, int] = {}
    read, lengths, stars = array("i"), array("q"), array("b")
    checksum = hashlib.sha256()
    with official.opened(official.DATA_SETS["yelp"], data_dir) as path:
        for line in itertools.islice(_lines(path), count):
            checksum.update(line)
            review = json.loads(line)
            if review["stars"] not in range(1, STARS + 1):
                raise ValueError(f"the review of line {len(stars) + 1:,} has {review['stars']} stars")
            kept = WORD.findall(review["text"].lower())[:words]
            read.extend(numbers.setdefault(word, len(numbers)) for word in kept)
            lengths.append(len(kept))
            stars.append(int(review["stars"]))
        if len(stars) < count:
            raise ValueError(f"it has {len(stars):,} reviews, not {count:,}")
    tokens, ends = np.frombuffer(read, np.int32), np.cumsum(lengths, dtype=np.int64)
    counts = np.bincount(tokens[: ends[train - 1]], minlength=len(numbers))
    # by how often they come; of the same number the first to come first
    frequent = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)][: vocabulary - 2]
    places = np.full(len(numbers), UNKNOWN, np.int16)
    places[frequent] = np.arange(2, 2 + len(frequent))
    names = np.array(list(numbers), dtype=object)[frequent]
    source = {"origin": path.name, "sha256": checksum.hexdigest()}
    return Reviews(places[tokens], ends, np.array(stars, np.int64), ("<padding>", "<unknown>", *names), source)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of the reviews, out of whatever they are packed in, which is gone through only until there."""
    for name, opened in official.members(path):
        if name.rpartition("/")[2] in REVIEWS:
            yield from opened()
            return
    raise ValueError(f"it lacks {REVIEWS[0]}")
