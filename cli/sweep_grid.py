"""What a sweep may go over: options of the command that take one value, settings of its system, and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dynlab.errors import UserError, unknown

from .analysis import AnalysisCommand
from .options import OUTPUT

if TYPE_CHECKING:
    from dynlab.sweep import Axis

CHECKPOINT = "checkpoint"  # the axis of several checkpoints
OF_ONE = {*OUTPUT, "over"} - {"quiet"}  # options that say what becomes of one Dataset
READ = ("data_dir",)  # a folder that is read; others are written to, and by every cell


def grid_of(
    analysis: AnalysisCommand, arguments: Sequence[str], texts: Sequence[str]
) -> tuple[list[Axis], dict[str, str]]:
    """The axes of a sweep, and for each but the checkpoints' what stands before a value on the command line.

    Parameters
    ----------
    analysis : AnalysisCommand
    arguments : sequence of str
        Its checkpoints and options, those of every cell.
    texts : sequence of str
        Of ``--grid``.

    Raises
    ------
    UserError
        For what cannot be swept, with the name that was meant, and for what is no value of an option.
    """
    from dynlab import sweep

    with analysis.make_context(analysis.name, [*arguments], resilient_parsing=True) as context:
        _check_writes_nothing(analysis, context)
        checkpoints, factory = context.params.get("checkpoints") or (), context.params.get("factory")
    grid = [sweep.Axis(CHECKPOINT, tuple(checkpoints))] if len(checkpoints) > 1 else []
    settings = [] if checkpoints or factory is None else _settings(factory)
    grid += [sweep.axis(text) for text in texts]
    if not grid:
        raise UserError("There is nothing to sweep over: add --grid NAME=VALUES, or name several checkpoints.")
    names = [each.name for each in grid]
    if len(set(names)) < len(names):
        raise UserError(f"{next(name for name in names if names.count(name) > 1)} is swept twice: join its values.")
    before = {name: _before(analysis, settings, name) for name in names if name != CHECKPOINT}
    _check_values(analysis, arguments, grid, before)
    return grid, before


def _check_writes_nothing(analysis: AnalysisCommand, context: click.Context) -> None:
    """Refuse typed options that write files, or follow a training: every cell would write the same."""
    for option in _options(analysis):
        name = str(option.name)
        writes = name in OF_ONE or (isinstance(option.type, click.Path) and name not in READ)
        if writes and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UserError(f"{option.opts[0]} is of one result, and a sweep has one for each cell: leave it out.")


def _options(analysis: AnalysisCommand) -> list[click.Option]:
    return [each for each in analysis.params if isinstance(each, click.Option)]


def _before(analysis: AnalysisCommand, settings: Sequence[str], name: str) -> str:
    """What stands before a value of that name."""
    flags = {flag.lstrip("-").replace("-", "_"): flag for option in _options(analysis) for flag in option.opts}
    of_one_value = [
        flag
        for option in _options(analysis)
        if not (option.is_flag or option.multiple or isinstance(option.type, click.Path) or option.name in OF_ONE)
        for flag in option.opts
    ]
    names = [*(each for each, flag in flags.items() if flag in of_one_value), *settings]
    if flags.get(name) in of_one_value:
        return f"{flags[name]}=" if flags[name].startswith("--") else flags[name]
    if name in settings:
        return f"--set={name}="
    if name in flags:
        raise UserError(
            f"{flags[name]} takes no single value that cells could differ in: type it once, for all of them, or choose "
            f"from {', '.join(names)}."
        )
    raise unknown("grid name", name, names)


def _settings(factory: str) -> list[str]:
    """The settings that a system by name takes."""
    import inspect

    from dynlab.errors import lookup
    from dynlab.systems import SYSTEMS

    return list(inspect.signature(lookup(SYSTEMS, factory, "system")).parameters)


def _check_values(
    analysis: AnalysisCommand, arguments: Sequence[str], grid: Sequence[Axis], before: dict[str, str]
) -> None:
    """Refuse a value that its option does not take, each beside the first ones of the other axes."""
    typed = {
        each.name: [f"{before[each.name]}{value}" for value in each.values] for each in grid if each.name in before
    }
    first = {name: words[0] for name, words in typed.items()}
    others = [first | {name: word} for name, words in typed.items() for word in words[1:]]
    for words in (first, *others):
        with analysis.asked([*arguments, *words.values(), "--quiet"]) as (source, _):
            source.check(optional=False)
