"""The files that a sweep is made from: what was in them, by which it is seen that one has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynlab.sweep import Axis


def contents(arguments: Sequence[str], grid: Sequence[Axis]) -> dict[str, str]:
    """Return the SHA-256 of each file that a word of the command line or a value of the grid names.

    A Zarr store counts with all its files.
    """
    values = [value for each in grid for value in each.values if isinstance(value, str)]
    words = [word.partition("=")[2] if word.startswith("-") else word for word in arguments]
    return {name: found for name in dict.fromkeys([*words, *values]) if (found := _content(Path(name)))}


def _content(path: Path) -> str:
    """Return the digest of a file, or of those in a Zarr store; empty if there is none that can be read."""
    try:
        if path.suffix == ".zarr" and path.is_dir():
            inner = sorted(each for each in path.rglob("*") if each.is_file())
            told = "".join(f"{each.relative_to(path).as_posix()} {_content(each)}\n" for each in inner)
            return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except (OSError, ValueError):  # the cells say what is wrong
        return ""
