"""A checkpoint as the options chose it, with what drives it and where to compute."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynlab.errors import UserError

from .output import working

if TYPE_CHECKING:
    from dynlab.checkpoints import Checkpoint
    from dynlab.systems import Map
    from dynlab.tasks import Driving


@dataclass(frozen=True)
class Network:
    """A checkpoint as the options chose it, and where to compute.

    `driving` reads the inputs when it is first asked for, so that a command that needs none reads none; it is that of
    `driven_as` where that is given, so that all checkpoints of a run have the same. `found` is None where a command
    that can do without a checkpoint was given none (`optional_network_options`).
    """

    found: Checkpoint | None
    name: str
    inputs: str | None
    samples: int
    steps: int
    seed: int
    device: str
    dtype: str
    data_dir: Path | None
    driven_as: Network | None = None
    quiet: bool = False

    @property
    def checkpoint(self) -> Checkpoint:
        if self.found is None:
            raise UserError("Name a checkpoint: a file, or a network of the zoo.")
        return self.found

    @property
    def system(self) -> Map:
        from dynlab.systems import Map

        system = self.checkpoint.system
        if not isinstance(system, Map):
            raise UserError(f"{self.name} is a flow ({system.name}): wrap it in Euler to analyse it as a map.")
        return system

    @property
    def has_read(self) -> bool:
        """Whether the inputs have been asked for."""
        return "driving" in vars(self)

    @functools.cached_property
    def driving(self) -> Driving:
        from dynlab.tasks import driving_inputs

        if self.driven_as is not None:
            return self.driven_as.driving
        how: dict[str, Any] = {"samples": self.samples, "steps": self.steps, "seed": self.seed}
        system = self.system
        named = (self.inputs or system.task or "inputs").removeprefix("task:")
        with working(f"Reading {named}", quiet=self.quiet):  # a minute or two of the largest tasks
            return driving_inputs(self.inputs, system, **how, data_dir=self.data_dir)
