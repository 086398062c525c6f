"""The official files of data sets: idx, the tables of UCI HAR, PTB's text, wav."""

import functools
import io
import struct
import wave
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from mutation import EDGES, damaged
from reader import Reader, Wrong

from dynlab.tasks import mnist, official, ptb, speech_commands, uci_har
from dynlab.tasks.log_mel import RATE

SETS = {"idx": mnist.MNIST, "uci": uci_har.DATASET, "ptb": ptb.PTB["word"], "wav": speech_commands.DATASET}
TABLE = b"  1.8085150e-004  1.0766810e-002\n -3.1e-2  5\n  0.1  0.2\n"
COLUMN = b"5\n5\n6\n"
LINES = b" aer banknote berlitz calloway \n pierre <unk> N years old will join the board \n mr. <unk> is chairman \n"


@functools.cache
def recording() -> bytes:
    """A hundredth of a second of silence."""
    out = io.BytesIO()
    with wave.open(out, "wb") as made:
        made.setparams((1, 2, RATE, 0, "NONE", ""))
        made.writeframes(bytes(320))
    return out.getvalue()


def idx(draw: Random) -> bytes:
    """An idx file: damaged, or of any head."""
    if draw.random() < 0.5:
        sizes = [draw.choice(EDGES) & 2**32 - 1 for _ in range(draw.choice((0, 1, 2, 3, 255)))]
        head = bytes([0, 0, draw.choice((8, 8, 8, 9, 13)), len(sizes)])
        return head + struct.pack(f">{len(sizes)}I", *sizes) + draw.randbytes(draw.choice((0, 12, 300)))
    return damaged(draw, [b"\0\0\x08\x03" + struct.pack(">3I", 2, 3, 4) + bytes(range(24))])


def table(draw: Random) -> bytes:
    """A damaged table of numbers."""
    return damaged(draw, [TABLE, COLUMN], (b"nan", b"1e999", b"#", b"\r"))


def words(draw: Random) -> bytes:
    """A damaged text."""
    return damaged(draw, [LINES], (b"<eos>", b"\xc3", b"\r", b"\xe2\x80\xa8"))


def sound(draw: Random) -> bytes:
    """A damaged recording."""
    return damaged(draw, [recording()], (b"RIFF", b"fmt ", b"data"))


def read_idx(path: Path) -> None:
    """Read it; its size is what its head says."""
    with path.open("rb") as file:
        found = mnist.idx(path.name, official.Checked(file))
    if found.nbytes > path.stat().st_size:
        raise Wrong(f"{found.nbytes} bytes of a file of {path.stat().st_size}")


def read_tables(path: Path) -> None:
    """Read it as one of the tables among whole ones."""
    content = path.read_bytes()
    for place in ("train/y_train.txt", "test/Inertial Signals/body_acc_x_test.txt"):

        def one(name: str, place: str = place) -> bytes:
            return content if name == place else TABLE if "Signals" in name else COLUMN

        found = uci_har.parse(one)
        if not len(found.x_train) == len(found.y_train) == 3:
            raise Wrong("another number of rows")


def read_tokens(path: Path) -> None:
    """Read it; the tokens are its words, and one for the end of each line."""
    numbers: dict[str, int] = {}
    content = path.read_bytes()
    found = ptb.tokens(content, numbers)
    names = list(numbers)
    words = content.decode().split()
    if [names[token] for token in found if names[token] != ptb.EOS] != [word for word in words if word != ptb.EOS]:
        raise Wrong("other words")


def read_recording(path: Path) -> None:
    """Read it; there are no more samples than bytes for them."""
    if 2 * len(speech_commands.samples(path.name, path.read_bytes())) > path.stat().st_size:
        raise Wrong("more samples than the file has")


def named(kind: str, read: Callable[[Path], Any]) -> Callable[[Path], None]:
    """The reader with what is done with its errors where a data set is read."""

    def reading(path: Path) -> None:
        with official.damage_is_named(SETS[kind], path):
            read(path)

    return reading


READERS = [
    Reader("idx", ".idx", idx, named("idx", read_idx)),
    Reader("uci", ".txt", table, named("uci", read_tables)),
    Reader("ptb", ".txt", words, named("ptb", read_tokens)),
    Reader("wav", ".wav", sound, named("wav", read_recording)),
]
