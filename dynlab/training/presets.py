"""Trainings by name, from ``presets.toml``: the rows of the sources' tables, and the zoo's own."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dynlab.training.settings import Settings


@dataclass(frozen=True)
class Preset:
    """A training that `dynlab train --preset NAME` runs; options given beside it change it.

    Attributes
    ----------
    system, task : str
    settings : Settings
    config, task_settings : mapping
        Settings of the system and the task.
    source : str
        The row of a table that it is of; empty where it is dynlab's own.
    reported : str
        The source's report for it, in its own measure.
    chosen : str
        Settings that the source does not publish, with what stands there instead.
    """

    system: str
    task: str
    settings: Settings
    config: Mapping[str, Any] = field(default_factory=dict)
    task_settings: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    reported: str = ""
    chosen: str = ""


with Path(__file__).with_name("presets.toml").open("rb") as table:
    PRESETS = {
        name: Preset(**row | {"settings": Settings(**row["settings"])}) for name, row in tomllib.load(table).items()
    }


def listed() -> list[dict[str, str]]:
    """Return what each preset trains, the row of a table that it is of, and the source's report."""
    return [
        {
            "name": name,
            "system": one.system,
            "task": one.task,
            "row of": one.source or "the zoo",
            "reported": one.reported,
        }
        for name, one in PRESETS.items()
    ]
