"""Digests of what a sweep wrote for each cell, by which it sees whether that is still there when it goes on.

They tell what was lost, cut short or changed by accident. They are no signature: whoever changes a cell and its digest
is not found out.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dynlab.sweep.grid import Value

BYTES = 8  # of a digest: by chance one in 10¹⁹ changes is not seen


def of_cell(values: Mapping[str, Value], files: str = "") -> int:
    """The digest of a cell that has no variables: of its values along the grid, and of the `files` that it reads."""
    return _digest(json.dumps([*values.items()]).encode() + files.encode())


def of_values(name: str, values: Any, nothing: Any) -> int:
    """The digest of what a cell has of one variable; those of all its variables are combined by exclusive or.

    Parameters
    ----------
    name : str
    values : array_like
    nothing : object
        What stands where there is no value. What is padded with it behind its end has the digest that it had before.

    Returns
    -------
    int
        0 where there is no value at all.
    """
    array = np.asarray(values)
    there = np.argwhere(~np.isnan(array) if array.dtype.kind == "f" else array != nothing)
    if not len(there):
        return 0
    own = array[tuple(slice(0, end) for end in (there.max(axis=0) + 1).tolist())]
    content = json.dumps(own.tolist()).encode() if own.dtype.kind in "OUT" else own.tobytes()
    return _digest(f"{name} {own.shape} ".encode() + content)


def _digest(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=BYTES).digest())
