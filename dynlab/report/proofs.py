"""The certificates of a network as a page holds them: compressed, with the step that they are about written once."""

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path


def packed(files: Sequence[Path], most: int) -> tuple[str, list[str]]:
    """Return as many of the certificates as a page has room for.

    Parameters
    ----------
    files : sequence of Path
        Certificates of one network.
    most : int
        Characters.

    Returns
    -------
    tuple of (str, list of str)
        JSON, compressed and in base64: ``program``, and ``certificates``, which lack it; and the names of the files
        that are in it.
    """
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    program = [document.pop("program") for document in documents][:1]
    count = len(files)
    while count:
        whole = json.dumps({"program": program[0], "certificates": documents[:count]})
        text = base64.b64encode(gzip.compress(whole.encode(), mtime=0)).decode("ascii")
        if len(text) <= most:
            return text, [file.name for file in files[:count]]
        count = min(count - 1, int(count * most / len(text)))
    return "", []
