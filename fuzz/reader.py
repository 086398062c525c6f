"""What a reader under attack is."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from branches import Step

IN_COPIES: set[Step] = set()  # taken by processes in which a reader reads


class Wrong(Exception):
    """What was read cannot be what the file holds."""


def nothing() -> None:
    """What most readers need to be prepared."""


class Reader(NamedTuple):
    """A reader, and how its inputs are made.

    Attributes
    ----------
    name : str
    suffix : str
        Of the input's file.
    make : callable
        The content of an input, by a generator of random numbers.
    read : callable
        Reads a file; raises a UserError where it refuses it, and `Wrong` where the result cannot be right.
    prepare : callable
        Called once in a process, before anything is read.
    """

    name: str
    suffix: str
    make: Callable[[Random], bytes]
    read: Callable[..., object]
    prepare: Callable[[], None] = nothing
