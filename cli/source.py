"""What a command looks at: a checkpoint, a system by name or a matrix; what drives it and what is held."""

from __future__ import annotations

import functools
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynlab.errors import UserError

from .examples import example
from .output import working
from .streams import echo
from .values import held_input, numbers, pairs

if TYPE_CHECKING:
    from dynlab.checkpoints import Checkpoint
    from dynlab.systems import Map, System
    from dynlab.tasks import Driving

DRIVES = ("inputs", "samples", "skip", "data_dir")
# The options that are of one kind of source only: whose they are, and what would make them fit.
OWN = {
    **dict.fromkeys(("layer", "nonlinearity", *DRIVES), ("a checkpoint's", "give CKPT")),
    **dict.fromkeys(("step",), ("--matrix's, or of a flow that --system names", "name either")),
    **dict.fromkeys(("config",), ("--system's", "name --system")),
}


@dataclass(frozen=True)
class Source:
    """What the shared options say; an option that a command does not have is at its default.

    Attributes
    ----------
    given : frozenset of str
        The names of the options that were typed.
    found : Checkpoint or None
        What was read, where a checkpoint was named.
    first : Source or None
        The first one of a run, whose inputs all others are driven by.
    """

    given: frozenset[str] = frozenset()
    found: Checkpoint | None = None
    first: Source | None = None
    checkpoints: tuple[str, ...] = ()
    layer: str | None = None
    factory: str | None = None
    config: tuple[str, ...] = ()
    nonlinearity: str | None = None
    matrix: str | None = None
    kind: str | None = None
    step: float | None = None
    step_size: float | None = None
    starts: tuple[str, ...] = ()
    inputs: str | None = None
    samples: int = 16
    skip: int | None = None
    steps: int = 50
    data_dir: Path | None = None
    at: str = "zero"
    at_step: int = -1
    seed: int = 0
    device: str = "cpu"
    dtype: str = "float64"
    quiet: bool = False

    def check(self, *, optional: bool) -> None:
        """Refuse none or several things to look at, options of another kind of thing, and a matrix that is none."""
        named = [self.matrix is not None, self.factory is not None and not self.checkpoints]
        if self.matrix is not None and (self.checkpoints or named[1]):
            other = "CKPT" if self.checkpoints else "--system"
            raise UserError(f"{other} and --matrix each name what is looked at: leave one of the two out.")
        if not (optional or self.checkpoints or any(named)):
            needed = "name a network, a matrix or a system"
            raise UserError(f"Got nothing to look at: {needed}. For example: `{example()}`.")
        if named[1] and ":" in str(self.factory):
            raise UserError(f"--system {self.factory} makes what a file's weights are loaded into: name CKPT too.")
        has = {"a checkpoint's": bool(self.checkpoints), OWN["step"][0]: any(named), "--system's": named[1]}
        drivable = named[1] and self.takes_inputs
        for name, (owner, fix) in OWN.items():
            if name in self.given and not has[owner] and not (drivable and name in DRIVES):
                option = {"config": "set", "data_dir": "data-dir"}.get(name, name)
                raise UserError(f"--{option} is {owner}: leave it out, or {fix}.")
        if self.kind not in (None, "flow") and any(has.values()) and self.matrix is None:
            raise UserError("--kind is --matrix's: leave it out, or take --kind flow, which a cell is Euler's step of.")
        if self.matrix is not None and self.kind in ("vanilla", "linear") and "step" in self.given:
            raise UserError(f"--kind {self.kind} takes no step ε: leave out --step or --kind.")
        held_input(self.at)
        if self.matrix is not None:
            from dynlab.matrices import named_matrix

            named_matrix(self.matrix, self.seed)

    @property
    def reading(self) -> dict[str, Any]:
        """How checkpoints are read."""
        return {"layer": self.layer, "system_factory": self.factory, "nonlinearity": self.nonlinearity}

    @property
    def files(self) -> tuple[str, ...]:
        """What may be the names of files that are read."""
        return (*self.checkpoints, *filter(None, [self.inputs]))

    @property
    def checkpoint(self) -> Checkpoint:
        if self.found is None:
            raise UserError("Name a checkpoint: a file, or a network of the zoo.")
        return self.found

    @functools.cached_property
    def name(self) -> str:
        """For the figure's file: the checkpoint's with its layer, the system's, or the matrix's with its kind."""
        if self.checkpoints:
            return Path(self.checkpoints[0]).stem + (f"-{self.layer.replace(':', '-')}" if self.layer else "")
        subject = self.factory or self.matrix or "matrix"
        plain = re.sub(r"[^\w.,+-]+", "_", subject.replace(";", "_")).replace(",", "_")
        return plain if self.kind in (None, "feedback") else f"{plain}-{self.kind}"

    @functools.cached_property
    def cell(self) -> System:
        """The map or flow that is named."""
        from dynlab.systems import create

        if self.matrix is not None:
            from dynlab.matrices import named_matrix
            from dynlab.systems.planar import STEP_SIZE, planar_system

            step = self.step if self.step_size is None else self.step_size
            matrix = named_matrix(self.matrix, self.seed)
            return planar_system(matrix, self.kind or "feedback", STEP_SIZE if step is None else step)
        if self.found is None and self.factory is not None:
            import torch

            torch.manual_seed(self.seed)
            found = create(self.factory, **pairs(self.config, "--set"))
            return found if self.step is None else self._euler(found, self.step)
        return self.checkpoint.system

    def _euler(self, flow: System, step: float) -> System:
        from dynlab.systems import Euler, Flow

        if not isinstance(flow, Flow):
            raise UserError(f"--step makes Euler's map of a flow, and {self.name} is a map: leave it out.")
        return Euler(flow, step)

    @property
    def system(self) -> System:
        """The cell, or the flow that it is Euler's step of where --kind asks for that."""
        from dynlab.systems import Euler

        if self.matrix is not None or self.kind is None:
            return self.cell
        if not isinstance(self.cell, Euler):
            raise UserError(f"{self.name} is no Euler step of a flow ({self.cell.name}): leave out --kind flow.")
        return self.cell.flow

    @property
    def map(self) -> Map:
        """The system, which must be a map."""
        return self._as_map(self.system)

    @property
    def driven_map(self) -> Map:
        """The cell that inputs drive, also where its flow is looked at."""
        return self._as_map(self.cell)

    def _as_map(self, system: System) -> Map:
        from dynlab.systems import Map

        if not isinstance(system, Map):
            fix = (
                "give --step 0.01, the seconds of a step of Euler's map"
                if self.kind is None
                else "leave out --kind flow"
            )
            raise UserError(f"{self.name} is a flow, and this command analyses maps: {fix}.")
        return system

    @functools.cached_property
    def driving(self) -> Driving:
        """What drives it: read when it is first asked for, so that a command that needs none reads none."""
        from dynlab.tasks import driving_inputs
        from dynlab.wording import NO_INPUT, counted

        if self.first is not None:
            return self.first.driving
        system = self.cell
        how: dict[str, Any] = {"samples": self.samples, "steps": self.steps, "seed": self.seed, "skip": self.skip}
        named = (self.inputs or system.task or "inputs").removeprefix("task:")
        self._check_constant()
        with working(f"Reading {named}", quiet=self.quiet):  # a minute or two of the largest tasks
            try:
                found = driving_inputs(self.inputs, system, **how, data_dir=self.data_dir)
            except UserError as error:
                raise UserError(f"{error}{self._of_tokens()}") from error
        if not self.quiet and self.takes_inputs:
            each = " each" if len(found.inputs) > 1 else ""
            steps = f"{counted(found.inputs.shape[1], 'step')}{each}"
            is_none = found.description == NO_INPUT
            echo(f"No input: {steps}." if is_none else f"Inputs: {found.description}, {steps}.", err=True)
        return found

    def _check_constant(self) -> None:
        """Refuse a constant input that has another count of numbers than the network has inputs."""
        if not (self.inputs or "").startswith("constant:"):
            return
        from dynlab.wording import counted

        width, got = self.cell.network_input_size, str(self.inputs).count(",") + 1
        if not width:
            raise UserError(f"{self.name} takes no input: leave out --inputs.")
        if got != width:
            needed = f"{counted(width, 'number')}, one for each input of {self.name}"
            raise UserError(f"--inputs constant:… takes {needed}; got {got:,}.")

    def _of_tokens(self) -> str:
        """What else is said where inputs of a file are refused: of whole numbers, what to do where they are tokens."""
        from dynlab.tasks.array_files import Choice, read_sequences
        from dynlab.tasks.driving import FILES

        path, width = Path(self.inputs or ""), self.cell.network_input_size
        if path.suffix not in FILES or not path.is_file():
            return ""
        array = read_sequences(path, Choice(1))
        if array.dtype.kind not in "iu" or array.shape[-1:] == (width,):
            return ""
        if self.cell.embedding is not None:
            return " Tokens have the shape (sample, time, 1)."
        return (
            f" Where the whole numbers of {path.name} are tokens: these are not looked up; give their embedded "
            f"vectors, in torch embedding(tokens), of shape (sample, time, {width})."
        )

    @property
    def takes_inputs(self) -> bool:
        return self.cell.network_input_size > 0

    @property
    def driven(self) -> dict[str, Any]:
        """The arguments of a driven trajectory: from --start, or the system's own start."""
        from dynlab.wording import counted

        begin, described = {}, self.driving.description
        if self.starts:
            begin = {"initial_state": self.initial_states}
            described = described if self.takes_inputs else f"orbits of {counted(len(self.starts), 'start')}"
        return {"inputs": self.driving.inputs, "inputs_description": described} | begin

    @property
    def visiting(self) -> Any:
        """The inputs that show where its states lie; None of a system that takes no input."""
        return self.driving.inputs if self.takes_inputs else None

    @property
    def held(self) -> dict[str, Any]:
        """The arguments that say what is held."""
        return {"at": held_input(self.at), "at_step": self.at_step}

    @property
    def mean_of(self) -> Any:
        """The inputs whose mean is held; None where the mean is not."""
        return self.driving.inputs if self.at == "mean" else None

    @property
    def initial_states(self) -> list[list[float]]:
        """Where orbits start, as --start says."""
        states = [numbers("--start", text) for text in self.starts]
        size = self.system.state_size
        for text, state in zip(self.starts, states, strict=True):
            if len(state) != size:
                raise UserError(f"--start takes {size} numbers, one for each state; got {text}.")
        return states

    @property
    def computing(self) -> dict[str, Any]:
        """The arguments that say where to compute."""
        return {"dtype": self.dtype, "device": self.device, "seed": self.seed}

    def working(self, what: str) -> AbstractContextManager[None]:
        """Say on standard error what is being done, with a clock where somebody watches a terminal."""
        return working(what, quiet=self.quiet or self.first is not None, at_once=True)
