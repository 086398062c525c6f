"""What a task that draws its sequences is trained on: a fixed number of them, or new ones in every epoch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dynlab.tasks.on_demand import OnDemand
from dynlab.tasks.task import Split, hold_out
from dynlab.tasks.uci_har import digest

VALIDATION_SHARE = 0.2
# Streams of the seed for sequences that are drawn by number; training has the two before them, for order and noise.
TRAIN, VALIDATION = 2, 3
FINGERPRINT = 16  # how many of the sequences that are never all there stand for them in the checksum


class Draw(Protocol):
    """So many sequences, from a generator."""

    def __call__(self, size: int, *, generator: np.random.Generator) -> Split: ...


@dataclass(frozen=True)
class Generated:
    """What is trained on.

    Attributes
    ----------
    train : Split
        Of the first epoch, where each has new ones.
    validation : Split or None
        The same in every epoch.
    renew : callable or None
        From an epoch, counted from 0, to what is trained on in it; None where that is always `train`.
    source : dict
        ``origin`` and ``sha256``, of the first few sequences where they are new in every epoch.
    said : str
        The same in words.
    """

    train: Split
    validation: Split | None
    renew: Callable[[int], Split] | None
    source: dict[str, str]
    said: str


def generated(draw: Draw, train_size: int, seed: int, retrain: bool, fresh: bool) -> Generated:
    """Draw `train_size` sequences, or with `fresh` as many new ones for every epoch, and hold some out.

    Parameters
    ----------
    draw : callable
    train_size : int
        How many, a fifth of which is held out unless `retrain`; with `fresh` how many an epoch has.
    seed : int
    retrain : bool
        Hold out none.
    fresh : bool
        Sequence number n is a function of (seed, n) alone, made when it is asked for and never stored: epoch e has the
        numbers from e · `train_size` on. As many as a fifth of `train_size` are held out, drawn beside them.
    """
    if fresh:
        renew = Renewed(draw, train_size, seed, TRAIN)
        held = None if retrain else Renewed(draw, round(VALIDATION_SHARE * train_size), seed, VALIDATION)(0)
        source = {"origin": "generated, new in every epoch", "sha256": digest(renew(0).inputs[:FINGERPRINT])}
        return Generated(renew(0), held, renew, source, f"every epoch has {train_size} new ones")
    generator = np.random.default_rng(seed)
    train, validation = draw(train_size, generator=generator), None
    if not retrain:
        train, validation = hold_out(train, VALIDATION_SHARE, generator)
    source = {"origin": "generated", "sha256": digest(train.inputs)}
    return Generated(train, validation, None, source, f"{train_size} are fixed")


@dataclass(frozen=True)
class Renewed:
    """From an epoch to its sequences, `size` in each, by numbers of a stream of the seed."""

    draw: Draw
    size: int
    seed: int
    stream: int

    def __call__(self, epoch: int) -> Split:
        numbers = epoch * self.size + np.arange(self.size)
        return Split(self._part("inputs", numbers), self._part("targets", numbers))

    @cached_property
    def _first(self) -> Split:
        return self.numbered(0)

    def numbered(self, number: int) -> Split:
        """One sequence."""
        return self.draw(1, generator=np.random.default_rng([self.seed, self.stream, number]))

    def _part(self, part: str, numbers: np.ndarray) -> OnDemand:
        def make(chosen: np.ndarray) -> np.ndarray:
            return np.concatenate([getattr(self.numbered(int(number)), part) for number in chosen])

        like: np.ndarray = getattr(self._first, part)
        width = like.shape[2] if like.ndim > 2 else None
        return OnDemand(make, numbers, like.shape[1], width, like.dtype)
