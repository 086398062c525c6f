"""Make a command of a function from a source to a Dataset and its picture.

With ``--over step`` the command analyses every checkpoint of one run, joined along the step of its training.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dynlab.errors import UserError
from dynlab.progress import through

from . import tables
from .movie import MOVIE_SUFFIXES
from .options import OUTPUT, Command, NetworkName, chosen, with_options
from .output import FIGURE_SUFFIXES, PAGE_SUFFIXES, CommandResult, Output, check_not_read, echo, working
from .source import Source

if TYPE_CHECKING:
    import xarray as xr

    from dynlab.checkpoints import Checkpoint

OF_FLOWS = ("energy", "stability")  # these show a flow beside steps of it, and their pictures name the flow
Analysis = Callable[..., CommandResult]


class AnalysisCommand(Command):
    """A command that `analysis` made.

    Attributes
    ----------
    function : callable
        From a `Source` and options of its own to a `CommandResult`.
    names : frozenset of str
        The shared options that it takes.
    can_sweep : bool
        Whether it makes a figure of one subject.
    """

    function: Analysis
    names: frozenset[str]
    can_sweep: bool

    @contextmanager
    def asked(self, arguments: list[str]) -> Iterator[tuple[Source, dict[str, Any]]]:
        """Yield the source that these arguments name, and the command's own options; nothing is read or written."""
        with self.make_context(self.name, arguments) as context:
            given = {name: value for name, value in context.params.items() if name not in {*OUTPUT, "over"} - {"quiet"}}
            yield _source(context, given, self.names), given

    def result(self, arguments: list[str], found: Checkpoint) -> CommandResult:
        """Analyse a checkpoint that was read, given these arguments; nothing is written or printed."""
        with self.asked(arguments) as (source, given):
            return self.function(replace(source, found=found), **given)


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
        Whether it has something to show where nothing is named.
    over : bool
        Whether ``--over step`` maps it over the checkpoints of a run.
    defaults : mapping, optional
        Other defaults of shared options.
    several : int
        Number of checkpoints, −1 for any: the function then reads them itself.
    output : str
        "figure", "page" or "movie".
    """
    names = frozenset(options)
    follows = over and "checkpoints" in names
    suffixes = {"figure": FIGURE_SUFFIXES, "page": PAGE_SUFFIXES, "movie": MOVIE_SUFFIXES}[output]

    def decorate(function: Analysis) -> AnalysisCommand:
        @functools.wraps(function)
        def command(**given: Any) -> int:
            context = click.get_current_context()
            written = {each: given.pop(each) for each in OUTPUT if each not in ("output", "quiet")}
            files = Output(
                str(context.info_name), given.pop("output"), quiet=given["quiet"], **written, suffixes=suffixes
            )
            source = _source(context, given, names)
            for path in (files.figure, files.save):
                check_not_read(path, source.files)
            over_steps = follows and given.pop("over") is not None
            _check_count(source, several, over_steps)
            source.check(optional=optional or over_steps)
            if over_steps:
                return files.emit(over_step(function, source, given))
            reads = source.checkpoints and not several
            return files.emit(function(_read(source) if reads else source, **given))

        written = OUTPUT | ({} if output == "figure" else {"output": _other_output(output)})
        decorated = with_options(chosen(names) | written, defaults)(command)
        if follows:
            words = "Analyse every checkpoint of one training: CKPT is its folder, or its files."
            decorated = click.option("--over", type=click.Choice(["step"]), help=words)(decorated)
        if "checkpoints" in names:
            metavar = "A B" if several > 1 else "[CKPT]"
            decorated = click.argument("checkpoints", type=NetworkName(), metavar=metavar, nargs=-1)(decorated)
        made = click.command(name, cls=AnalysisCommand)(decorated)
        made.function, made.names, made.can_sweep = function, names, output == "figure" and not several
        return made

    return decorate


def _other_output(kind: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    told = {"page": "Page to write: html.", "movie": "Movie to write: gif, or mp4 (ffmpeg)."}[kind]
    return OUTPUT["output"][0], OUTPUT["output"][1] | {"metavar": kind.upper(), "help": told}


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
        What standard error says while it computes.
    arguments : iterable
        The system, and what drives it or is held.
    options : mapping
        The diagnostic's other arguments.
    suffix : str
        Of the figure's name.
    """
    from dynlab import schema
    from dynlab.diagnostics import DIAGNOSTICS
    from dynlab.errors import lookup
    from dynlab.plots import PLOTS
    from dynlab.systems import Euler

    given = list(arguments)
    with source.working(doing):
        ds = named(source, lookup(DIAGNOSTICS, name, "diagnostic")(*given, **options))
    stepped = source.matrix is not None or "step_size" in source.given
    if stepped and isinstance(given[0], Euler) and name not in OF_FLOWS:
        settings = schema.settings(ds) | {"euler_step": given[0].step_size}
        ds = ds.assign_attrs(settings=json.dumps(settings, sort_keys=True))
    ds = ds.assign_attrs(verdict=source.warning + ds.attrs["verdict"])
    table = tables.TABLES[name](ds) if name in tables.TABLES else None
    return CommandResult(ds, lookup(PLOTS, f"plot_{name}", "plot"), source.name + suffix, table)


def named(source: Source, ds: xr.Dataset) -> xr.Dataset:
    """Return the Dataset with the matrix, or the layer that was chosen, among its settings, for pictures' titles."""
    from dynlab import schema
    from dynlab.matrices import named_matrix

    told: dict[str, Any] = {}
    if source.matrix is not None:
        told["matrix"] = [[str(entry) for entry in row] for row in named_matrix(source.matrix, source.seed)]
    if source.layer is not None and source.found is not None:
        told["layer"] = source.found.layer
    return ds.assign_attrs(settings=json.dumps(schema.settings(ds) | told, sort_keys=True)) if told else ds


def _check_count(source: Source, several: int, over_steps: bool) -> None:
    """Refuse another number of checkpoints than the command takes."""
    got = len(source.checkpoints)
    if several > 1 and got != several:
        raise UserError(f"This command takes {several} checkpoints, got {got}.")
    if not several and not over_steps and got > 1:
        raise UserError(f"This command takes one checkpoint, got {got}: compare two by `dynlab compare A B`.")


def _source(context: click.Context, given: dict[str, Any], names: frozenset[str]) -> Source:
    """Take the shared options out of `given`."""
    typed = frozenset(each for each in given if context.get_parameter_source(each) is ParameterSource.COMMANDLINE)
    return Source(given=typed, **{each: given.pop(each) for each in (*names, "quiet") if each in given})


def _read(source: Source) -> Source:
    return replace(source, found=read_one(source, source.checkpoints[0]))


def read_one(source: Source, name: str) -> Checkpoint:
    """Read a checkpoint as the options say, and tell what it does not record."""
    with working(f"Reading {name}", quiet=source.quiet):  # torch takes a second or more
        from dynlab import zoo
        from dynlab.checkpoints import read

        found = read(zoo.locate(name), **source.reading)
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
    first = replace(source, found=snapshots[0].checkpoint)
    results: dict[int, xr.Dataset] = {}
    with working(f"Following {len(snapshots)} checkpoints", quiet=source.quiet):
        for snapshot in through(snapshots):
            one = function(replace(source, found=snapshot.checkpoint, first=first), **own)
            results[snapshot.step] = one.dataset
    ds = joined(results, {each.step: each.checkpoint.source for each in snapshots})
    run = Path(snapshots[0].path).absolute().parent.name or "run"
    return CommandResult(ds, plot_over_training, f"{run}-over-step")
