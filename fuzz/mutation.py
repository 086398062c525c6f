"""How a valid file is damaged, by a generator of random numbers that its seed determines."""

import io
import json
import struct
import zipfile
from collections.abc import Sequence
from random import Random
from typing import Any

LARGEST = 200_000  # bytes of a damaged file, unless its seed is larger
# Numbers at which sizes, signs and counts go wrong.
EDGES = (0, 1, -1, 2, 7, 8, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64)
TEXTS = ("", "0", "-1", "NaN", "1e999", "x" * 300, "\0", "\x1b[31m", "é", "../../up", "none", "true", "[", "9" * 5000)
PIECES = (b"\0", b"\xff", b"\x80", b"\n", b",", b";", b"=", b"-", b".", b"e", b"9", b"(", b"[", b"{", b'"', b"\x1b[2J")


def damaged(draw: Random, seeds: Sequence[bytes], pieces: Sequence[bytes] = ()) -> bytes:
    """One of the seeds with one to eight things done to its bytes."""
    content = bytearray(draw.choice(seeds))
    most = max(LARGEST, len(content))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        start = draw.randrange(len(content) + 1)
        end = min(len(content), start + draw.choice((0, 1, 1, 2, 4, 8, 64, 1000)))
        part = bytes(content[start:end])
        content[start:end] = draw.choice(
            (
                draw.randbytes(len(part)),
                bytes(value ^ 1 << draw.randrange(8) for value in part),
                part * draw.choice((0, 2, 2, 50)),
                draw.choice((*PIECES, *pieces)) * draw.choice((1, 1, 1, 3, 500)),
                _number(draw),
                bytes(other(draw, seeds, len(part))),
            )
        )
        del content[most:]
    return bytes(content[: draw.randrange(len(content) + 1)] if draw.random() < 0.1 else content)


def other(draw: Random, seeds: Sequence[bytes], length: int) -> bytes:
    """As many bytes of any of the seeds."""
    source = draw.choice(seeds)
    start = draw.randrange(len(source) + 1)
    return source[start : start + length]


def _number(draw: Random) -> bytes:
    value = draw.choice(EDGES) & 2**64 - 1
    form = draw.choice(("<Q", ">Q", "<I", ">I", "<H", "B"))
    return struct.pack(form, value & 2 ** (8 * struct.calcsize(form)) - 1)


def in_archive(draw: Random, seeds: Sequence[bytes], pieces: Sequence[bytes] = ()) -> bytes:
    """A zip archive whose members are damaged, left out, doubled or renamed, and its checksums right."""
    out = io.BytesIO()
    packing = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(io.BytesIO(draw.choice(seeds))) as old, zipfile.ZipFile(out, "w", packing) as new:
        names = old.namelist()
        chosen = draw.sample(names, min(len(names), draw.choice((1, 1, 2))))
        for name in names:
            content = old.read(name)
            if name not in chosen:
                new.writestr(_at(name), content)
                continue
            how = draw.randrange(10)
            if how == 0:
                continue
            if name.endswith("json") and how < 6:
                content = in_json(draw, [content])
            else:
                content = damaged(draw, [content], pieces)
            other_name = draw.choice((f"{name}/x", f"../{name}", draw.choice(names)))
            new.writestr(_at(other_name if how == 1 else name), content)
    return out.getvalue()


def _at(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))  # the same bytes whatever the clock says


def packed(members: dict[str, bytes]) -> bytes:
    """A zip archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(_at(name), content)
    return out.getvalue()


def in_json(draw: Random, seeds: Sequence[bytes]) -> bytes:
    """A JSON document with one to three of its values changed, or its text where that is none."""
    try:
        tree = json.loads(draw.choice(seeds))
    except ValueError:
        return damaged(draw, seeds)
    for _ in range(draw.choice((1, 1, 2, 3))):
        tree = changed(draw, tree, hostile_value)
    return json.dumps(tree).encode()


def hostile_value(draw: Random, old: Any) -> Any:
    """What may stand in the place of a value and should not."""
    number = old if isinstance(old, int | float) else 1
    deep: Any = []
    for _ in range(draw.choice((1, 50, 400))):
        deep = [deep] if draw.random() < 0.9 else {"a": deep}
    near = [number + 1, number - 1, -number, number * 2, number * 10**6, float(number), str(old)[:1000]]
    odd = [None, True, False, draw.choice(EDGES), draw.choice(TEXTS), 0.5, 1e308, -0.0, float("nan"), float("inf")]
    return draw.choice([*near, *odd, deep, [], {}, [old], {"a": old}, [0] * 2000, [[1, 2], [3]]])


def changed(draw: Random, tree: Any, replace: Any) -> Any:
    """A copy of nested lists and dictionaries in which one thing is replaced, left out, doubled or renamed."""
    if isinstance(tree, dict) and tree and draw.random() < 0.9:
        key = draw.choice(list(tree))
        how = draw.randrange(12)
        if how == 0:
            return {name: value for name, value in tree.items() if name != key}
        if how == 1:
            return {draw.choice(TEXTS) if name == key else name: value for name, value in tree.items()}
        if how == 2:
            return tree | {draw.choice(TEXTS): tree[key]}
        return tree | {key: changed(draw, tree[key], replace)}
    if isinstance(tree, list) and tree and draw.random() < 0.85:
        index, how = draw.randrange(len(tree)), draw.randrange(12)
        inner = [] if how == 0 else [tree[index]] * 2 if how == 1 else [changed(draw, tree[index], replace)]
        return [*tree[:index], *inner, *tree[index + 1 :]]
    return replace(draw, tree)
