"""The explorer as one file: style and modules are put into the page, which then needs no other file and no server.

``python -m dynlab.explore`` writes ``explorer.html`` anew beside this file, as it ships.
"""

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "modules"
BUILT = Path(__file__).parent / "explorer.html"
MAIN = "explorer.mjs"
WORKER = "worker.mjs"  # runs beside the page, from a Blob of its text
IMPORT = re.compile(r'^import \{(?P<names>[^}]*)\} from "\./(?P<module>[\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
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
    """The page made of its parts: the style, and the modules one after the other, each after those it imports.

    A module becomes a function that is called at once and returns what the module exports, so that its other names are
    its own, as they are in a file.
    """
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    style = (FOLDER / "style.css").read_text(encoding="utf-8")
    page = page.replace("/* style */", f"\n{style}")
    for place, main in (("/* worker */", WORKER), ("/* modules */", MAIN)):
        page = page.replace(place, "\n" + "\n".join(_enclosed(name) for name in in_order(main)))
    return page


def in_order(main: str) -> list[str]:
    """The names of `main` and all modules that it needs, each after those that it imports."""
    found: list[str] = []

    def take(name: str) -> None:
        for _, other in IMPORT.findall((FOLDER / name).read_text(encoding="utf-8")):
            if other not in found:
                take(other)
        found.append(name)

    take(main)
    return found


def _enclosed(name: str) -> str:
    """A module as a constant that holds what it exports."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    exported = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub(lambda found: found.group().removeprefix("export "), text)
    body = IMPORT.sub(lambda found: f"const {{{found['names']}}} = {_constant(found['module'])};\n", body)
    return f"const {_constant(name)} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"


def _constant(name: str) -> str:
    return f"module_{Path(name).stem}"
