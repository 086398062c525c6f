"""Training sequences of a task that draws them: a fixed number of them, or new ones in every epoch."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from dynlab.arguments import check_at_least
from dynlab.tasks.task import FIXED_SEED, HELD_OUT_SHARE, OnDemand, Split, Task, digest, hold_out

# Streams of the seed for sequences that are drawn by number; training has the two before them, for order and noise.
TRAIN, VALIDATION = 2, 3
FINGERPRINT = 16  # how many of the sequences that are never all there stand for them in the checksum


def make(
    name: str,
    draw: Callable[..., Split],
    asked: dict[str, Any],
    how: dict[str, Any],
    *,
    output_size: int,
    loss: Literal["cross-entropy", "mse"],
    every_step: bool,
    description: str,
) -> Task:
    """The task whose sequences `draw` draws.

    Parameters
    ----------
    draw : callable
        From a size, the settings `asked` and ``generator=`` to so many sequences.
    asked : dict
        The settings of the sequences.
    how : dict
        ``train_size``: how many sequences, a fifth of which is held out unless ``retrain``, are drawn by ``seed``.
        With ``fresh`` so many new ones for every epoch: sequence number n is a function of (seed, n) alone, made when
        it is asked for and never stored; epoch e has the numbers from e · train_size on, and as many as a fifth of
        train_size are held out, drawn beside them. ``test_size``: how many are tested on.
    output_size, loss, every_step, description
        See `Task`; the description may name ``drawn``.

    Raises
    ------
    UserError
        For sizes that are not positive.
    """
    train_size, seed = how["train_size"], how["seed"]
    check_at_least(1, train_size=train_size, test_size=how["test_size"])
    of_task = partial(draw, **asked)
    if how["fresh"]:
        renew = partial(renewed, of_task, train_size, seed, TRAIN)
        train, held_size = renew(0), round(HELD_OUT_SHARE * train_size)
        validation = None if how["retrain"] else renewed(of_task, held_size, seed, VALIDATION, 0)
        origin, first = "generated, new in every epoch", train.inputs[:FINGERPRINT]
        drawn = f"every epoch has {train_size} new ones"
    else:
        renew, generator = None, np.random.default_rng(seed)
        drawn_now = of_task(train_size, generator=generator)
        train, validation = hold_out(drawn_now, HELD_OUT_SHARE, generator, how["retrain"])
        origin, first, drawn = "generated", train.inputs, f"{train_size} are fixed"
    return Task(
        name=name,
        settings=asked | how,
        train=train,
        validation=validation,
        test=of_task(how["test_size"], generator=np.random.default_rng(FIXED_SEED)),
        output_size=output_size,
        loss=loss,
        every_step=every_step,
        description=description.format(drawn=drawn),
        source={"origin": origin, "sha256": digest(first)},
        renew=renew,
    )


def renewed(draw: Callable[..., Split], size: int, seed: int, stream: int, epoch: int) -> Split:
    """The sequences of an epoch, `size` in each, by their numbers in a stream of the seed."""
    numbers = epoch * size + np.arange(size)

    def numbered(number: int) -> Split:
        return draw(1, generator=np.random.default_rng([seed, stream, number]))

    first = numbered(0)

    def part(name: str) -> OnDemand:
        def make(chosen: np.ndarray) -> np.ndarray:
            return np.concatenate([getattr(numbered(int(number)), name) for number in chosen])

        like: np.ndarray = getattr(first, name)
        return OnDemand(make, numbers, like.shape[1:], like.dtype)

    return Split(part("inputs"), part("targets"))
