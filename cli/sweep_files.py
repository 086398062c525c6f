"""The files that the cells of a sweep are made from: what was in them, by which it is seen that one has changed."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .sweep_grid import CHECKPOINT

if TYPE_CHECKING:
    from dynlab.sweep import Axis


def contents(arguments: Sequence[str], grid: Sequence[Axis]) -> Callable[[Mapping[str, Any]], str]:
    """A function from the values of a cell to what is in its files, those that its words on the command line name.

    Each file is read once, so that it is as it was when the sweep first came to it.

    Parameters
    ----------
    arguments : sequence of str
        Of every cell.
    grid : sequence of Axis
        Of several checkpoints a cell has one.
    """
    content = functools.cache(_content)
    others = {name for each in grid if each.name == CHECKPOINT for name in each.values}
    words = [word.partition("=")[2] if word.startswith("-") else word for word in arguments if word not in others]
    of_all = [content(word) for word in words]

    def of_cell(values: Mapping[str, Any]) -> str:
        own = [content(value) for value in values.values() if isinstance(value, str)]
        return " ".join(filter(None, (*of_all, *own)))

    return of_cell


def _content(name: str) -> str:
    """The digest of what is in a file, or in the files of a Zarr store; empty where there is none that can be read."""
    path = Path(name)
    try:
        if path.suffix == ".zarr" and path.is_dir():
            inner = sorted(each for each in path.rglob("*") if each.is_file())
            told = "".join(f"{each.relative_to(path).as_posix()} {_digest(each)}\n" for each in inner)
            return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()
        return _digest(path) if path.is_file() else ""
    except (OSError, ValueError):  # which the cells say
        return ""


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
