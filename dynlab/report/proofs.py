"""The certificates of a network as a page holds them: compressed, with the step that they are about written once."""

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path

MOST_UNITS = 128  # above, a certificate is longer than the page may be


def packed(files: Sequence[Path], most: int) -> tuple[str, list[str]]:
    """As many of the certificates as a page has room for.

    Parameters
    ----------
    files : sequence of Path
        Certificates of one network, of at most `MOST_UNITS` units.
    most : int
        Characters.

    Returns
    -------
    tuple of (str, list of str)
        JSON, compressed and in base64: ``program``, and ``certificates``, which lack it; and the names of the files
        that are in it.
    """
    parts: list[str] = []
    names: list[str] = []
    program, length = "", 0
    for file in files:
        document = json.loads(file.read_text(encoding="utf-8"))
        step = json.dumps(document.pop("program"))
        part = json.dumps(document)
        length += _length(part) + (0 if program else _length(step))
        if length > most:
            break
        program = step
        parts.append(part)
        names.append(file.name)
    if not parts:
        return "", []
    whole = f'{{"program": {program}, "certificates": [{", ".join(parts)}]}}'
    return base64.b64encode(gzip.compress(whole.encode(), mtime=0)).decode("ascii"), names


def _length(text: str) -> int:
    """About how many characters it takes in the page."""
    return len(gzip.compress(text.encode())) * 4 // 3
