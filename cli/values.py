"""What options hold: numbers, settings as KEY=VALUE, the input that is held."""

import json
from collections.abc import Sequence
from typing import Any

from dynlab.errors import UserError


def numbers(option: str, text: str) -> list[float]:
    """The numbers of an option, or the error that says how they are written."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"{option} takes numbers such as 0.1,0.2; got {text!r}.") from error


def held_input(text: str) -> str | list[float]:
    """What --at says of the input that is held: zero, mean, or its values."""
    if text in ("zero", "mean"):
        return text
    try:
        return numbers("--at", text)
    except UserError as error:
        raise UserError(f"--at takes zero, mean, or numbers such as 0.1,0.2; got {text!r}.") from error


def pairs(texts: Sequence[str], option: str) -> dict[str, Any]:
    """What ``--set KEY=VALUE --set KEY=VALUE`` says: each value a number, true, false, none or text."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UserError(f"{option} takes KEY=VALUE, got {text!r}.")
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text.lower()) if text.lower() in ("true", "false") else json.loads(text)
    except RecursionError as error:
        raise UserError(f"A value nests more than Python reads: {text[:20]} …") from error
    except ValueError:
        return None if text.lower() in ("none", "null") else text
