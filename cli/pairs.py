"""Settings on the command line: KEY=VALUE, each value a number, true, false, none or text."""

import json
from typing import Any

from dynlab.errors import UserError


def pairs(texts: tuple[str, ...], option: str) -> dict[str, Any]:
    """What ``--set KEY=VALUE --set KEY=VALUE`` says."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UserError(f"{option} takes KEY=VALUE, got {text!r}.")
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    """A number, true, false or none where the text is one, else the text."""
    try:
        return json.loads(text.lower()) if text.lower() in ("true", "false") else json.loads(text)
    except ValueError:
        return None if text.lower() in ("none", "null") else text
