"""Text that a file's names are part of, as it can be set, whatever name a file has."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from dynlab.errors import shown


def literal(text: str) -> str:
    """Text that is set as it stands, whatever name a file has: a dollar is no mathematics, and escapes are shown."""
    return shown(text).replace("$", r"\$")


@contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Letters that the font lacks are drawn as boxes, and nobody is warned of each: a file may have any name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def make_settable(figure: Figure) -> None:
    """Labels that a file's names are part of, so that they can be set: as they stand where they are no mathematics."""
    for artist in figure.findobj():
        label = artist.get_label()
        if isinstance(label, str) and _as_can_be_set(label) != label:  # legends are made of them, and made anew
            artist.set_label(_as_can_be_set(label))
        if isinstance(artist, Text) and _as_can_be_set(artist.get_text()) != artist.get_text():
            artist.set_text(_as_can_be_set(artist.get_text()))


def _as_can_be_set(text: str) -> str:
    words = shown(text)
    if words.count("$") < 2:
        return words
    parser: Any = MathTextParser("path")
    try:
        for line in words.split("\n"):
            parser.parse(line)
    except ValueError:
        return literal(words)
    return words
