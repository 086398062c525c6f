"""Errors as a user sees them, and the lookup of a public name in a table."""

import difflib
import importlib
import pkgutil
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

Entry = TypeVar("Entry")
LONGEST = 100  # letters of a name that a typo is compared with
LONGEST_MESSAGE = 2000  # letters
# Unicode's categories of control and format characters, halves of pairs, separators of lines and paragraphs
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
OWN = "an error of dynlab's own, "
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "calculation overflowed")
# Errors that speak of a reader's objects, what else does, and the longest sentence of a library that is passed on
OF_CODE = (LookupError, AttributeError, TypeError, NameError, AssertionError, ArithmeticError, RecursionError)
CODE = (" object at 0x", "<", "torch.", "dynlab.", "b'", 'b"', "()", "got (", "invalid literal", "Errno", "__", "%ld")
LONGEST_REASON = 200


def shown(text: str, kept: str = "\n\t") -> str:
    """Escape control characters in text read from files, except those of `kept`."""
    return "".join(
        letter.encode("unicode_escape").decode()
        if unicodedata.category(letter) in UNSEEN and letter not in kept
        else letter
        for letter in text
    )


def one_line(value: Any) -> str:
    """Return a value from a file as text for one line or one cell of a table."""
    return shown(str(value), kept="")


class UserError(ValueError):
    """Bad usage or bad input: one sentence naming the thing, what was got, what is allowed, and the fix.

    The command line prints the sentence and exits with 2; from Python it is an ordinary ``ValueError``.
    """

    def __init__(self, told: str) -> None:
        line, half = one_line(told), LONGEST_MESSAGE // 2
        super().__init__(line if len(line) <= LONGEST_MESSAGE else f"{line[:half]} … {line[-half:]}")


def refuse(cases: Mapping[str, object]) -> None:
    """Raise the error of the first sentence whose condition holds."""
    for sentence, holds in cases.items():
        if holds:
            raise UserError(sentence)


def unknown(kind: str, got: str, allowed: Iterable[str], listed_by: str = "") -> UserError:
    """Return the error for a name that is not in a table, with a suggestion for a typo.

    Parameters
    ----------
    kind : str
        Noun of what was asked for: ``"system"``, ``"task"``.
    got : str
        The name as it was given.
    allowed : iterable of str
        The names that exist.
    listed_by : str
        The command that lists them, for a table too long for a sentence.
    """
    names = list(allowed)
    short = {name.lower(): name for name in reversed(names) if len(name) <= LONGEST}
    close = [short[one] for one in difflib.get_close_matches(got[:LONGEST].lower(), short, n=1)]
    choice = f"{listed_by} lists the {len(names)} there are" if listed_by else f"choose from {', '.join(names)}"
    if close:
        choice = f"did you mean {close[0]!r}? {choice.replace('choose', 'Choose', 1)}"
    return UserError(f"Unknown {kind} {got[:LONGEST]!r}{'…' * (len(got) > LONGEST)}: {choice}.")


def entry(table: Mapping[str, Entry], name: str, kind: str, listed_by: str = "") -> Entry:
    """Return the entry `name` of a table; `kind` and `listed_by` as in `unknown`.

    Raises
    ------
    UserError
        If the table has no such name.
    """
    if name not in table:
        raise unknown(kind, name, table, listed_by)
    return table[name]


def lookup(table: Mapping[str, str], name: str, kind: str) -> Any:
    """Import and return the object that a table's entry ``"module:attribute"`` names.

    Raises
    ------
    UserError
        If the table has no such name.
    """
    return pkgutil.resolve_name(entry(table, name, kind))


def require_extra(module: str, extra: str) -> Any:
    """Import an optional dependency, or say in one sentence how to install it.

    Raises
    ------
    UserError
        If `module` is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise UserError(
            f'This needs {module}, which is not installed: pip install ".[{extra}]" in the project\'s folder.'
        ) from error


def damage(error: BaseException) -> str:
    """Return what is wrong with a file, by a library's error: its own words if they are a sentence.

    What Python says of its own objects tells a reader nothing of the file.
    """
    said = (str(error).strip().splitlines() or [""])[0].strip().rstrip(".:;")
    if not said or len(said) > LONGEST_REASON or isinstance(error, OF_CODE) or any(each in said for each in CODE):
        return "it is cut short or damaged; copy it again"
    return f"{said}; copy it again"


@contextmanager
def told_of_damage(reading: str, fix: str = "") -> Iterator[None]:
    """Turn the error of a reader into a sentence: a damaged file drives a library into any.

    Parameters
    ----------
    reading : str
        The sentence up to what is wrong: "a.nc cannot be read as a NetCDF file".
    fix : str
        Another remedy, behind a comma.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{reading}: {damage(error)}{fix}.") from error


def out_of_memory(error: BaseException) -> bool:
    """Tell whether an error says that there is no memory left."""
    return isinstance(error, MemoryError) or any(words in str(error)[:10_000] for words in OUT_OF_MEMORY)


def in_words(error: Exception) -> str:
    """Return what is said of an error that ends a command; it begins with `OWN` if dynlab is at fault."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):  # of a disk, a folder or a pipe
        named = f"{error.filename} " if error.filename else ""
        return f"{named}could not be read or written: {error.strerror or error}."
    if out_of_memory(error):
        return "This needs more memory than there is: ask for fewer steps, samples or points."
    return f"{OWN}{type(error).__name__}: {error}"
