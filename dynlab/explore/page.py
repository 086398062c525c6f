"""The explorer as one file: style and modules are put into the page, which then needs no other file and no server.

``python -m dynlab.explore`` writes ``explorer.html`` anew beside this file, as it ships.
"""

import json
from pathlib import Path
from typing import Any

from dynlab.javascript import inlined

FOLDER = Path(__file__).parent / "modules"
BUILT = Path(__file__).parent / "explorer.html"
MAIN = "explorer.mjs"
WORKER = "worker.mjs"  # runs beside the page, from a Blob of its text
OPENING = '<script type="application/json" id="opening">{}</script>'


def explorer_page(fragment: str = "", network: dict[str, Any] | None = None) -> str:
    """The page's HTML, as it opens.

    Parameters
    ----------
    fragment : str
        The state that it opens with, as one of its own links writes it after ``#``; its first preset where empty.
    network : dict, optional
        What `dynlab.explore.network.embedded` gives of a trained network.

    Examples
    --------
    >>> explorer_page("W=0,-2,2,0&gamma=0.3").count("gamma=0.3")
    1
    """
    opening: dict[str, Any] = {"fragment": fragment} if fragment else {}
    if network is not None:
        opening["network"] = network
    text = json.dumps(opening, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return BUILT.read_text(encoding="utf-8").replace(OPENING, OPENING.replace("{}", text))


def build() -> str:
    """The page made of its parts: the style, and the modules."""
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    style = (FOLDER / "style.css").read_text(encoding="utf-8")
    page = page.replace("/* style */", f"\n{style}")
    for place, main in (("/* worker */", WORKER), ("/* modules */", MAIN)):
        page = page.replace(place, inlined(FOLDER, main))
    return page
