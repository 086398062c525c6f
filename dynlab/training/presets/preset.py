"""A training by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynlab.training.settings import Settings


@dataclass(frozen=True)
class Preset:
    """A training that `dynlab train --preset NAME` runs; options given beside it change it.

    Attributes
    ----------
    system, task : str
    config, task_settings : mapping
        Of the system and the task.
    settings : Settings
    source : str
        The row of a table that it is of; empty where it is dynlab's own.
    reported : str
        What the source reports for it, in its own measure.
    chosen : str
        What the source does not publish, and what stands there instead.
    """

    system: str
    task: str
    settings: Settings
    config: Mapping[str, Any] = field(default_factory=dict)
    task_settings: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    reported: str = ""
    chosen: str = ""
