"""A sweep's grid and its cells: options that take one value, settings of a system, and checkpoints are its axes."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np
import xarray as xr
from click.core import ParameterSource

import dynlab
from dynlab.arguments import takes
from dynlab.errors import UserError, entry, lookup
from dynlab.sweep import Axis
from dynlab.systems import SYSTEMS

from . import COMMANDS
from .analysis import OF_ONE, AnalysisCommand

CHECKPOINT = "checkpoint"  # the axis of several checkpoints
FORMS = "rho=20:30:5 (5 values), rho=0.1:10:log5 (evenly in the logarithm) or seed=0,1,2"


def grid_of(name: str, arguments: Sequence[str], texts: Sequence[str]) -> tuple[list[Axis], dict[str, str]]:
    """Return the axes of a sweep, and for each but the checkpoints' what stands before a value on the command line.

    Parameters
    ----------
    name : str
        The command.
    arguments : sequence of str
        Its checkpoints and options, those of every cell.
    texts : sequence of str
        Values of ``--grid``.

    Raises
    ------
    UserError
        For what cannot be swept, with the name that was meant.
    """
    command = swept_command(name)
    with command.make_context(name, [*arguments], resilient_parsing=True) as context:
        given = context.params
        for option in (each for each in command.params if each.name in OF_ONE):
            if context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE:
                raise UserError(f"{option.opts[0]} is of one result, and a sweep has one for each cell: leave it out.")
    several = tuple(given.get("checkpoints") or ())
    axes = [axis(text) for text in texts]
    grid = [Axis(CHECKPOINT, several), *axes] if len(several) > 1 else axes
    if not grid:
        raise UserError("There is nothing to sweep over: add --grid NAME=VALUES, or name several checkpoints.")
    names = [each.name for each in axes]
    for each in axes:
        if names.count(each.name) > 1 or len(set(each.values)) < len(each.values):
            raise UserError(f"--grid {each.name} has its name or a value twice: name each once.")
    before = _before(command, given)
    return grid, {name: entry(before, name, "grid name") for name in names}


def _before(command: click.Command, given: Mapping[str, Any]) -> dict[str, str]:
    """Return what stands before a value of each name that may be swept."""
    is_named = given.get("factory") and not given.get("checkpoints")
    settings = takes(SYSTEMS, given["factory"], "system") if is_named else ()
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in OF_ONE]
    single = [each for each in options if not (each.is_flag or each.multiple or isinstance(each.type, click.Path))]
    flags = {each.opts[0].lstrip("-").replace("-", "_"): each.opts[0] for each in single}
    return {name: f"--set={name}=" for name in settings} | {
        name: f"{flag}=" if flag.startswith("--") else flag for name, flag in flags.items()
    }


def axis(text: str) -> Axis:
    """Return the axis that a text such as ``rho=20:30:5`` says.

    Examples
    --------
    >>> axis("rho=20:30:3").values, axis("x=0.1:10:log3").values, axis("kind=linear,flow").values
    ((20, 25, 30), (0.1, 1.0, 10.0), ('linear', 'flow'))
    """
    name, _, said = text.partition("=")
    try:
        low, high, count = said.split(":")
        spaced = np.geomspace if count.startswith("log") else np.linspace
        values = spaced(float(low), float(high), int(count.removeprefix("log")))
        words = [np.format_float_positional(value, trim="-") for value in values]
    except ValueError:  # no range, so a list
        words = said.split(",")
    if not (name and said and words):
        raise UserError(f"--grid takes NAME=VALUES, such as {FORMS}; got {text!r}.")
    return Axis(name.lstrip("-").replace("-", "_"), _listed(words))


def _listed(words: Sequence[str]) -> tuple[Any, ...]:
    """Return whole numbers, numbers, or texts, as all are."""
    for kind in (int, float):
        with suppress(ValueError):
            return tuple(map(kind, words))
    return tuple(word.strip() for word in words)


def cell_dataset(
    command: str, arguments: list[str], before: Mapping[str, str], begun: tuple[str, str], values: Mapping[str, Any]
) -> xr.Dataset:
    """Return the Dataset of one cell: what the command computes for the arguments of all and the cell's values.

    Parameters
    ----------
    command : str
        Its name.
    arguments : list of str
    before : mapping of str to str
        Words before a value of that name on the command line.
    begun : tuple of str
        The version of dynlab that began the sweep, and the working folder, from which names of files are told: a
        worker takes the same one, if it has it.
    values : mapping
        By the name of their axis.
    """
    version, folder = begun
    if version != dynlab.__version__:
        raise UserError(
            f"this worker has dynlab {dynlab.__version__}, and the sweep was begun with {version}: install the same."
        )
    if os.path.isdir(folder):
        os.chdir(folder)  # a worker computes one cell at a time
    words = [f"{text}{values[name]}" for name, text in before.items()]
    one = {"checkpoints": (values[CHECKPOINT],)} if CHECKPOINT in values else {}
    try:
        return swept_command(command).result([*arguments, *words], **one).dataset
    except click.ClickException as error:
        raise UserError(error.format_message()) from error


def swept_command(name: str) -> AnalysisCommand:
    """Return a command that can be swept, or raise."""
    found = lookup(COMMANDS, name, "command")
    if isinstance(found, AnalysisCommand) and found.writes == "figure" and not found.pair:
        return found
    raise UserError(
        f"dynlab {name} is no analysis with a Dataset, so it is not swept: choose one with --save, such as spectrum, "
        f"gradient or lyapunov."
    )


def contents(arguments: Sequence[str], grid: Sequence[Axis]) -> dict[str, str]:
    """Return the SHA-256 of the files and Zarr stores that the command line or a value of the grid names."""
    values = [value for each in grid for value in each.values if isinstance(value, str)]
    words = [word.partition("=")[2] if word.startswith("-") else word for word in arguments]
    named = [path for path in map(Path, {*words, *values}) if path.is_file() or path.suffix == ".zarr"]
    files = [file for path in named for file in (path, *path.rglob("*")) if file.is_file()]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}
