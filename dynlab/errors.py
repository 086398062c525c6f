"""What a user sees when something is wrong, and the lookup of a public name in a table."""

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from dynlab.letters import sentence

Entry = TypeVar("Entry")
LONGEST = 100  # letters of a name that a typo is compared with


class UserError(ValueError):
    """Bad usage or bad input: one sentence naming the thing, what was got, what is allowed, and the fix.

    The command line prints the sentence and exits with 2; from Python it is an ordinary ``ValueError``.
    """

    def __init__(self, told: str) -> None:
        super().__init__(sentence(told))


class Stopped(BaseException):
    """The program, or this part of it, was told to end. No handler of `Exception` on the way keeps it."""


def unknown(kind: str, got: str, allowed: Iterable[str], listed_by: str = "") -> UserError:
    """The error for a name that is not in a table, with a suggestion for a typo.

    Parameters
    ----------
    kind : str
        What was asked for, as a noun: ``"system"``, ``"task"``.
    got : str
        The name as it was given.
    allowed : iterable of str
        The names that exist.
    listed_by : str
        The command that lists them, for a table too long for a sentence.
    """
    names = list(allowed)
    same = [name for name in names if sorted(name.split("-")) == sorted(got.split("-"))]  # parts in another order
    short = {name.lower(): name for name in reversed(names) if len(name) <= LONGEST}
    close = same or [short[one] for one in difflib.get_close_matches(got[:LONGEST].lower(), short, n=1)]
    choice = f"{listed_by} lists the {len(names)} there are" if listed_by else f"choose from {', '.join(names)}"
    if close:
        choice = f"did you mean {close[0]!r}? {choice.replace('choose', 'Choose', 1)}"
    return UserError(f"Unknown {kind} {got[:LONGEST]!r}{'…' * (len(got) > LONGEST)}: {choice}.")


def entry(table: Mapping[str, Entry], name: str, kind: str, listed_by: str = "") -> Entry:
    """What stands under `name` in a table; `kind` and `listed_by` as of `unknown`.

    Raises
    ------
    UserError
        If the table has no such name.
    """
    if name not in table:
        raise unknown(kind, name, table, listed_by)
    return table[name]


def lookup(table: Mapping[str, str], name: str, kind: str) -> Any:
    """The object that `table` names ``"module:attribute"`` under `name`.

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
        raise UserError(f"This needs {module}, which is not installed: pip install 'dynlab-rnn[{extra}]'") from error
