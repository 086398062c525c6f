"""Text of a file's own making, as it can be shown: a name may hold what a terminal or a picture would obey."""

import unicodedata
from typing import Any

LONGEST = 2000  # letters of a message
# Of Unicode's categories: control and format characters, halves of pairs, separators of lines and paragraphs.
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def shown(text: str, kept: str = "\n\t") -> str:
    """Text with every character that is not seen written as an escape, but for those of `kept`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(letter) if letter not in kept else letter for letter in text)


def one_line(value: Any) -> str:
    """A value of a file's in a line of its own or a cell of a table."""
    return shown(str(value), kept="")


def sentence(text: str) -> str:
    """A message in one line, of a length that can be read: what it names may stand in a file."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode() if unicodedata.category(letter) in UNSEEN else letter
