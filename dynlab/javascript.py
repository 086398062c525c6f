"""Plain JavaScript modules of a folder as one text, for a page that needs no other file and no server."""

import re
from pathlib import Path

IMPORT = re.compile(r'^import \{(?P<names>[^}]*)\} from "\./(?P<module>[\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def inlined(folder: Path, main: str) -> str:
    """Return the modules that `main` needs and `main` itself, one after the other, each after those that it imports.

    A module becomes a function that is called at once and returns what the module exports, so that its other names are
    its own, as they are in a file.
    """
    return "\n" + "\n".join(_enclosed(folder, name) for name in in_order(folder, main))


def in_order(folder: Path, main: str) -> list[str]:
    """Return the names of `main` and all modules that it needs, each after those that it imports."""
    imported = IMPORT.findall((folder / main).read_text(encoding="utf-8"))
    needed = [name for _, other in imported for name in in_order(folder, other)]
    return [*dict.fromkeys(needed), main]


def _enclosed(folder: Path, name: str) -> str:
    """A module as a constant that holds what it exports."""
    text = (folder / name).read_text(encoding="utf-8")
    exported = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub(lambda found: found.group().removeprefix("export "), text)
    body = IMPORT.sub(lambda found: f"const {{{found['names']}}} = {_constant(found['module'])};\n", body)
    return f"const {_constant(name)} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"


def _constant(name: str) -> str:
    return f"module_{Path(name).stem}"
