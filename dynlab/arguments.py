"""Settings given by name to something of a table: which it takes, of what kind each is, and what numbers may be."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from dynlab.errors import UserError, lookup

# Values of an annotation in words, and their types. Other annotations are checked by what takes the value.
WORDS: dict[object, tuple[str, Any]] = {
    int: ("a whole number", Integral),
    float: ("a number", Real),
    bool: ("true or false", bool),
    str: ("a word", str),
    Path: ("the path of a file or folder", Path),
    Sequence: ("a list", Iterable),
    Mapping: ("a mapping", Mapping),
    Callable: ("a function", Callable),
    NoneType: ("none", NoneType),
}
NOT_OF: dict[object, Any] = {int: bool, float: bool, Sequence: str | Mapping}  # what looks like one, and is none
LONGEST_SHOWN = 100  # letters of a value in a sentence


def _kinds(annotation: Any) -> list[Any]:
    """Return the annotations that a union joins, each once; from Python 3.12 on a name may stand for one."""
    annotation = getattr(annotation, "__value__", annotation)
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    return list(dict.fromkeys(each for part in get_args(annotation) for each in _kinds(part)))


ARRAY = set(_kinds(ArrayLike))


def takes(table: Mapping[str, str], name: str, kind: str) -> Mapping[str, inspect.Parameter]:
    """Return the settings that the entry `name` of a table takes, by their names."""
    return inspect.signature(lookup(table, name, kind)).parameters


def about(name: str, make: Callable[..., object]) -> dict[str, Any]:
    """Return an entry's name, the first line of its documentation, and its settings with their defaults.

    A setting without a default, which is required, has None.
    """
    settings = inspect.signature(make).parameters.items()
    return {
        "name": name,
        "what": (inspect.getdoc(make) or "").partition("\n")[0],
        "settings": {key: None if one.default is one.empty else one.default for key, one in settings},
    }


def bound(kind: str, name: str, make: Callable[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of `make`: those given and its defaults.

    Parameters
    ----------
    kind, name : str
        The table and the name of `make` in it, for the sentence: ``"task"``, ``"adding"``.
    make : callable
        Its annotations say what kind of value each setting takes.
    given : mapping

    Raises
    ------
    UserError
        For a setting that it does not take, one that it lacks, and a value of another kind.
    """
    signature = inspect.signature(make, eval_str=True)
    takes = signature.parameters
    try:
        full = signature.bind(**given)
    except TypeError as error:
        shown = (key if one.default is one.empty else f"{key} ({one.default})" for key, one in takes.items())
        raise UserError(f"{kind.capitalize()} {name!r}: {error}; it takes {', '.join(shown)}.") from error
    for key, value in given.items():
        kinds = _kinds(takes[key].annotation)
        is_array = set(kinds) >= ARRAY
        # an array may be made of words, but a word is one where it is named first
        others = [each for each in kinds if not is_array or each not in ARRAY or each is kinds[0] is str]
        if not (is_array and _is_array(value)) and not any(_is(value, each) for each in others):
            said = [each for each in others if each is not str or Path not in kinds]
            words = ["numbers"] * is_array + [WORDS[get_origin(each) or each][0] for each in said]
            raise UserError(
                f"{kind.capitalize()} {name!r}: {key} must be {' or '.join(words)}, got {repr(value)[:LONGEST_SHOWN]}."
            )
    full.apply_defaults()
    return dict(full.arguments)


def _is_array(value: Any) -> bool:
    """Tell whether numpy makes real numbers of it."""
    try:
        return np.asarray(value).dtype.kind in "iuf"
    except (TypeError, ValueError, RuntimeError):  # rows of unequal length, and tensors of a GPU or with gradients
        return False


def _is(value: object, kind: Any) -> bool:
    origin = get_origin(kind) or kind
    if origin not in WORDS:
        return True
    fits = isinstance(value, WORDS[origin][1]) and not isinstance(value, NOT_OF.get(origin, ()))
    if isinstance(value, Mapping) and fits and get_args(kind):
        return all(isinstance(each, get_args(kind)[1]) for each in value.values())
    return fits


def check_at_least(least: int, **counts: int | None) -> None:
    """Raise where one of the numbers that are given is below `least`."""
    for name, count in counts.items():
        if count is not None and count < least:
            raise UserError(f"{name} must be at least {least}, got {count}.")


def check_positive(**values: float | None) -> None:
    """Raise where one of the numbers that are given is not positive and finite."""
    for name, value in values.items():
        if value is not None and not 0 < value < float("inf"):
            raise UserError(f"{name} must be a positive number, got {value}.")
