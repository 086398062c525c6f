"""The run of a folder, as its ``run.json`` says it, where every value is of the type that it has to be."""

import dataclasses
import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dynlab.errors import UserError
from dynlab.files import check_readable
from dynlab.training.run import RUN_FILE, Run, Writes
from dynlab.training.settings import Settings

# What the values of a run's file may be.
IN_WORDS = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    tuple: "list of texts",
    Mapping: "table",
    Settings: "table",
}


def stored_run(folder: Path) -> tuple[Run, Writes, int]:
    """The run of a folder, what it writes, and how many processes share each batch."""
    path = folder / RUN_FILE
    if not path.is_file():
        raise UserError(f"{folder} holds no training run (no {RUN_FILE}); name the folder that --output named.")
    try:
        check_readable(path)
        stored = json.loads(path.read_text(encoding="utf-8"))
        settings = {"augment": (), **_table("settings", stored)}
        if isinstance(settings["augment"], list):
            settings["augment"] = tuple(settings["augment"])
        devices = stored.pop("devices", 1)
        if not _is(devices, int):
            raise ValueError(f"devices is {reprlib.repr(devices)}, which is no {IN_WORDS[int]}")
        writes = Writes(**_fields(Writes, _table("writes", stored)))
        parts = {key: value for key, value in stored.items() if key not in ("settings", "writes")}
        made = Settings(**_fields(Settings, settings))
        return Run(settings=made, **_fields(Run, parts, but="settings")), writes, devices
    except (UnicodeDecodeError, RecursionError):
        raise UserError(f"{path} is damaged (it is no JSON); start the run anew with --overwrite.") from None
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} is damaged ({error}); start the run anew with --overwrite.") from error


def _table(name: str, stored: object) -> dict[str, Any]:
    """A part of a run's file, which has a name for every value."""
    part = stored.get(name) if isinstance(stored, dict) else None
    if not isinstance(part, dict):
        raise ValueError(f"it has no table of {name}")
    return part


def _fields(kind: type, values: dict[str, Any], but: str = "") -> dict[str, Any]:
    """The values of a dataclass's fields, `but` one, where none is missing, of another name, or of another type."""
    hints = get_type_hints(kind)
    for name, value in values.items():
        if name not in hints or name == but:
            raise ValueError(f"{reprlib.repr(name)} is no part of it")
        hint = hints[name]
        if not any(_is(value, each) for each in (get_args(hint) if isinstance(hint, UnionType) else (hint,))):
            first: Any = next(iter(get_args(hint)), hint) if isinstance(hint, UnionType) else get_origin(hint) or hint
            raise ValueError(f"{name} is {reprlib.repr(value)}, which is no {IN_WORDS[first]}")
    for field in dataclasses.fields(kind):
        bare = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if bare and field.name not in values and field.name != but:
            raise ValueError(f"{field.name} is missing")
    return values


def _is(value: object, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind is tuple:
        return isinstance(value, tuple) and all(isinstance(each, get_args(hint)[0]) for each in value)
    if kind in (int, float):  # a truth value is an int to Python
        return type(value) is int or type(value) is kind
    return isinstance(value, kind)
