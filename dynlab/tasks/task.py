"""A task: three splits, what is asked of the network, and how that is scored."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dynlab.errors import UserError, entry

TEST_SEED, HELD_OUT_SHARE = 0, 0.2  # of tasks without an official split
FIXED_SEED = 2**31  # of what is the same whatever the run's seed: no run has it
FLOAT32 = np.dtype(np.float32)
# (raw inputs of shape (sample, time, input), strength, generator) -> raw inputs of that shape
Augmentation = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]


class NotAtHand(UserError):
    """A data set that is neither in a folder that was named nor in the cache, and was not to be downloaded."""


@dataclass(frozen=True)
class Split:
    """Sequences and what is to be said about them.

    Attributes
    ----------
    inputs : ndarray, shape (sample, time, input), float32
        In a task of tokens their numbers, one a step. Or an `OnDemand` of that shape, which is an array only once it
        is indexed.
    targets : ndarray
        Classes, shape (sample,) or (sample, time), int64; or values, shape (sample, output) or (sample, time, output),
        float32. Or an `OnDemand`.
    subjects : ndarray, shape (sample,), or None
        Who was measured, where that matters.
    """

    inputs: Any  # an array, or what makes one of the rows asked for
    targets: Any
    subjects: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, which: np.ndarray | slice) -> "Split":
        return Split(self.inputs[which], self.targets[which], None if self.subjects is None else self.subjects[which])

    def made_by(self, make: Callable[[np.ndarray], np.ndarray], sizes: tuple[int, ...]) -> "Split":
        """Return the split whose inputs are made of the numbers that stand in their place; see `OnDemand`."""
        return Split(OnDemand(make, self.inputs, sizes), self.targets, self.subjects)


@dataclass(frozen=True)
class OnDemand:
    """Sequences that are made when they are asked for, and indexed like an array of shape (sample, time, input).

    Attributes
    ----------
    make : callable
        From the sequences' own numbers, shape (sample,), to the sequences, (sample, time, input). The same number gives
        the same sequence, whatever else is asked for.
    numbers : ndarray, shape (sample,)
        The sequences that there are.
    sizes : tuple of int
        The shape of one: (time, input), or (time,) as classes at each step are.
    dtype : dtype
        The type of what is made.

    Examples
    --------
    >>> ramps = OnDemand(lambda numbers: np.ones((1, 4, 1), np.float32) * numbers[:, None, None], np.arange(9), (4, 1))
    >>> ramps.shape
    (9, 4, 1)
    >>> ramps[2:4].shape
    (2, 4, 1)
    """

    make: Callable[[np.ndarray], np.ndarray]
    numbers: np.ndarray
    sizes: tuple[int, ...]
    dtype: np.dtype = FLOAT32

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.numbers), *self.sizes)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: int | slice | np.ndarray) -> np.ndarray:
        """Return one sequence (time, input), or those of a slice, mask or numbers (sample, time, input)."""
        chosen = self.numbers[which]
        made = self.make(np.atleast_1d(chosen))
        return made[0] if chosen.ndim == 0 else made

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        """Return all sequences as one array."""
        return np.asarray(self[:], dtype)


@dataclass(frozen=True)
class Scaling:
    """An affine change of units, (raw − mean) / deviation.

    Attributes
    ----------
    mean, deviation : ndarray
        Broadcast against (time, input).
    """

    mean: np.ndarray
    deviation: np.ndarray

    def apply(self, raw: np.ndarray) -> np.ndarray:
        return ((raw - self.mean) / self.deviation).astype(np.float32)

    def undo(self, scaled: np.ndarray) -> np.ndarray:
        return scaled * self.deviation + self.mean


@dataclass(frozen=True)
class Task:
    """A data set with what is asked of it.

    Attributes
    ----------
    name : str
        The public name in `TASKS`.
    settings : dict
        The settings it was made with, JSON-able.
    train, validation, test : Split
        `validation` is None where nothing was held out.
    renew : callable or None
        From an epoch, counted from 0, to what is trained on in it, where every epoch has new sequences.
    output_size : int
        Classes, or values to be predicted.
    loss : {"cross-entropy", "mse"}
    every_step : bool
        Each step is answered, not the last alone.
    description : str
        Words on what it is, and on what its source leaves open.
    source : dict
        ``origin`` and ``sha256`` of the data.
    scaling : Scaling or None
        From raw values to `inputs`.
    augmentations : mapping of str to (function, default strength)
        Random changes of raw training inputs that leave their targets right.
    tokens : int or None
        The number of tokens where the inputs are tokens by their numbers, which a network reads through an
        embedding.
    unit : str
        A token of a task that says the next one at each step of a stream: ``character``, ``word``. The
        sequences of each split then are consecutive windows of one stream, in its order.
    """

    name: str
    settings: dict[str, Any]
    train: Split
    validation: Split | None
    test: Split
    output_size: int
    loss: Literal["cross-entropy", "mse"]
    every_step: bool
    description: str
    source: dict[str, str]
    scaling: Scaling | None = None
    augmentations: Mapping[str, tuple[Augmentation, float]] = field(default_factory=dict)
    tokens: int | None = None
    unit: str = ""
    renew: Callable[[int], Split] | None = None

    @property
    def input_size(self) -> int:
        return self.train.inputs.shape[2]

    @property
    def length(self) -> int:
        """The number of steps of a sequence."""
        return self.train.inputs.shape[1]

    @property
    def metric(self) -> str:
        """The name of what is reported beside the loss: ``accuracy`` (0 to 1), ``mse``, ``bits_per_character``, …."""
        if self.unit:
            return f"bits_per_{self.unit}"
        return "accuracy" if self.loss == "cross-entropy" else "mse"

    def augmentation(self, names: Sequence[str]) -> list[tuple[Augmentation, float]]:
        """The functions named ``NAME`` or ``NAME:STRENGTH``, each with its strength.

        Raises
        ------
        UserError
            For a name that the task does not have, or a strength that is no number.
        """
        chosen = []
        for name, _, strength in (str(text).partition(":") for text in names):
            function, default = entry(self.augmentations, name, f"augmentation of {self.name}")
            try:
                chosen.append((function, float(strength or default)))
            except ValueError as error:
                raise UserError(
                    f"The strength of {name!r} must be a number such as {name}:{default}, got {strength}."
                ) from error
        return chosen

    def augmented(
        self, inputs: np.ndarray, chosen: Sequence[tuple[Augmentation, float]], generator: np.random.Generator
    ) -> np.ndarray:
        """`inputs` changed at random, in raw units, by what `augmentation` chose."""
        raw = inputs if self.scaling is None else self.scaling.undo(inputs)
        for function, strength in chosen:
            raw = function(raw, strength, generator)
        return raw.astype(np.float32) if self.scaling is None else self.scaling.apply(raw)


def hold_out(
    split: Split, share: float | np.ndarray, seed: int | np.random.Generator, retrain: bool
) -> tuple[Split, Split | None]:
    """`split` without a random `share` of its subjects (of its samples where it has none), and that share.

    In place of a share a mask says which samples are held out. All of it and None to `retrain`.
    """
    if retrain:
        return split, None
    if not isinstance(share, np.ndarray):
        groups = np.arange(len(split)) if split.subjects is None else split.subjects
        names = np.unique(groups)
        share = np.isin(groups, np.random.default_rng(seed).permutation(names)[: round(share * len(names))])
    return split[~share], split[share]


def of_few(everything: Split, test_size: int, seed: int, retrain: bool, **facts: Any) -> Task:
    """A task without an official split, all of whose sequences are in memory.

    A fixed draw of `test_size` of them is the test, whatever the seed; a fifth of the rest is held out by the seed.
    `facts` are the others of `Task`.
    """
    order = np.random.default_rng(TEST_SEED).permutation(len(everything))
    train, validation = hold_out(everything[order[test_size:]], HELD_OUT_SHARE, seed, retrain)
    return Task(
        settings={"seed": seed, "retrain": retrain},
        train=train,
        validation=validation,
        test=everything[order[:test_size]],
        every_step=False,
        **facts,
    )


def digest(array: np.ndarray) -> str:
    """Return the SHA-256 of an array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
