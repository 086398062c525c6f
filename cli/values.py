"""What options hold: numbers, settings as KEY=VALUE, the input to hold."""

import json
from collections.abc import Sequence
from typing import Any

from dynlab.errors import UserError


def numbers(option: str, text: str) -> list[float]:
    """Parse numbers such as 0.1,0.2."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"{option} takes numbers such as 0.1,0.2; got {text!r}.") from error


def held_input(text: str) -> str | list[float]:
    """Parse --at: zero, rest, mean, or values."""
    return text if text in ("zero", "rest", "mean") else numbers("--at zero, rest, mean or VALUES", text)


def pairs(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Parse KEY=VALUE …: each value a number, a list, true, false, none or text."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UserError(f"{option} takes KEY=VALUE, got {text!r}.")
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    words = {"none": None, "null": None, "true": True, "false": False}
    try:
        return words[text.lower()] if text.lower() in words else json.loads(text)
    except ValueError:
        return text
