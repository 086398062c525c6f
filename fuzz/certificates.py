"""Certificates of fixed points, JSON."""

import functools
import tempfile
from pathlib import Path
from random import Random

import torch
from mutation import damaged, in_json
from reader import Reader, Wrong

from dynlab.certificate_check import Malformed, Rejected, check, load
from dynlab.errors import UserError


@functools.cache
def certificates() -> list[bytes]:
    """Certificates of two small networks."""
    import dynlab as dl

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in (("vanilla", {"input_size": 1, "state_size": 2}), ("henon", {})):
            dl.fixed_points(dl.create(name, **sizes).double(), starts=8, certificates=Path(folder) / name)
        return [each.read_bytes() for each in sorted(Path(folder).rglob("*.json"))]


def make(draw: Random) -> bytes:
    """An input: a certificate with some values changed, or its text."""
    return in_json(draw, certificates()) if draw.random() < 0.7 else damaged(draw, certificates(), (b"p-", b'"'))


def read(path: Path) -> None:
    """Check it; what is accepted says what is shown."""
    try:
        said = check(load(str(path)))
    except (Malformed, Rejected) as error:
        raise UserError(str(error)) from error
    if not said.startswith("Correct: "):
        raise Wrong(said)


READERS = [Reader("certificate", ".json", make, read)]
