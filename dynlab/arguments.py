"""Settings given by name to something of a table: which it takes, of what kind each is, and what numbers may be."""

import inspect
import numbers
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, get_args

from dynlab.errors import UserError

# What a value of an annotation is, in words. Other annotations, such as Literal, are checked by what takes the value.
WORDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a word",
    NoneType: "none",
}


def bound(kind: str, name: str, make: Callable[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of `make`: those given and its defaults.

    Parameters
    ----------
    kind, name : str
        What `make` is, for the sentence: ``"task"``, ``"adding"``.
    make : callable
        Its annotations say what kind of value each setting takes.
    given : mapping

    Raises
    ------
    UserError
        For a setting that it does not take, one that it lacks, and a value of another kind.
    """
    signature = inspect.signature(make)
    start = f"{kind.capitalize()} {name!r}"
    takes = signature.parameters
    strange = [key for key in given if key not in takes]
    lacking = [key for key, one in takes.items() if one.default is one.empty and key not in given]
    if strange or lacking:
        problem = f"takes no setting {strange[0]!r}" if strange else f"needs the setting {lacking[0]!r}"
        raise UserError(f"{start} {problem}; it takes {', '.join(map(_shown, takes.values()))}.")
    for key, value in given.items():
        if not _fits(value, takes[key].annotation):
            raise UserError(f"{start}: {key} must be {_words(takes[key].annotation)}, got {value!r}.")
    full = signature.bind(**given)
    full.apply_defaults()
    return dict(full.arguments)


def _shown(parameter: inspect.Parameter) -> str:
    needed = parameter.default is parameter.empty
    return parameter.name if needed else f"{parameter.name} ({parameter.default})"


def _fits(value: object, annotation: Any) -> bool:
    if isinstance(annotation, UnionType):
        return any(_fits(value, one) for one in get_args(annotation))
    if annotation in (int, float):
        number = numbers.Integral if annotation is int else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool)
    return annotation not in WORDS or isinstance(value, annotation)


def _words(annotation: Any) -> str:
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    return " or ".join(WORDS[kind] for kind in kinds)


def check_at_least(least: int, **counts: int) -> None:
    """Raise where one of the numbers is below `least`."""
    for name, count in counts.items():
        if count < least:
            raise UserError(f"{name} must be at least {least}, got {count}.")


def check_positive(**values: float | None) -> None:
    """Raise where one of the numbers that are given is not positive and finite."""
    for name, value in values.items():
        if value is not None and not 0 < value < float("inf"):
            raise UserError(f"{name} must be a positive number, got {value}.")
