"""Settings given by name to something of a table: which it takes, of what kind each is, and what numbers may be."""

import inspect
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from dynlab.errors import UserError

# What a value of an annotation is, in words. Other annotations, such as Literal, are checked by what takes the value.
WORDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a word",
    Path: "the path of a file or folder",
    Sequence: "a list",
    Mapping: "a mapping",
    Callable: "a function",
    NoneType: "none",
}
ROWS = "rows of numbers"
LARGEST = 2**63 - 1  # of the whole numbers that torch and numpy count with
LONGEST_SHOWN = 100  # letters of a value in a sentence


def _joined(annotation: Any) -> list[Any]:
    """The annotations that a union joins, each once; from Python 3.12 on a name may stand for one, as `ArrayLike`."""
    annotation = getattr(annotation, "__value__", annotation)
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    return list(dict.fromkeys(each for part in get_args(annotation) for each in _joined(part)))


ARRAY = _joined(ArrayLike)


def bound(kind: str, name: str, make: Callable[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of `make`: those given and its defaults.

    Parameters
    ----------
    kind, name : str
        Noun and name of what `make` makes, for the sentence: ``"task"``, ``"adding"``.
    make : callable
        Its annotations say what kind of value each setting takes.
    given : mapping

    Raises
    ------
    UserError
        For a setting that it does not take, one that it lacks, and a value of another kind.
    """
    signature = inspect.signature(make, eval_str=True)
    start = f"{kind.capitalize()} {name!r}"
    takes = signature.parameters
    strange = [key for key in given if key not in takes]
    lacking = [key for key, one in takes.items() if one.default is one.empty and key not in given]
    if strange or lacking:
        problem = f"takes no setting {strange[0]!r}" if strange else f"needs the setting {lacking[0]!r}"
        raise UserError(f"{start} {problem}; it takes {', '.join(map(_shown, takes.values()))}.")
    for key, value in given.items():
        if not _fits(value, takes[key].annotation):
            got = repr(value)[:LONGEST_SHOWN]
            raise UserError(f"{start}: {key} must be {_words(takes[key].annotation)}, got {got}.")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UserError(f"{start}: {key} must be a whole number of at most {LARGEST:,} in size.")
    full = signature.bind(**given)
    full.apply_defaults()
    return dict(full.arguments)


def _shown(parameter: inspect.Parameter) -> str:
    needed = parameter.default is parameter.empty
    return parameter.name if needed else f"{parameter.name} ({parameter.default})"


def _kinds(annotation: Any) -> tuple[list[Any], bool]:
    """The annotations that a union joins, and whether any array is among them."""
    kinds = _joined(annotation)
    if not set(ARRAY) <= set(kinds):
        return kinds, False
    words = [str] if kinds[0] is str else []  # an array may be a word, too: it is meant where it is named first
    return [*words, *(kind for kind in kinds if kind not in ARRAY or kind in (int, float))], True


def _fits(value: object, annotation: Any) -> bool:
    kinds, takes_arrays = _kinds(annotation)
    return any(_is(value, kind) for kind in kinds) or (takes_arrays and _is_array(value, int(int in kinds)))


def _is_array(value: Any, dimensions: int) -> bool:
    """Return True if numpy makes an array of real numbers of it, with at least so many dimensions."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # rows of unequal length, and tensors of a GPU or with gradients
        return False
    return array.dtype.kind in "iuf" and array.ndim >= dimensions


def _is(value: object, kind: Any) -> bool:
    origin = get_origin(kind)
    if kind in (int, float):
        number = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool)
    if origin is Sequence:
        each = get_args(kind)[0]
        return (
            isinstance(value, Iterable)
            and not isinstance(value, str | Mapping)
            and all(_is(one, each) for one in value)
        )
    if origin is Mapping and isinstance(value, Mapping):
        names, each = get_args(kind)
        return all(isinstance(name, names) and isinstance(one, each) for name, one in value.items())
    if origin in WORDS or kind in WORDS:
        return isinstance(value, origin or kind)
    return True


def _rows(kind: Any) -> bool:
    """Return True for a list of lists."""
    return get_origin(kind) is Sequence and get_origin(get_args(kind)[0]) is Sequence


def _words(annotation: Any) -> str:
    kinds, takes_arrays = _kinds(annotation)
    kinds = [kind for kind in kinds if not (kind is str and Path in kinds)]
    words = [ROWS if _rows(kind) else WORDS[get_origin(kind) or kind] for kind in kinds]
    return " or ".join([*(["numbers"] if takes_arrays else []), *words])


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
