"""`dynlab sweep`: an analysis over a grid of its options, computed by many processes into one store."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dynlab
from dynlab.errors import OWN, UserError, lookup
from dynlab.progress import duration, through

from . import COMMANDS
from .analysis import AnalysisCommand
from .options import FOLDER
from .output import OWN_ERROR, echo, print_json, working
from .sweep_files import contents
from .sweep_grid import CHECKPOINT, grid_of
from .sweep_train import trained

if TYPE_CHECKING:
    import xarray as xr

    from dynlab.checkpoints import Checkpoint
    from dynlab.sweep import Axis, Store, Trial

MOST_SAID = 5  # failures
AGAIN = "The same line tries them again."
THEIRS = {"ignore_unknown_options": True}


@click.command(context_settings=THEIRS)
@click.argument("command", metavar="COMMAND")
@click.argument("arguments", metavar="[CKPT]... [OPTIONS OF COMMAND]", nargs=-1, type=click.UNPROCESSED)
@click.option("--grid", multiple=True, metavar="NAME=VALUES", help="lo:hi:20, lo:hi:log20 or a,b,c; repeatable.")
@click.option("--save", "data", type=FOLDER, metavar="FILE", help="The store, .zarr. An unfinished one is continued.")
@click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster: tcp://host:8786.  [default: this machine]")
@click.option(
    "--workers", type=click.IntRange(min=0), help="Processes on this machine; 0: this one alone.  [default: its cores]"
)
@click.option("--dry-run", is_flag=True, help="Say how many cells there are, and how long and large they will be.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the verdict.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def sweep(
    command: str,
    arguments: tuple[str, ...],
    grid: tuple[str, ...],
    data: Path | None,
    scheduler: str | None,
    workers: int | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compute an analysis over a grid of its options, by many processes, into one store that can be read meanwhile.

    NAME is an option of the command, or a setting of --system. Several checkpoints are an axis of their own. After an
    interruption run the same line again: it computes what is missing, and tries again what failed. Cells that failed
    say why. `sweep train` trains one network for each cell, in a folder of its own in --output.

    \b
    dynlab sweep lyapunov --system lorenz --seconds 50 --grid rho=20:30:11 --save lorenz.zarr
    dynlab sweep gradient a.pt b.pt --grid inputs=noise:0.5,noise:1.0 --grid seed=0,1,2 --save gradients.zarr
    dynlab sweep fixed-points model.pt --grid seed=0:99:100 --save points.zarr --scheduler tcp://10.0.0.1:8786
    dynlab sweep train --system gru --task flipflop --grid hidden_size=16,32 --grid seed=0,1,2 -o runs --save gru.zarr
    """
    swept = _swept(command)
    if not dry_run:
        _check_data(data)
        if scheduler is not None and workers is not None:
            raise UserError("--workers are of this machine, and --scheduler has its own: leave one of the two out.")
    with working("Loading", quiet=quiet):
        from dynlab import sweep as sweeps

        cells, before = grid_of(swept, arguments, grid)
        if scheduler is not None:
            sweeps.check_address(scheduler)
    once = not isinstance(swept, AnalysisCommand)  # a training stays in its folder
    compute = functools.partial(cell_dataset, command, list(arguments), before, (dynlab.__version__, os.getcwd()))
    if data is None or dry_run:
        with working("Computing a cell", quiet=quiet, at_once=True):
            first = sweeps.first_trial(compute, cells, once)
        processes = sweeps.cores() if workers is None else max(1, workers)
        return _tell_first(first, cells, processes, scheduler, as_json)
    with working("Computing a cell", quiet=quiet, at_once=True):
        about = {"command": command, "arguments": list(arguments)}
        store, trial = sweeps.opened(compute, cells, data, about, contents(arguments, cells), once)
    ready = sweeps.size(cells) - len(store.pending())
    ready -= sum(each.dataset is not None for each in trial.outcomes) if trial is not None else 0
    if trial is not None:
        left = sweeps.size(cells) - ready - len(trial.outcomes)
        with working(f"Sweeping {left:,} cells", quiet=quiet, at_once=True):
            for _ in through(sweeps.run(compute, store, trial, scheduler=scheduler, workers=workers), left):
                pass
    return _tell(command, store, ready, as_json)


def cell_dataset(
    command: str, arguments: list[str], before: Mapping[str, str], begun: tuple[str, str], values: Mapping[str, Any]
) -> xr.Dataset:
    """The Dataset of one cell of a sweep: what the command computes, given the arguments of all and the cell's values.

    Parameters
    ----------
    command : str
        Its name.
    arguments : list of str
    before : mapping of str to str
        What stands before a value of that name on the command line.
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
    if os.path.isdir(folder) and os.getcwd() != folder:
        os.chdir(folder)  # a worker computes one cell at a time
    analysis = _swept(command)
    words = [f"{text}{values[name]}" for name, text in before.items()]
    try:
        if not isinstance(analysis, AnalysisCommand):
            return trained([*arguments, *words], values)
        with analysis.asked([*arguments, *words, "--quiet"]) as (source, own):
            source.check(optional=False)
            if source.checkpoints:
                name = str(values.get(CHECKPOINT, source.checkpoints[0]))
                source = replace(source, checkpoints=(name,), found=_checkpoint(name, _state(name), **source.reading))
            return analysis.function(source, **own).dataset
    except click.ClickException as error:
        raise UserError(error.format_message()) from error


def _state(name: str) -> tuple[int, int]:
    """What changes with a file."""
    from dynlab import zoo

    found = os.stat(zoo.locate(name))
    return found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=8)
def _checkpoint(name: str, state: tuple[int, int], **reading: Any) -> Checkpoint:
    """A checkpoint, read once for the cells that a worker computes one after the other."""
    from dynlab import zoo
    from dynlab.checkpoints import read

    return read(zoo.locate(name), **reading)


def _swept(name: str) -> click.Command:
    found: click.Command = lookup(COMMANDS, name, "command")
    if found.name == "train" or (isinstance(found, AnalysisCommand) and found.can_sweep):
        return found
    raise UserError(
        f"dynlab {name} is no analysis with a Dataset, so it is not swept: choose one with --save, such as spectrum, "
        f"gradient or lyapunov, or train."
    )


def _check_data(data: Path | None) -> None:
    if data is None or data.suffix != ".zarr":
        got = "nothing" if data is None else repr(str(data))
        raise UserError(f"--save names the store of all cells, and ends in .zarr; got {got}. --dry-run needs none.")
    if not data.parent.is_dir():
        raise UserError(f"The folder {data.parent} of --save does not exist; create it first.")


def _tell_first(first: Trial, grid: list[Axis], workers: int, scheduler: str | None, as_json: bool) -> int:
    """What a sweep would take, on standard output."""
    from dynlab import sweep, wording

    count = sweep.size(grid)
    seconds = math.ceil(count / workers) * first.seconds
    if as_json:
        document = {"command": "sweep", "cells": count, "seconds_each": first.seconds, "bytes_each": first.bytes}
        print_json(document | {"workers": workers, "seconds": seconds, "bytes": count * first.bytes})
        return 0
    by = f"with {wording.counted(workers, 'worker')}" + (" (more of a cluster take less)" if scheduler else "")
    each, total = (f"{wording.number(size / 1e6, 2)} MB" for size in (first.bytes, count * first.bytes))
    echo(f"{_axes(grid)}. A cell takes {wording.number(first.seconds, 2)} s and {each}, before it is compressed.")
    echo(f"The sweep takes {duration(seconds)} {by}, and {total} at most.")
    return 0


def _axes(grid: list[Axis]) -> str:
    from dynlab import sweep, wording

    axes = " × ".join(f"{each.name} ({len(each.values):,})" for each in grid)
    return f"{wording.counted(sweep.size(grid), 'cell')}: {axes}"


def _tell(command: str, store: Store, ready: int, as_json: bool) -> int:
    """What was computed and what failed, on standard output; the exit code.

    Raises
    ------
    UserError
        Where every cell fails, and none by a fault of dynlab's own.
    """
    from dynlab import sweep, wording

    failed = [(sweep.cell(store.grid, index), problem) for index, problem in store.problems()]
    own = [_shown(*each) for each in failed if each[1].startswith(OWN)]
    if len(failed) == store.done.size and not own:
        raise UserError(f"No cell of {store.path} is done, as all {len(failed):,} failed: {_shown(*failed[0])} {AGAIN}")
    if own:
        echo(f"dynlab: errors of dynlab's own are in {store.path}; please report them. {own[0]}", err=True)
    done = store.done.size - len(store.pending()) - ready
    if as_json:
        counts = {"cells": store.done.size, "done_before": ready, "done": done, "failed": len(failed)}
        counts["computed_again"] = store.again
        problems = [{"cell": _as_json(cell), "problem": problem} for cell, problem in failed]
        files = {"data": str(store.path)}
        print_json({"command": "sweep", "of": command, "files": files} | counts | {"problems": problems})
        return OWN_ERROR if own else 0
    if store.again:
        echo(f"Files have changed: {wording.counted(store.again, 'cell')} that had been done are computed again.")
    before = f", {ready:,} were before" if ready else ""
    echo(f"{_axes(store.grid)}. {done:,} are done{before}, {len(failed):,} failed: {store.path}.")
    for each in failed[:MOST_SAID]:
        echo(f"Failed: {_shown(*each)}")
    if failed:
        echo(AGAIN)
    return OWN_ERROR if own else 0


def _as_json(cell: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a cell, an infinite one as text."""
    return {name: str(each) if each in (math.inf, -math.inf) else each for name, each in cell.items()}


def _shown(cell: Mapping[str, Any], problem: str) -> str:
    return f"{', '.join(f'{name} = {value}' for name, value in cell.items())}: {problem}"
