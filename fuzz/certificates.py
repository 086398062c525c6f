"""Certificates of fixed points, JSON."""

import functools
import hashlib
import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import torch
from mutation import changed, damaged, hostile_value
from reader import Reader, Wrong

from dynlab.certificate_check import Malformed, Rejected, check, load
from dynlab.errors import UserError

PARTS = ("program", "program", "ball", "tight_ball", "vectors", "eigenvalues", "the whole")


@functools.cache
def certificates() -> list[bytes]:
    """Certificates of two small networks."""
    import dynlab as dl

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in (("vanilla", {"input_size": 1, "state_size": 2}), ("henon", {})):
            dl.fixed_points(dl.create(name, **sizes).double(), starts=8, certificates=Path(folder) / name)
        return [each.read_bytes() for each in sorted(Path(folder).rglob("*.json"))]


def value(draw: Random, old: Any) -> Any:
    """In the place of a number one that is written as numbers are; else what should not stand there."""
    if draw.random() < 0.5 and isinstance(old, str) and "p" in old:
        size, _, exponent = old.partition("p")
        sizes = (size, f"-{size.lstrip('-')}", f"{size}1", "0", "1", "-3", str(2**200))
        return f"{draw.choice(sizes)}p{draw.choice((exponent, '0', '-1', '-500', '5', '500'))}"
    return hostile_value(draw, old)


def make(draw: Random) -> bytes:
    """An input: a certificate with some values changed, most often with the digest of what it has now, or its text."""
    if draw.random() < 0.3:
        return damaged(draw, certificates(), (b"p-", b'"'))
    tree = json.loads(draw.choice(certificates()))
    for _ in range(draw.choice((1, 1, 2, 3))):
        part = draw.choice(PARTS)
        if part in tree:
            tree[part] = changed(draw, tree[part], value)
        elif isinstance(whole := changed(draw, tree, value), dict):
            tree = whole
    if draw.random() < 0.8:
        tree["digest"] = hashlib.sha256(json.dumps(tree.get("program")).encode()).hexdigest()
    return json.dumps(tree).encode()


def read(path: Path) -> None:
    """Check it; what is accepted says what is shown."""
    try:
        said = check(load(str(path)))
    except (Malformed, Rejected) as error:
        raise UserError(str(error)) from error
    if not said.startswith("Correct: "):
        raise Wrong(said)


READERS = [Reader("certificate", ".json", make, read)]
