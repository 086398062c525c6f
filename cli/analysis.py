"""Make a command of a function from a source to a Dataset and its picture.

With ``--over step`` the command analyses every checkpoint of one run, joined along the step of its training.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import dynlab as dl
from dynlab.errors import UserError
from dynlab.progress import through, working

from .movie import MOVIE_SUFFIXES
from .options import OUTPUT, Command, NetworkName, shared
from .output import FIGURE_SUFFIXES, PAGE_SUFFIXES, CommandResult, Output, echo
from .source import Source

if TYPE_CHECKING:
    import xarray as xr

    from dynlab.checkpoints import Checkpoint

OF_FLOWS = ("energy", "stability", "phase_plane")  # their pictures name the flow, and show steps of it beside
OVER = click.Option(
    ["--over"],
    type=click.Choice(["step"]),
    help="Analyse every checkpoint of one training: CKPT is its folder, or its files.",
)
# What a command writes besides numbers: its suffixes, and what differs in --output.
WRITES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "figure": (FIGURE_SUFFIXES, {}),
    "page": (PAGE_SUFFIXES, {"metavar": "PAGE", "help": "Page to write: html."}),
    "movie": (MOVIE_SUFFIXES, {"metavar": "MOVIE", "help": "Movie to write: gif, or mp4 (ffmpeg)."}),
}
Analysis = Callable[..., CommandResult]


class AnalysisCommand(Command):
    """A command whose function, of a `Source` and options of its own, gives a `CommandResult`.

    Attributes
    ----------
    function : callable
    names : frozenset of str
        The shared options that it takes.
    writes : str
        A key of `WRITES`.
    several : bool
        The function reads its checkpoints itself.
    optional : bool
        It has something to show where nothing is named.
    """

    def __init__(
        self, callback: Analysis, names: frozenset[str], writes: str, several: bool, optional: bool, **how: Any
    ) -> None:
        super().__init__(callback=callback, **how)
        self.function, self.names = callback, names
        self.writes, self.several, self.optional = writes, several, optional

    def asked(self, context: click.Context) -> tuple[Source, dict[str, Any]]:
        """Return the source that a command line names, and the command's own options."""
        values = {name: value for name, value in context.params.items() if name not in {*OUTPUT, "over"} - {"quiet"}}
        typed = [name for name in values if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        taken = {name: values.pop(name) for name in (*self.names, "quiet") if name in values}
        return Source(given=frozenset(typed), **taken), values

    def invoke(self, ctx: click.Context) -> int:
        """Run the command; return its exit code."""
        files = Output(str(ctx.info_name), WRITES[self.writes][0], **{name: ctx.params[name] for name in OUTPUT})
        source, own = self.asked(ctx)
        files.check_not_read((*source.checkpoints, source.inputs or ""))
        follows = ctx.params.get("over") is not None
        reads = bool(source.checkpoints) and not self.several and not follows
        if reads and len(source.checkpoints) > 1:
            got = len(source.checkpoints)
            raise UserError(f"This command takes one checkpoint, got {got}: compare two by `dynlab compare A B`.")
        source.check(optional=self.optional or follows)
        if reads:
            source = source.having(found=read_one(source, source.checkpoints[0]))
        return files.emit(over_step(self.function, source, own) if follows else self.function(source, **own))

    def result(self, words: Iterable[str], read: Callable[[Source], Checkpoint]) -> CommandResult:
        """Return what it gives for these words, of a checkpoint that `read` reads; nothing is written or printed."""
        with self.make_context(self.name, [*words, "--quiet"]) as context:
            source, own = self.asked(context)
            source.check(optional=False)
            return self.function(source.having(found=read(source)) if source.checkpoints else source, **own)


def analysis(
    options: Iterable[str],
    *,
    name: str | None = None,
    optional: bool = False,
    over: bool = True,
    defaults: Mapping[str, Any] | None = None,
    several: int = 0,
    output: str = "figure",
) -> Callable[[Analysis], AnalysisCommand]:
    """Make a command of a function of a `Source` and options of its own.

    Parameters
    ----------
    options : iterable of str
        The shared options that it takes (`dynlab.cli.options`).
    name : str, optional
        The command's name, where it is not that of the function.
    optional : bool
        It has something to show where nothing is named.
    over : bool
        ``--over step`` maps it over the checkpoints of a run.
    defaults : mapping, optional
        Other defaults of shared options.
    several : int
        Number of checkpoints, −1 for any: the function then reads them itself.
    output : str
        "figure", "page" or "movie".
    """
    names = frozenset(options)
    params: list[click.Parameter] = []
    if "checkpoints" in names:
        metavar, required = ("A B", True) if several > 1 else ("[CKPT]", False)
        how: dict[str, Any] = {"type": NetworkName(), "metavar": metavar, "required": required}
        params += [click.Argument(["checkpoints"], nargs=several or -1, **how), *[OVER] * over]
    changed: dict[str, dict[str, Any]] = {each: {"default": value} for each, value in (defaults or {}).items()}
    if "checkpoints" not in names:
        changed["factory"] = {"metavar": "NAME", "help": "Analyse a built-in system (`dynlab list systems`)."}
    params += shared({*names, *OUTPUT}, **changed, output=WRITES[output][1])
    about = {"names": names, "writes": output, "several": bool(several), "optional": optional}
    return click.command(name, cls=AnalysisCommand, params=params, **about)


def measured(
    source: Source, name: str, doing: str, arguments: Iterable[Any], options: Mapping[str, Any], suffix: str = ""
) -> CommandResult:
    """Run a diagnostic; return its Dataset, picture and table, all by name.

    Parameters
    ----------
    source : Source
    name : str
        The diagnostic's name.
    doing : str
        Words on standard error while it computes.
    arguments : iterable
        The system, and what drives it or is held.
    options : mapping
        The diagnostic's other arguments; one that is None is at its default.
    suffix : str
        End of the figure's name.
    """
    system, *others = arguments
    with source.working(doing):
        from .tables import TABLES

        given = {key: value for key, value in options.items() if value is not None}
        ds = getattr(dl, name)(system, *others, **given)
    stepped = (source.matrix is not None or "step_size" in source.given) and name not in OF_FLOWS
    ds = named(source, ds, {"euler_step": system.step_size} if stepped and isinstance(system, dl.Euler) else {})
    table = TABLES[name](ds) if name in TABLES else None
    return CommandResult(ds, getattr(dl, f"plot_{name}"), source.name + suffix, table)


def named(source: Source, ds: xr.Dataset, settings: Mapping[str, Any] | None = None) -> xr.Dataset:
    """Return the Dataset with what pictures' titles say: the matrix, the layer that was chosen and more `settings`."""
    from dynlab import schema
    from dynlab.matrices import named_matrix

    told = schema.settings(ds) | dict(settings or {})
    if source.matrix is not None:
        told["matrix"] = [[str(entry) for entry in row] for row in named_matrix(source.matrix, source.seed)]
    if source.layer is not None and source.found is not None:
        told["layer"] = source.found.layer
    verdict = source.warning + ds.attrs["verdict"]
    return ds.assign_attrs(settings=json.dumps(told, sort_keys=True), verdict=verdict)


def read_one(source: Source, name: str) -> Checkpoint:
    """Read a checkpoint as the options say, and tell what it does not record."""
    with working(f"Reading {name}", quiet=source.quiet):  # torch takes a second or more
        from dynlab import zoo
        from dynlab.checkpoints import read

        found = read(zoo.locate(name), **source.reading, batch=source.batch)
    if found.assumed and not source.quiet:
        echo(found.assumed, err=True)
    return found


def over_step(function: Analysis, source: Source, own: dict[str, Any]) -> CommandResult:
    """Map the function from a source to its Dataset over every checkpoint, all driven by the inputs of the first.

    Parameters
    ----------
    function : callable
        The command's function.
    source : Source
        Its checkpoints are a run's folder, or its files.
    own : dict
        The command's own options.
    """
    from dynlab.checkpoints.of_run import read_run
    from dynlab.diagnostics.over_training.over_training import joined
    from dynlab.plots.over_training import plot_over_training

    if not source.checkpoints:
        raise UserError("--over step follows a training: name its folder, or its checkpoints.")
    snapshots = read_run(source.checkpoints, **source.reading)
    first = source.having(found=snapshots[0].checkpoint)
    with working(f"Following {len(snapshots)} checkpoints", quiet=source.quiet):
        sources = {each.step: source.having(found=each.checkpoint, first=first) for each in snapshots}
        results = {step: function(sources[step], **own).dataset for step in through(sources)}
    ds = joined(results, {each.step: each.checkpoint.source for each in snapshots})
    run = Path(snapshots[0].path).absolute().parent.name or "run"
    return CommandResult(ds, plot_over_training, f"{run}-over-step")
