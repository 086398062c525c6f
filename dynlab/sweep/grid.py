"""A grid: its axes, its cells, and how an axis is written on a command line."""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dynlab.errors import UserError

MOST_CELLS = 10_000_000
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"({NUMBER}):({NUMBER}):(log)?(\d+)")
LIKE_A_RANGE = re.compile(rf"{NUMBER}:{NUMBER}(:.*)?")
FORMS = "rho=20:30:5 (5 values), rho=0.1:10:log5 (evenly in the logarithm) or seed=0,1,2"

Value = int | float | str
Index = tuple[int, ...]
Files = Callable[[Mapping[str, Value]], str]  # from the values of a cell to what was in the files that it is made from


class Axis(NamedTuple):
    """One direction of a grid.

    Attributes
    ----------
    name : str
    values : tuple
        All whole numbers, all numbers, or all texts.
    """

    name: str
    values: tuple[Value, ...]


def axis(text: str) -> Axis:
    """The axis that a text such as ``rho=20:30:5`` says.

    Raises
    ------
    UserError
        Where it says none, or a value twice.

    Examples
    --------
    >>> axis("rho=20:30:3"), axis("x=0.1:10:log3").values, axis("kind=linear,flow").values
    (Axis(name='rho', values=(20, 25, 30)), (0.1, 1.0, 10.0), ('linear', 'flow'))
    """
    name, equals, said = text.partition("=")
    name, said = name.strip().lstrip("-").replace("-", "_"), said.strip()
    if not equals or not name or not said:
        raise UserError(f"--grid takes NAME=VALUES, such as {FORMS}; got {text!r}.")
    found = RANGE.fullmatch(said)
    if found is None and LIKE_A_RANGE.fullmatch(said):
        raise UserError(f"--grid {text} is no range: it needs its number of values, such as {name}=20:30:5.")
    values = _range(text, *found.groups()) if found else _listed(said)
    if len(set(values)) < len(values):
        raise UserError(f"--grid {text} has a value twice: name each once.")
    return Axis(name, values)


def _range(text: str, low: str, high: str, log: str | None, count: str) -> tuple[Value, ...]:
    first, last, number = float(low), float(high), int(count)
    if not 2 <= number <= MOST_CELLS or not math.isfinite(first) or not math.isfinite(last):
        raise UserError(f"--grid {text}: a range has 2 to {MOST_CELLS:,} values between two finite numbers.")
    if log:
        if first <= 0 or last <= 0:
            raise UserError(f"--grid {text}: only positive numbers have a logarithm.")
        return tuple(np.geomspace(first, last, number).tolist())
    if re.fullmatch(r"[-+]?\d+", low) and re.fullmatch(r"[-+]?\d+", high):
        step, rest = divmod(int(high) - int(low), number - 1)
        if not rest:
            return tuple(int(low) + step * place for place in range(number))
    return tuple(np.linspace(first, last, number).tolist())


def _listed(said: str) -> tuple[Value, ...]:
    words = [word.strip() for word in said.split(",")]
    for kind in (int, float):
        try:
            return tuple(kind(word) for word in words)
        except ValueError:
            continue
    return tuple(words)


def no_files(values: Mapping[str, Value]) -> str:
    """Cells that are made from no files."""
    return ""


def size(grid: Sequence[Axis]) -> int:
    """How many cells there are."""
    return math.prod(len(each.values) for each in grid)


def cell(grid: Sequence[Axis], index: Index) -> dict[str, Value]:
    """The values of the cell at that place of the grid, by the name of their axis."""
    return {each.name: each.values[place] for each, place in zip(grid, index, strict=True)}


def box(lengths: Sequence[int], most: int) -> tuple[int, ...]:
    """The shape of a part of the grid with at most so many cells: whole last axes, as far as they fit.

    Examples
    --------
    >>> box((10, 4, 5), 7), box((10, 4, 5), 45)
    ((1, 1, 5), (2, 4, 5))
    """
    shape: list[int] = []
    for length in reversed(lengths):
        shape.append(min(length, max(1, most // math.prod(shape))))
    return tuple(reversed(shape))


def boxes(lengths: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """The grid in parts of at most so many cells, which cover it once."""
    shape = box(lengths, most)
    starts = [range(0, length, step) for length, step in zip(lengths, shape, strict=True)]
    for corner in itertools.product(*starts):
        yield tuple(slice(at, min(at + step, n)) for at, step, n in zip(corner, shape, lengths, strict=True))
