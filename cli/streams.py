"""What is printed, and where it goes: a pipe that closes, an encoding without ε, and text of a file's own making.

A program that reads what dynlab prints may stop at any time: what is printed then is nobody's, and the exit code stays.
"""

import codecs
import io
import os
import sys
import unicodedata
from typing import Any, TextIO

from dynlab.errors import shown

STANDARD_OUTPUT, STANDARD_ERROR = 1, 2  # their file descriptors
OWN_ERROR = 3  # the exit code of what went wrong in dynlab itself
FALLBACK = "dynlab-plain"  # the name of `plain_letters` for encodings
PLAIN = {
    **dict(zip("⁄−–—─·×’′⁻₋“”⟨⟩∝✗ø⊗", "/----*x''--\"\"<>~xox", strict=True)),
    **dict(zip("‖∂∇∫∏∑Σ√∞", ("||", "d", "grad", "int", "prod", "sum", "sum", "sqrt", "inf"), strict=True)),
    **dict(zip("≤≥≠≈±₊∘°⋯✓", ("<=", ">=", "!=", "~", "+-", "+", "o", " degrees", "...", "yes"), strict=True)),
    **dict(
        zip(
            "→↦←↑↗↘↓↙↖", ("->", "->", "<-", "up", "up-right", "down-right", "down", "down-left", "up-left"), strict=True
        )
    ),
}


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a line, in which a terminal finds nothing to obey: the escapes that a file's names may hold are shown."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:  # it was closed before the program began
        stream.write(f"{shown(text)}\n")
        stream.flush()


def plain_letters(error: UnicodeError) -> tuple[str, int]:
    """In place of characters that an encoding lacks: epsilon, <=, d, or an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(letter: str) -> str:
    if letter in PLAIN or letter.isascii():
        return PLAIN.get(letter, letter)
    parts = [part for part in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(part)]
    if parts != [letter]:
        return "".join(map(_plain, parts))
    name = unicodedata.name(letter, "")
    if name.startswith("GREEK"):
        like = name.split()[-1].replace("LAMDA", "LAMBDA")  # Unicode's spelling
        return like.lower() if "SMALL" in name else like.capitalize()
    return letter.encode("ascii", "backslashreplace").decode()


class _Lasting(io.FileIO):
    """Writes to a file or pipe, and to nowhere once that takes no more."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError) or self.fileno() != STANDARD_OUTPUT:
                return super().write(content)  # what is told meanwhile is no result
            error.filename = "Standard output"
            raise


def occupy() -> None:
    """Lead standard streams that were closed before the program began to nowhere, lest a file takes their numbers.

    Standard error stays open as long as the program does.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        if number == STANDARD_ERROR:
            sys.stderr = os.fdopen(number, "w", encoding="utf-8", closefd=False)
    os.close(number)


def lasting(stream: TextIO | None) -> Any:
    """Standard output or error that outlasts its reader and can print every character."""
    codecs.register_error(FALLBACK, plain_letters)
    try:
        number = stream.fileno() if stream is not None and os.name == "posix" else None
    except (OSError, ValueError):
        number = None
    if stream is None or number is None:
        return stream
    raw = io.BufferedWriter(_Lasting(number, "w", closefd=False))
    return io.TextIOWrapper(raw, stream.encoding, FALLBACK, line_buffering=stream.isatty() or stream is sys.stderr)
