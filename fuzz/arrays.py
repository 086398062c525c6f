"""Arrays of inputs: .npy and .npz."""

import functools
import io
import zipfile
from pathlib import Path
from random import Random

import numpy as np
from mutation import EDGES, damaged, in_archive, packed
from reader import Reader, Wrong

from dynlab.choice import Choice
from dynlab.tasks.array_files import read_sequences

PIECES = (b"'shape'", b"'descr'", b"'fortran_order'", b"True", b"<f8", b"|O", b"|V8", b"(2, 3)", b"((", b"__import__")
KINDS = ("<f8", ">f4", "<f2", "<i8", "|b1", "|O", "|V0", "|S9", "<U3", "<c16", "<M8[s]", "f16", "|i1", "<f0", "i9", "")


@functools.cache
def arrays() -> list[bytes]:
    """Valid .npy files."""
    made = []
    for kind, order in (("<f8", "C"), (">f4", "F"), ("|b1", "C"), ("<i2", "C")):
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(np.arange(24).reshape(2, 3, 4), kind, order=order))
        made.append(buffer.getvalue())
    return made


def generated(draw: Random) -> bytes:
    """A .npy file with any head."""
    sizes = [draw.choice((*EDGES, 2, 3, 4, True, 1.0)) for _ in range(draw.choice((0, 1, 3, 3, 3, 40)))]
    kind = draw.choice((repr(draw.choice(KINDS)), "[('a', '<f8')]", "('<f8', (3, 3))", "{}", "None", "'f8'*9"))
    shape = draw.choice((repr(tuple(sizes)), repr(sizes), f"({sizes},)", "()", "None", "(" * 300, "(2,) + (3,)"))
    order = draw.choice(("False", "True", "0", "None", "'F'"))
    head = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    head += b" " * draw.choice((0, 9, 60)) + b"\n"
    version = draw.choice((1, 1, 2, 3, 9))
    length = len(head).to_bytes(2 if version == 1 else 4, "little")
    start = b"\x93NUMPY" + bytes([version, draw.choice((0, 0, 0, 7))])
    return start + length + head + draw.randbytes(draw.choice((0, 8, 99)))


def make(draw: Random) -> bytes:
    """An input of .npy."""
    return generated(draw) if draw.random() < 0.4 else damaged(draw, arrays(), PIECES)


def make_archive(draw: Random) -> bytes:
    """An input of .npz."""
    seeds = [packed({"inputs.npy": each}) for each in arrays()[:2]] + [packed({"a.npy": arrays()[0]})]
    if draw.random() < 0.3:
        return packed({draw.choice(("inputs.npy", "inputs", "x.npy", "")): generated(draw)})
    if draw.random() < 0.5:
        return in_archive(draw, seeds, PIECES)
    return damaged(draw, seeds, (b"inputs.npy", b"PK\x01\x02"))


def read(path: Path) -> None:
    """Read an array; it is what numpy reads, where that reads it, and is no larger than the file."""
    found = read_sequences(path, Choice(10**9))
    if found.dtype.kind not in "biuf" or (path.suffix == ".npy" and found.nbytes > path.stat().st_size):
        raise Wrong(f"an array of {found.dtype} and {found.nbytes} bytes")
    try:
        told = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
        told = told if path.suffix == ".npy" else told["inputs"] if "inputs" in told else told[told.files[0]]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError, SyntaxError, NotImplementedError) as error:
        raise Wrong(f"numpy says of what was read: {error}") from error
    if told.shape != found.shape or told.tobytes() != found.tobytes():
        raise Wrong("numpy reads another array")


READERS = [Reader("npy", ".npy", make, read), Reader("npz", ".npz", make_archive, read)]
