"""Axes of a sweep: options of the command that take one value, settings of its system, and checkpoints."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dynlab.errors import UserError, entry, lookup

from .analysis import AnalysisCommand
from .options import OUTPUT

if TYPE_CHECKING:
    from dynlab.sweep import Axis

CHECKPOINT = "checkpoint"  # the axis of several checkpoints
OF_ONE = {*OUTPUT, "over"} - {"quiet"}  # options that say what becomes of one Dataset
MOST_VALUES = 10_000_000
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"({NUMBER}):({NUMBER}):(log)?(\d+)")
FORMS = "rho=20:30:5 (5 values), rho=0.1:10:log5 (evenly in the logarithm) or seed=0,1,2"


def grid_of(
    command: AnalysisCommand, arguments: Sequence[str], texts: Sequence[str]
) -> tuple[list[Axis], dict[str, str]]:
    """Return the axes of a sweep, and for each but the checkpoints' what stands before a value on the command line.

    Parameters
    ----------
    command : AnalysisCommand
    arguments : sequence of str
        Its checkpoints and options, those of every cell.
    texts : sequence of str
        Values of ``--grid``.

    Raises
    ------
    UserError
        For what cannot be swept, with the name that was meant.
    """
    from dynlab import sweep

    with command.make_context(command.name, [*arguments], resilient_parsing=True) as context:
        given = context.params
        for option in (each for each in command.params if each.name in OF_ONE):
            if context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE:
                raise UserError(f"{option.opts[0]} is of one result, and a sweep has one for each cell: leave it out.")
    checkpoints = given.get("checkpoints") or ()
    grid = [sweep.Axis(CHECKPOINT, tuple(checkpoints))] if len(checkpoints) > 1 else []
    grid += [axis(text) for text in texts]
    if not grid:
        raise UserError("There is nothing to sweep over: add --grid NAME=VALUES, or name several checkpoints.")
    for name, values in (("Grid", [each.name for each in grid]), ("Checkpoint", checkpoints)):
        if twice := [each for each in values if values.count(each) > 1]:
            raise UserError(f"{name} {twice[0]} is named twice: name each once.")
    before = _before(command, given)
    names = [each.name for each in grid if each.name != CHECKPOINT]
    return grid, {name: entry(before, name, "grid name") for name in names}


def _before(command: click.Command, given: Mapping[str, Any]) -> dict[str, str]:
    """Return what stands before a value of each name that may be swept."""
    found = {}
    if given.get("factory") and not given.get("checkpoints"):
        from dynlab.systems import SYSTEMS

        settings = inspect.signature(lookup(SYSTEMS, given["factory"], "system")).parameters
        found = {name: f"--set={name}=" for name in settings}
    for option in command.params:
        single = isinstance(option, click.Option) and not option.is_flag and not option.multiple
        if single and not isinstance(option.type, click.Path) and option.name not in OF_ONE:
            flag = option.opts[0]
            found[flag.lstrip("-").replace("-", "_")] = f"{flag}=" if flag.startswith("--") else flag
    return found


def axis(text: str) -> Axis:
    """Return the axis that a text such as ``rho=20:30:5`` says.

    Raises
    ------
    UserError
        If it says none, or a value twice.

    Examples
    --------
    >>> axis("rho=20:30:3").values, axis("x=0.1:10:log3").values, axis("kind=linear,flow").values
    ((20, 25, 30), (0.1, 1.0, 10.0), ('linear', 'flow'))
    """
    from dynlab.sweep import Axis

    name, equals, said = text.partition("=")
    name, said = name.strip().lstrip("-").replace("-", "_"), said.strip()
    found = RANGE.fullmatch(said)
    if not equals or not name or not said or (found is None and re.match(rf"{NUMBER}:{NUMBER}", said)):
        raise UserError(f"--grid takes NAME=VALUES, such as {FORMS}; got {text!r}.")
    values = _range(text, *found.groups()) if found else _listed(said)
    if len(set(values)) < len(values):
        raise UserError(f"--grid {text} has a value twice: name each once.")
    return Axis(name, values)


def _range(text: str, low: str, high: str, log: str | None, count: str) -> tuple[Any, ...]:
    import numpy as np

    first, last, number = float(low), float(high), int(count)
    if not 2 <= number <= MOST_VALUES or not math.isfinite(first) or not math.isfinite(last):
        raise UserError(f"--grid {text}: a range has 2 to {MOST_VALUES:,} values between two finite numbers.")
    if log and (first <= 0 or last <= 0):
        raise UserError(f"--grid {text}: only positive numbers have a logarithm.")
    values = np.geomspace(first, last, number) if log else np.linspace(first, last, number)
    whole = not log and first.is_integer() and last.is_integer() and (last - first) % (number - 1) == 0
    return tuple(map(round, values.tolist())) if whole else tuple(values.tolist())


def _listed(said: str) -> tuple[Any, ...]:
    words = [word.strip() for word in said.split(",")]
    for kind in (int, float):
        with suppress(ValueError):
            values = tuple(map(kind, words))
            if all(map(math.isfinite, values)):
                return values
    return tuple(words)
