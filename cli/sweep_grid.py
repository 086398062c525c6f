"""What a sweep may go over: options of the command that take one value, settings of its system, and checkpoints."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from dynlab.errors import UserError, unknown

from .analysis import AnalysisCommand
from .options import OUTPUT
from .sweep_train import asked, names_of, settings_of

if TYPE_CHECKING:
    from dynlab.sweep import Axis

CHECKPOINT = "checkpoint"  # the axis of several checkpoints
OF_ONE = {*OUTPUT, "over"} - {"quiet"}  # options that say what becomes of one Dataset
MOST_VALUES = 10_000_000
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"({NUMBER}):({NUMBER}):(log)?(\d+)")
FORMS = "rho=20:30:5 (5 values), rho=0.1:10:log5 (evenly in the logarithm) or seed=0,1,2"
READ = ("data_dir",)  # a folder that is read; others are written to, and by every cell


def grid_of(
    command: click.Command, arguments: Sequence[str], texts: Sequence[str]
) -> tuple[list[Axis], dict[str, str]]:
    """The axes of a sweep, and for each but the checkpoints' what stands before a value on the command line.

    Parameters
    ----------
    command : Command
        An `AnalysisCommand`, or that of trainings.
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

    with command.make_context(command.name, [*arguments], resilient_parsing=True) as context:
        _check_writes_nothing(command, context)
        given = context.params
    checkpoints = given.get("checkpoints") or ()
    grid = [sweep.Axis(CHECKPOINT, tuple(checkpoints))] if len(checkpoints) > 1 else []
    settings = _settings(command, given)
    grid += [axis(text) for text in texts]
    if not grid:
        raise UserError("There is nothing to sweep over: add --grid NAME=VALUES, or name several checkpoints.")
    names = [each.name for each in grid]
    if len(set(checkpoints)) < len(checkpoints):
        twice = next(name for name in checkpoints if checkpoints.count(name) > 1)
        raise UserError(f"{twice} is named twice: name each checkpoint once.")
    if CHECKPOINT in names[len(names) - len(texts) :]:
        raise UserError(
            f"--grid takes no {CHECKPOINT}: name several after the command, such as `dynlab sweep {command.name} a.pt "
            f"b.pt`, and they are that axis."
        )
    if len(set(names)) < len(names):
        raise UserError(f"{next(name for name in names if names.count(name) > 1)} is swept twice: join its values.")
    before = {name: _before(command, settings, name) for name in names if name != CHECKPOINT}
    _check_values(command, arguments, grid, before)
    return grid, before


def _check_writes_nothing(command: click.Command, context: click.Context) -> None:
    """Refuse typed options that write files, or follow a training: every cell would write the same."""
    if not isinstance(command, AnalysisCommand):
        return
    for option in _options(command):
        name = str(option.name)
        writes = name in OF_ONE or (isinstance(option.type, click.Path) and name not in READ)
        if writes and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UserError(f"{option.opts[0]} is of one result, and a sweep has one for each cell: leave it out.")


def _options(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option)]


def _before(command: click.Command, settings: Mapping[str, str], name: str) -> str:
    """What stands before a value of that name."""
    flags = {flag.lstrip("-").replace("-", "_"): flag for option in _options(command) for flag in option.opts}
    of_one_value = [
        flag
        for option in _options(command)
        if not (option.is_flag or option.multiple or isinstance(option.type, click.Path) or option.name in OF_ONE)
        for flag in option.opts
    ]
    names = [*(each for each, flag in flags.items() if flag in of_one_value), *settings]
    if flags.get(name) in of_one_value:
        return f"{flags[name]}=" if flags[name].startswith("--") else flags[name]
    if name in settings:
        return settings[name]
    if name in flags:
        raise UserError(
            f"{flags[name]} takes no single value that cells could differ in: type it once, for all of them, or choose "
            f"from {', '.join(names)}."
        )
    raise unknown("grid name", name, names)


def _settings(command: click.Command, given: Mapping[str, Any]) -> dict[str, str]:
    """What stands before a value of each setting of the system that is named, and of a training's task."""
    if not isinstance(command, AnalysisCommand):
        return settings_of(given)
    from dynlab.systems import SYSTEMS

    named = not given.get("checkpoints") and given.get("factory")
    return {name: f"--set={name}=" for name in names_of(SYSTEMS, named, "system")} if named else {}


def _check_values(
    command: click.Command, arguments: Sequence[str], grid: Sequence[Axis], before: Mapping[str, str]
) -> None:
    """Refuse a value that its option does not take, each beside the first ones of the other axes."""
    typed = {
        each.name: [f"{before[each.name]}{value}" for value in each.values] for each in grid if each.name in before
    }
    first = {name: words[0] for name, words in typed.items()}
    others = (first | {name: word} for name, words in typed.items() for word in words[1:])
    for words in itertools.chain([first], others):
        if isinstance(command, AnalysisCommand):
            with command.asked([*arguments, *words.values(), "--quiet"]) as (source, _):
                source.check(optional=False)
        else:
            asked([*arguments, *words.values()])


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
    name, equals, said = text.partition("=")
    name, said = name.strip().lstrip("-").replace("-", "_"), said.strip()
    if not equals or not name or not said:
        raise UserError(f"--grid takes NAME=VALUES, such as {FORMS}; got {text!r}.")
    found = RANGE.fullmatch(said)
    if found is None and re.match(rf"{NUMBER}:{NUMBER}", said):
        raise UserError(f"--grid {text} is no range: it needs its number of values, such as {name}=20:30:5.")
    values = _range(text, *found.groups()) if found else _listed(said)
    if len(set(values)) < len(values):
        raise UserError(f"--grid {text} has a value twice: name each once.")
    from dynlab.sweep import Axis

    return Axis(name, values)


def _range(text: str, low: str, high: str, log: str | None, count: str) -> tuple[Any, ...]:
    first, last, number = float(low), float(high), int(count)
    if not 2 <= number <= MOST_VALUES or not math.isfinite(first) or not math.isfinite(last):
        raise UserError(f"--grid {text}: a range has 2 to {MOST_VALUES:,} values between two finite numbers.")
    import numpy as np

    if log:
        if first <= 0 or last <= 0:
            raise UserError(f"--grid {text}: only positive numbers have a logarithm.")
        return tuple(np.geomspace(first, last, number).tolist())
    if re.fullmatch(r"[-+]?\d+", low) and re.fullmatch(r"[-+]?\d+", high):
        step, rest = divmod(int(high) - int(low), number - 1)
        if not rest:
            return tuple(int(low) + step * place for place in range(number))
    return tuple(np.linspace(first, last, number).tolist())


def _listed(said: str) -> tuple[Any, ...]:
    words = [word.strip() for word in said.split(",")]
    for kind in (int, float):
        try:
            return tuple(kind(word) for word in words)
        except ValueError:
            continue
    return tuple(words)
