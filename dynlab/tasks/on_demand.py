"""Sequences, or answers, that are made when they are asked for, so that what is long in them is never stored."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Numbers of sequences, shape (sample,), to sequences of shape (sample, time, input). The same number gives the same
# sequence, whatever else is asked for.
Make = Callable[[np.ndarray], np.ndarray]
FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class OnDemand:
    """Sequences that are indexed like an array of shape (sample, time, input).

    Attributes
    ----------
    make : callable
        From the sequences' own numbers.
    numbers : ndarray, shape (sample,)
        The sequences that there are.
    length, width : int
        Steps and inputs of a sequence; without a width they are of shape (sample, time), as classes at each step are.
    dtype : dtype
        The type of what is made.

    Examples
    --------
    >>> ramps = OnDemand(lambda numbers: np.ones((1, 4, 1), np.float32) * numbers[:, None, None], np.arange(9), 4, 1)
    >>> ramps.shape
    (9, 4, 1)
    >>> ramps[2:4].shape
    (2, 4, 1)
    """

    make: Make
    numbers: np.ndarray
    length: int
    width: int | None = None
    dtype: np.dtype = FLOAT32

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.numbers), self.length) + (() if self.width is None else (self.width,))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: int | slice | np.ndarray) -> np.ndarray:
        """One sequence, (time, input), or those that a slice, a mask or numbers choose, (sample, time, input)."""
        chosen = self.numbers[which]
        made = self.make(np.atleast_1d(chosen))
        return made[0] if chosen.ndim == 0 else made

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        """All of them at once."""
        return np.asarray(self[:], dtype)
