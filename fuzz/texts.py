"""Texts of the command line: matrices, settings of --set, and what drives a network."""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
from mutation import EDGES, TEXTS, damaged
from reader import Reader, Wrong

from dynlab.cli.values import held_input, numbers, pairs
from dynlab.matrices import named_matrix
from dynlab.systems import SYSTEMS, create
from dynlab.tasks import driving_inputs

MATRICES = b"plus diff random -0.15,-2;2,-1/3 1e3,2;3,4 1;2 1,2,3;4,5,6;7,8,9 0 identity".split()
SETTINGS = b"input_size=2 state_size=3 rho=28.0 activation=relu a=[1,2] bias=false eta=None K=1e3".split()
INPUTS = b"noise:1.0 constant:0.1,0.2 zero task:har2 noise a.npy task:adding 1,2 mean 0.5".split()
NAMES = b"state_size= nonlinearity= K= rank=".split()
TORCH = ("rnn", "lstm", "gru")
CLOSED = ("linear", "logistic", "henon", "lorenz", "roessler", "markus-yamabe")  # take no sizes


def text(path: Path) -> str:
    """The file as an argument of a command, which knows no zero byte."""
    return path.read_bytes().replace(b"\0", b"").decode("utf-8", "surrogateescape")


def of(seeds: Sequence[bytes], pieces: Sequence[bytes] = ()) -> functools.partial:
    """What makes inputs of such texts."""
    return functools.partial(make, seeds, (*pieces, *(str(each).encode() for each in (*EDGES, *TEXTS))))


def make(seeds: Sequence[bytes], pieces: Sequence[bytes], draw: Random) -> bytes:
    """An input: short, as a line of a terminal is."""
    return damaged(draw, seeds, pieces)[:3000]


def read_matrix(path: Path) -> None:
    """Read it; it is square, and each entry is finite."""
    rows = named_matrix(text(path))
    finite = all(math.isfinite(float(entry)) for row in rows for entry in row)
    if not finite or any(len(row) != len(rows) for row in rows):
        raise Wrong(str(rows)[:200])


def read_setting(path: Path) -> None:
    """Make a small system of each family with the setting."""
    given = pairs([text(path)], "--set")
    which = sorted(SYSTEMS)[len(text(path)) % len(SYSTEMS)]
    sizes = {} if which in CLOSED else {"input_size": 2, "hidden_size" if which in TORCH else "state_size": 3}
    system = create(which, **sizes | given)
    if system.state_size < 1:
        raise Wrong(f"{which} has {system.state_size} units")


@functools.cache
def network() -> object:
    """What the inputs drive."""
    return create("vanilla", input_size=2, state_size=3)


def read_inputs(path: Path) -> None:
    """Read what drives, what is held and a start; inputs are finite and of the right width."""
    said = text(path)
    for parse in (held_input, functools.partial(numbers, "--start")):
        try:
            parse(said)
        except ValueError:
            continue
    found = driving_inputs(said, network(), samples=2, steps=5).inputs
    if found.ndim != 3 or found.shape[-1] != 2 or not np.isfinite(found).all():
        raise Wrong(f"inputs of shape {found.shape}")


READERS = [
    Reader("matrix", ".txt", of(MATRICES, (b";", b",", b"/", b"e")), read_matrix),
    Reader("setting", ".txt", of(SETTINGS, NAMES), read_setting),
    Reader("inputs", ".txt", of(INPUTS, (b"noise:", b"constant:", b"task:", b".nc", b".npz", b"/")), read_inputs),
]
