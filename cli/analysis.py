"""What makes a command of a function from a source to a Dataset and its picture, and emits what it returns.

With ``--over step`` it is the command's analysis of every checkpoint of one run, joined along the step of its training.
"""

from __future__ import annotations

import functools
import importlib
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

from .examples import example
from .movie import MOVIE_SUFFIXES
from .options import LOOK, OUTPUT, NetworkName, output_options, shared
from .output import PAGE_SUFFIXES, Analysis, CommandResult, Look, Output, check_not_read, working
from .source import Source
from .streams import echo

if TYPE_CHECKING:
    import xarray as xr

    from dynlab.checkpoints import Checkpoint


OF_FLOWS = ("energy", "stability")  # what these show is a flow beside steps of it, and their pictures name the flow


class AnalysisCommand(click.Command):
    """A command that `analysis` made.

    Attributes
    ----------
    function : callable
        From a `Source` and options of its own to a `CommandResult`.
    names : frozenset of str
        Which of the shared options it takes.
    page : bool
        Whether it gives a page in place of a figure.
    several : bool
        Whether it is of several checkpoints together.
    """

    function: Analysis
    names: frozenset[str]
    page: bool
    several: bool

    @contextmanager
    def asked(self, arguments: list[str]) -> Iterator[tuple[Source, dict[str, Any]]]:
        """What these arguments say is looked at, and the command's own options; nothing is read, written or printed."""
        with self.make_context(self.name, arguments) as context:
            given = {name: value for name, value in context.params.items() if name not in {*OUTPUT, "over"} - {"quiet"}}
            yield _source(context, given, self.names), given

    def result(self, arguments: list[str], found: Checkpoint) -> CommandResult:
        """What it makes of a checkpoint that was read, given these arguments; nothing is written or printed."""
        with self.asked(arguments) as (source, given):
            return self.function(replace(source, found=found), **given)


def measured(
    source: Source, name: str, doing: str, arguments: Iterable[Any], options: Mapping[str, Any], suffix: str = ""
) -> CommandResult:
    """What a diagnostic finds, with its picture, both by name from their tables.

    Parameters
    ----------
    source : Source
    name : str
        The diagnostic's.
    doing : str
        What standard error says while it computes.
    arguments : iterable
        The system, and what drives it or is held.
    options : mapping
        The diagnostic's other arguments.
    suffix : str
        Of the name of the figure's file.
    """
    from dynlab import schema
    from dynlab.diagnostics import DIAGNOSTICS
    from dynlab.errors import lookup
    from dynlab.plots import PLOTS

    if source.kind == "flow" and source.matrix is not None and "step" in source.given:
        raise UserError("--kind flow takes no step ε: leave out --step or --kind.")
    given = list(arguments)
    with source.working(doing):
        ds = named(source, lookup(DIAGNOSTICS, name, "diagnostic")(*given, **options))
    if (step := _chosen_step(source, given[0])) is not None and name not in OF_FLOWS:
        ds = ds.assign_attrs(settings=json.dumps(schema.settings(ds) | {"euler_step": step}, sort_keys=True))
    return CommandResult(ds, lookup(PLOTS, f"plot_{name}", "plot"), source.name + suffix)


def _chosen_step(source: Source, system: Any) -> float | None:
    """Of Euler's map of a flow that was named beside its step ε, which a picture of the map says."""
    from dynlab.systems import Euler

    chosen = source.matrix is not None or "step" in source.given
    return system.step_size if chosen and isinstance(system, Euler) else None


def named(source: Source, ds: xr.Dataset) -> xr.Dataset:
    """The Dataset with the matrix, or the layer that was chosen, among its settings: pictures say whose they are."""
    from dynlab import schema
    from dynlab.matrices import named_matrix

    told: dict[str, Any] = {}
    if source.matrix is not None:
        told["matrix"] = [[str(entry) for entry in row] for row in named_matrix(source.matrix, source.seed)]
    if source.layer is not None and source.found is not None:
        told["layer"] = source.found.layer
    return ds.assign_attrs(settings=json.dumps(schema.settings(ds) | told, sort_keys=True)) if told else ds


def analysis(
    options: Iterable[str],
    *,
    name: str | None = None,
    optional: bool = False,
    over: bool = True,
    alone: Iterable[str] = (),
    defaults: Mapping[str, Any] | None = None,
    page: bool = False,
    several: int = 0,
    movie: bool = False,
) -> Callable[[Analysis], AnalysisCommand]:
    """Make a command of a function of a `Source` and options of its own.

    Parameters
    ----------
    options : iterable of str
        Which of the shared options it takes (`dynlab.cli.options`).
    name : str, optional
        The command's, where it is not that of the function.
    optional : bool
        Whether it has something to show where nothing is named.
    over : bool
        Whether ``--over step`` maps it over the checkpoints of a run.
    alone : iterable of str
        Its options that pick something of one network, and so do not go with ``--over step``.
    defaults : mapping, optional
        Of shared options, where they are others.
    page : bool
        Whether it writes an HTML page in place of a figure.
    several : int
        How many checkpoints it is of, −1 for any number: the function then reads them itself.
    movie : bool
        Whether it writes a movie in place of a figure.
    """
    names = frozenset(options)
    follows = over and "checkpoints" in names

    def decorate(function: Analysis) -> AnalysisCommand:
        @functools.wraps(function)
        def command(**given: Any) -> int:
            context = click.get_current_context()
            files: dict[str, Any] = {each: given.pop(each) for each in ("data", "as_json", "overwrite")}
            files |= {"figure": given.pop("output"), "quiet": given["quiet"]}
            files |= {"suffixes": PAGE_SUFFIXES if page else MOVIE_SUFFIXES} if page or movie else {}
            files["look"] = Look(*(given.pop(each) for each in LOOK))
            output = Output(context.info_name or "dynlab", **files)
            source = _source(context, given, names)
            for written in (output.figure, output.data):
                check_not_read(written, source.files)
            over_steps = follows and given.pop("over") is not None
            _check_count(context, source, several, follows, over_steps)
            with working("Loading", quiet=source.quiet):  # torch takes a second or more, and many on a busy machine
                source.check(optional=optional or over_steps)
                if source.checkpoints:
                    importlib.import_module("dynlab.checkpoints")
            if over_steps:
                return output.emit(over_step(function, source, given, alone))
            reads = source.checkpoints and not several
            return output.emit(function(_read(source) if reads else source, **given))

        decorated = shared(names, defaults or {})(output_options(command, page=page, movie=movie))
        if follows:
            words = "CKPT … are of one training: a folder, or files."
            decorated = click.option("--over", type=click.Choice(["step"]), help=words)(decorated)
        if "checkpoints" in names:
            metavar = "A B" if several > 1 else "[CKPT]"
            decorated = click.argument("checkpoints", type=NetworkName(), metavar=metavar, nargs=-1)(decorated)
        made = click.command(name, cls=AnalysisCommand)(decorated)
        made.function, made.names, made.page, made.several = function, names, page, bool(several)
        return made

    return decorate


def _check_count(context: click.Context, source: Source, several: int, follows: bool, over_steps: bool) -> None:
    """Refuse another number of checkpoints than the command is of."""
    name, got = context.info_name, len(source.checkpoints)
    if several > 1 and got != several:
        raise UserError(f"{name} takes {several} checkpoints, got {got}. For example: `{example()}`.")
    if several or over_steps or got < 2:
        return
    run = ", follow a run with --over step" if follows else ""
    two = f"compare them by `dynlab compare {' '.join(source.checkpoints)}`" if got == 2 else "compare two of them"
    raise UserError(f"{name} takes one checkpoint, got {got}: name one{run}, or {two}.")


def _source(context: click.Context, given: dict[str, Any], names: frozenset[str]) -> Source:
    """What the shared options say; they are taken out of `given`."""
    typed = frozenset(each for each in given if context.get_parameter_source(each) is ParameterSource.COMMANDLINE)
    return Source(given=typed, **{each: given.pop(each) for each in (*names, "quiet") if each in given})


def _read(source: Source) -> Source:
    """The source with its checkpoint read, and a word on what the file does not tell."""
    return replace(source, found=read_one(source, source.checkpoints[0]))


def read_one(source: Source, name: str) -> Checkpoint:
    """The checkpoint of that name, read as the options say, with a word on what it does not tell."""
    from dynlab import zoo
    from dynlab.checkpoints import read

    with working(f"Reading {name}", quiet=source.quiet):
        found = read(zoo.locate(name), **source.reading)
    if found.assumed and not source.quiet:
        echo(found.assumed, err=True)
    return found


def over_step(function: Analysis, source: Source, own: dict[str, Any], alone: Iterable[str]) -> CommandResult:
    """Map the function from a source to its Dataset over every checkpoint, all driven by the inputs of the first.

    Parameters
    ----------
    function : callable
        The command's.
    source : Source
        Its checkpoints are a run's folder, or its files.
    own : dict
        The command's own options.
    alone : iterable of str
        Those of them that pick something of one network.
    """
    from dynlab import zoo
    from dynlab.checkpoints.of_run import read_run
    from dynlab.diagnostics.over_training.over_training import joined
    from dynlab.plots.over_training import plot_over_training

    if not source.checkpoints:
        raise UserError("--over step follows a run: name its folder, or its checkpoints.")
    shipped = {str(entry["name"]) for entry in zoo.entries()}
    for name in source.checkpoints:
        if name in shipped and not Path(name).exists():
            raise UserError(f"Of {name} one checkpoint ships: --over step follows a run, by its folder or checkpoints.")
    for option in alone:
        if own[option] is not None:
            raise UserError(f"--{option} is of one checkpoint: leave it out, or name that checkpoint without --over.")
    snapshots = read_run(source.checkpoints, **source.reading)
    first = replace(source, found=snapshots[0].checkpoint)
    if not source.quiet:
        told = filter(None, (snapshots[0].checkpoint.assumed, f"{len(snapshots)} checkpoints."))
        echo("\n".join(told), err=True)
    results: dict[int, xr.Dataset] = {}
    with working("Following the training", quiet=source.quiet):
        for snapshot in through(snapshots):
            place = f"{len(results) + 1} of {len(snapshots)}, step {snapshot.step:,}"
            with working(place, quiet=source.quiet, at_once=True):
                try:
                    one = function(replace(source, found=snapshot.checkpoint, first=first), **own)
                except UserError as error:
                    if not results:  # what is wrong with all of them
                        raise
                    raise UserError(f"{snapshot.path}, step {snapshot.step:,}: {error}") from error
            results[snapshot.step] = one.dataset
    ds = joined(results, {each.step: each.checkpoint.source for each in snapshots})
    run = snapshots[0].path.absolute().parent.name or "run"
    return CommandResult(ds, plot_over_training, f"{run}-over-step")
