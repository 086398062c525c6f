"""Write docs/licences.md: the licence of everything that dynlab may install, from the metadata of what is installed.

    python docs/licences.py

What is not installed keeps its row.
"""

import re
from collections.abc import Iterator
from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).with_name("licences.md")
HEAD = """# Licences

dynlab is under the BSD 3-Clause licence, in the file LICENSE. Below is every package that it or an extra may install,
with what its metadata say: those that dynlab asks for, and those that another package asks for. A package may hold
more, such as NumPy's OpenBLAS, and says so in its own folder of licences. `python docs/licences.py` writes this page.

| package | asked for by | licence |
|---|---|---|
"""
ROW = re.compile(r"^\| (?!package )(\S+) \| .* \| (.*) \|$", re.MULTILINE)
LONGEST = 200  # letters: some packages have the whole text there


def canonical(name: str) -> str:
    """One spelling for all that packaging takes for the same."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> list[str]:
    """Every package of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return sorted({canonical(line.partition("==")[0]) for line in lines if line and not line.startswith("#")})


def asked() -> dict[str, list[str]]:
    """The packages that dynlab itself asks for, and the extras that do; its core has no name."""
    setup = ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg")
    found: dict[str, list[str]] = {}
    for extra, lines in {"": setup["options"]["install_requires"], **setup["options.extras_require"]}.items():
        for name in re.findall(r"^\s*([\w.-]+)", lines, re.MULTILINE):
            found.setdefault(canonical(name), []).append(f"[{extra}]" if extra else "dynlab")
    return found


def licence(name: str) -> str:
    """What the metadata of an installed package says; empty where they say nothing.

    Raises
    ------
    PackageNotFoundError
        Where it is not installed.
    """
    told = metadata(name)
    classifiers = [text.rpartition(" :: ")[2] for text in told.get_all("Classifier") or [] if "License ::" in text]
    line = (told.get("License") or "").strip().partition("\n")[0]
    said = (told.get("License-Expression") or "", ", ".join(classifiers), line)
    return next((text for text in said if 0 < len(text) <= LONGEST), "")


def rows() -> Iterator[str]:
    """The lines of the table."""
    kept = dict(ROW.findall(PAGE.read_text(encoding="utf-8"))) if PAGE.exists() else {}
    direct = asked()
    for name in pinned():
        try:
            said = licence(name)
        except PackageNotFoundError:
            said = kept.get(name, "")
        yield f"| {name} | {', '.join(direct.get(name, ['another package']))} | {said} |"


if __name__ == "__main__":
    PAGE.write_text(HEAD + "\n".join(rows()) + "\n", encoding="utf-8")
