"""Subjects of commands: a checkpoint, a system by name, equations or a matrix; what drives it and what is held."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import dynlab as dl
from dynlab.errors import UserError
from dynlab.progress import working

from .options import SHARED
from .output import echo

if TYPE_CHECKING:
    from dynlab.checkpoints import Checkpoint
    from dynlab.systems import Map, System
    from dynlab.tasks import Driving

OF_CHECKPOINTS = ("layer", "nonlinearity", "encoder", "readout")
EQUATIONS = ("flow", "map_")
# Options that only some subjects have; "driven" is a system by name that has inputs.
OF_SOME: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(OF_CHECKPOINTS, ("checkpoints",)),
    **dict.fromkeys(("inputs", "samples", "skip", "data_dir"), ("checkpoints", "driven")),
    "kind": ("matrix", "checkpoints"),
    "config": ("factory", "driven", *EQUATIONS),
}
DEFAULTS: dict[str, Any] = {
    **{name: option.default if isinstance(option.default, str | int) else None for name, option in SHARED.items()},
    **dict.fromkeys(("checkpoints", "starts", "config", "given"), ()),
    "first": None,
    "quiet": False,
}


class Source(SimpleNamespace):
    """Values of the shared options, by their names; an option that a command does not have is at its default.

    Attributes
    ----------
    given : frozenset of str
        The names of the options that were typed.
    checkpoints : tuple of str
        The files or names of the zoo.
    first : Source or None
        The first one of a run, whose inputs all others are driven by.
    """

    def __init__(self, **said: Any) -> None:
        super().__init__(**(DEFAULTS | said))

    def having(self, **changed: Any) -> Source:
        """Return another source that says the same but for these."""
        said = {name: value for name, value in vars(self).items() if name in DEFAULTS or name == "found"}
        return Source(**(said | changed))

    @functools.cached_property
    def subject(self) -> str:
        """Return the option that names what is analysed, empty where none does; --system beside CKPT names its class.

        Raises
        ------
        UserError
            If several are named.
        """
        named = [name for name in ("checkpoints", "factory", "matrix", *EQUATIONS) if getattr(self, name)]
        if len(named) > 1 and named != ["checkpoints", "factory"]:
            raise UserError("Name one of CKPT, --system, --matrix, --flow and --map.")
        return named[0] if named else ""

    @functools.cached_property
    def found(self) -> Checkpoint | None:
        """Return the contents of the checkpoint, read when they are first asked for; None where none is named."""
        if not self.checkpoints:
            return None
        name, *others = self.checkpoints
        if others:
            raise UserError(
                f"This command takes one checkpoint, got {1 + len(others)}: compare two by `dynlab compare A B`."
            )
        with working(f"Reading {name}", quiet=self.quiet):  # torch takes a second or more
            from dynlab import zoo
            from dynlab.checkpoints import read

            found = read(zoo.locate(name), **self.reading, batch=self.batch)
        if found.assumed and not self.quiet:
            echo(found.assumed, err=True)
        return found

    def check(self, *, optional: bool) -> None:
        """Refuse none or several subjects, and options that the subject does not have."""
        if not self.subject and not optional:
            raise UserError("Name what to analyse: CKPT, --system NAME, --matrix MATRIX, --flow or --map EQUATIONS.")
        subject = self.subject or "matrix"
        if not self.checkpoints and self.kind not in (None, "feedback") and self.step_size is not None:
            raise UserError(f"--kind {self.kind} has no step ε: leave out --step-size or --kind.")
        if subject == "factory" and self.takes_inputs:
            subject = "driven"
        if wrong := [name for name in sorted(self.given) if subject not in OF_SOME.get(name, (subject,))]:
            raise UserError(f"{SHARED[wrong[0]].opts[0]} does not apply to {self.name}: leave it out.")
        if self.checkpoints and self.kind not in (None, "flow"):
            raise UserError(f"--kind {self.kind} is of --matrix; of a checkpoint --kind flow takes its flow.")

    @property
    def reading(self) -> dict[str, Any]:
        """Return the arguments with which checkpoints are read."""
        return {"system_factory": self.factory} | {name: getattr(self, name) for name in OF_CHECKPOINTS}

    @functools.cached_property
    def batch(self) -> Any:
        """Return the sequences of a file, which the model of a factory is run on; None where there are none of both."""
        if self.factory is None or not Path(self.inputs or "").suffix:
            return None
        from dynlab.tasks.array_files import Choice, read_sequences

        return read_sequences(Path(self.inputs), Choice(self.samples, self.seed, self.skip))[0]

    @functools.cached_property
    def warning(self) -> str:
        """Return the warning of made-up inputs of a network that stands behind another layer of its model."""
        if self.found is None or not self.found.behind or Path(self.inputs or "").suffix:
            return ""
        return (
            f"Inputs are made up at the {self.cell.name.upper()}'s own {self.cell.input_size} inputs, behind "
            f"{self.found.behind}.weight: give --encoder {self.found.behind}:tanh (or relu, none), or for the whole "
            f"model --system MODULE:FACTORY with --inputs FILE. "
        )

    @functools.cached_property
    def name(self) -> str:
        """Name in the figure's file: the checkpoint's folder and name with its layer, the system's, or the matrix's."""
        if self.checkpoints:
            path = Path(self.checkpoints[0])
            folder = f"{path.absolute().parent.name}-" if path.exists() and path.absolute().parent.name else ""
            return folder + path.stem + (f"-{self.layer.replace(':', '-')}" if self.layer else "")
        if self.subject in EQUATIONS:
            return "equations"
        subject = (self.factory or self.matrix or "matrix").replace(";", "_").replace(",", "_")
        return subject if self.kind in (None, "feedback") else f"{subject}-{self.kind}"

    @functools.cached_property
    def cell(self) -> System:
        """The map or flow that is named."""
        if self.found is not None:
            return self.found.system
        if self.matrix is not None:
            from dynlab.matrices import named_matrix
            from dynlab.systems.planar import STEP_SIZE, planar_system

            matrix = named_matrix(self.matrix, self.seed)
            return planar_system(matrix, self.kind or "feedback", self.step_size or STEP_SIZE)
        if ":" in (self.factory or ""):
            raise UserError(f"--system {self.factory} makes the class that a file's weights belong to: name CKPT too.")
        import torch

        torch.manual_seed(self.seed)
        makers: dict[str, Any] = {"factory": dl.create, "flow": dl.EquationFlow, "map_": dl.EquationMap}
        made = makers[self.subject](getattr(self, self.subject), **dict(self.config))
        if self.step_size is None:
            return made
        if not isinstance(made, dl.Flow):
            raise UserError(f"--step-size makes Euler's map of a flow, and {self.name} is a map: leave it out.")
        return dl.Euler(made, self.step_size)

    @property
    def system(self) -> System:
        """The cell, or the flow that it is Euler's step of where --kind asks for that."""
        if self.matrix is not None or self.kind is None:
            return self.cell
        if not isinstance(self.cell, dl.Euler):
            raise UserError(f"{self.name} is not an Euler step of a flow ({self.cell.name}): leave out --kind flow.")
        return self.cell.flow

    @property
    def map(self) -> Map:
        """The system, which must be a map."""
        if isinstance(self.system, dl.Flow):
            fix = "leave out --kind flow" if self.kind else "--step-size 0.01 takes Euler's map of it"
            raise UserError(f"{self.name} is a flow, and this command analyses maps: {fix}.")
        return cast("Map", self.system)

    @functools.cached_property
    def driving(self) -> Driving:
        """Return what drives it, read when it is first asked for, so that a command that needs none reads none."""
        if self.first is not None:
            return self.first.driving
        named = (self.inputs or self.cell.task or "inputs").removeprefix("task:")
        how = {name: getattr(self, name) for name in ("samples", "steps", "seed", "skip", "data_dir")}
        spec = self.inputs
        if self.batch is not None and self.cell.part_of:  # its inputs are what the model makes of the file
            spec, how["skip"], how["samples"] = None, None, None
        with working(f"Reading {named}", quiet=self.quiet):  # the largest tasks take a minute or two
            found = dl.driving_inputs(spec, self.cell, **how)
        if self.takes_inputs and not self.quiet:
            echo(f"Inputs: {found.description}, {found.inputs.shape[1]:,} steps each.", err=True)
        return found

    @property
    def takes_inputs(self) -> bool:
        """Tell whether the network has inputs."""
        return self.cell.network_input_size > 0

    @property
    def driven(self) -> dict[str, Any]:
        """The arguments of a driven trajectory: from --start, or the system's own start."""
        from dynlab.words import counted

        described = self.driving.description
        if self.starts and not self.takes_inputs:
            described = f"orbits of {counted(len(self.starts), 'start')}"
        begin = {"initial_state": list(self.starts)} if self.starts else {}
        return {"inputs": self.driving.inputs, "inputs_description": described} | begin

    @property
    def visiting(self) -> Any:
        """The inputs that show where a map's states lie, of a flow those whose mean is held; None of others."""
        shows = not isinstance(self.system, dl.Flow) or self.at == "mean"
        return self.driving.inputs if self.takes_inputs and shows else None

    @property
    def held(self) -> dict[str, Any]:
        """The arguments that say what is held."""
        if self.at == "rest" and self.found is not None and self.found.behind:
            raise UserError(
                f"--at rest needs the layer before: give --encoder {self.found.behind}:tanh (or relu, none)."
            )
        return {"at": self.at, "at_step": self.at_step}

    @property
    def mean_of(self) -> Any:
        """The inputs whose mean is held; None where the mean is not."""
        return self.driving.inputs if self.at == "mean" else None

    @property
    def computing(self) -> dict[str, Any]:
        """The arguments that say where to compute."""
        return {"dtype": self.dtype, "device": self.device, "seed": self.seed}

    def working(self, what: str) -> AbstractContextManager[None]:
        """Say on standard error what is being done; of the checkpoints of a run that is said once."""
        return working(what, quiet=self.quiet) if self.first is None else nullcontext()
