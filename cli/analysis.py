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

from .options import OUTPUT, Command, networks, shared
from .output import FIGURE_SUFFIXES, PAGE_SUFFIXES, CommandResult, Output
from .source import Source

if TYPE_CHECKING:
    import xarray as xr

OF_FLOWS = ("energy", "stability", "phase_plane")  # their pictures name the flow, and show steps of it beside
OF_ONE = {*OUTPUT, "over"} - {"quiet"}  # options that say what becomes of one Dataset
OVER = click.Option(
    ["--over"],
    type=click.Choice(["step"]),
    help="Analyse every checkpoint of one training: CKPT is its folder, or its files.",
)
# What a command writes besides numbers: its suffixes, and what differs in --output.
WRITES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "figure": (FIGURE_SUFFIXES, {}),
    "page": (PAGE_SUFFIXES, {"metavar": "PAGE", "help": "Page to write: html."}),
    "movie": ((".gif",), {"metavar": "MOVIE", "help": "Movie to write: gif."}),
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
    pair : bool
        It takes two checkpoints.
    optional : bool
        It has something to show where nothing is named.
    """

    def __init__(
        self, callback: Analysis, names: frozenset[str], writes: str, pair: bool, optional: bool, **how: Any
    ) -> None:
        super().__init__(callback=callback, **how)
        self.function, self.names, self.writes, self.pair, self.optional = callback, names, writes, pair, optional

    def asked(self, context: click.Context) -> tuple[Source, dict[str, Any]]:
        """Return the source that a command line names, and the command's own options."""
        values = {name: value for name, value in context.params.items() if name not in OF_ONE}
        typed = [name for name in values if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        taken = {name: values.pop(name) for name in (*self.names, "quiet") if name in values}
        return Source(given=frozenset(typed), **taken), values

    def invoke(self, ctx: click.Context) -> int:
        """Run the command; return its exit code."""
        files = Output(str(ctx.info_name), WRITES[self.writes][0], **{name: ctx.params[name] for name in OUTPUT})
        source, own = self.asked(ctx)
        files.check_not_read((*source.checkpoints, source.inputs or ""))
        source.check(optional=self.optional)
        follows = ctx.params.get("over")
        return files.emit(over_step(self.function, source, own) if follows else self.function(source, **own))

    def result(self, words: Iterable[str], **said: Any) -> CommandResult:
        """Return what it gives for these words, where the source says what is `said`; nothing is written or printed."""
        with self.make_context(self.name, [*words, "--quiet"]) as context:
            source, own = self.asked(context)
            source.check(optional=False)
            return self.function(source.having(**said), **own)


def analysis(
    options: Iterable[str],
    *,
    name: str | None = None,
    optional: bool = False,
    over: bool = True,
    pair: bool = False,
    output: str = "figure",
    **changed: Mapping[str, Any],
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
    pair : bool
        It takes two checkpoints, and reads them itself.
    output : str
        "figure", "page" or "movie".
    **changed
        Other attributes of shared options, by their names.
    """
    names = frozenset(options)
    how: dict[str, Any] = {"metavar": "A B", "nargs": 2} if pair else {"metavar": "[CKPT]", "nargs": -1}
    argument = click.Argument(["checkpoints"], shell_complete=networks, required=pair, **how)
    params = [
        *[argument] * ("checkpoints" in names),
        *[OVER] * over,
        *shared({*names, *OUTPUT}, **changed, output=WRITES[output][1]),
    ]
    about = {"names": names, "writes": output, "pair": pair, "optional": optional}
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

    if not source.checkpoints:
        raise UserError("--over step follows a training: name its folder, or its checkpoints.")
    snapshots = read_run(source.checkpoints, **source.reading)
    first = source.having(found=snapshots[0].checkpoint)
    with working(f"Following {len(snapshots)} checkpoints", quiet=source.quiet):
        sources = {each.step: source.having(found=each.checkpoint, first=first) for each in snapshots}
        results = {step: function(sources[step], **own).dataset for step in through(sources)}
    ds = joined(results, {each.step: each.checkpoint.source for each in snapshots})
    run = Path(snapshots[0].path).absolute().parent.name or "run"
    return CommandResult(ds, dl.plot_over_training, f"{run}-over-step")
