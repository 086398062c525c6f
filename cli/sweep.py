"""`dynlab sweep`: an analysis over a grid of its options, computed by many processes into one store."""

from __future__ import annotations

import functools
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dynlab
from dynlab.errors import OWN, UserError, lookup, require_extra
from dynlab.progress import through, working

from . import COMMANDS
from .analysis import AnalysisCommand, Source
from .options import FOLDER, NOT_NEGATIVE
from .output import OWN_ERROR, check_file, echo, print_json
from .sweep_grid import CHECKPOINT, grid_of

if TYPE_CHECKING:
    import xarray as xr

    from dynlab.checkpoints import Checkpoint
    from dynlab.sweep import Axis, Outcome, Store

MOST_SAID = 5  # failures
AGAIN = "The same line tries them again."


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", metavar="COMMAND")
@click.argument("arguments", metavar="[CKPT]... [OPTIONS OF COMMAND]", nargs=-1, type=click.UNPROCESSED)
@click.option("--grid", multiple=True, metavar="NAME=VALUES", help="lo:hi:20, lo:hi:log20 or a,b,c; repeatable.")
@click.option("--save", "data", type=FOLDER, metavar="FILE", help="The store, .zarr. An unfinished one is continued.")
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler: tcp://host:8786.  [default: this machine]"
)
@click.option(
    "--workers", type=NOT_NEGATIVE, help="Processes on this machine; 0: this one alone.  [default: its cores]"
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
    say why.

    \b
    dynlab sweep lyapunov --system lorenz --seconds 50 --grid rho=20:30:11 --save lorenz.zarr
    dynlab sweep gradient a.pt b.pt --grid inputs=noise:0.5,noise:1.0 --grid seed=0,1,2 --save gradients.zarr
    dynlab sweep fixed-points model.pt --grid seed=0:99:100 --save points.zarr --scheduler tcp://10.0.0.1:8786
    """
    swept = swept_command(command)
    if data is None and not dry_run:
        raise UserError("--save names the store of all cells, and ends in .zarr. --dry-run needs none.")
    check_file(data, "--save", (".zarr",), overwrite=True)
    if scheduler is not None and workers is not None:
        raise UserError("--workers are of this machine, and --scheduler has its own: leave one of the two out.")
    with working("Computing a cell", quiet=quiet):
        from dynlab import sweep as sweeps

        cells, before = grid_of(swept, arguments, grid)
        compute = functools.partial(cell_dataset, command, list(arguments), before, (dynlab.__version__, os.getcwd()))
        if data is None or dry_run:
            return _estimate(sweeps.first_trial(compute, cells)[-1], cells, workers, as_json)
        about = {"command": command, "arguments": list(arguments)}
        store, tried = sweeps.opened(compute, cells, data, about, contents(arguments, cells))
    left = len(store.pending()) - sum(bool(each.problem) for each in tried)
    with working(f"Sweeping {left:,} cells", quiet=quiet):
        for _ in through(sweeps.run(compute, store, tried, scheduler=scheduler, workers=workers), left):
            pass
    return _summary(command, store, as_json)


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
    if os.path.isdir(folder) and os.getcwd() != folder:
        os.chdir(folder)  # a worker computes one cell at a time

    def read(source: Source) -> Checkpoint:
        from dynlab import zoo

        path = zoo.locate(str(values.get(CHECKPOINT, source.checkpoints[0])))
        state = os.stat(path)
        return _checkpoint(path, (state.st_mtime_ns, state.st_size), **source.reading)

    try:
        words = [f"{text}{values[name]}" for name, text in before.items()]
        return swept_command(command).result([*arguments, *words], read).dataset
    except click.ClickException as error:
        raise UserError(error.format_message()) from error


@functools.lru_cache(maxsize=8)
def _checkpoint(path: Path, state: tuple[int, int], **reading: Any) -> Checkpoint:
    """Read a checkpoint once for all cells that a worker computes; `state` changes with the file."""
    from dynlab.checkpoints import read

    return read(path, **reading)


def swept_command(name: str) -> AnalysisCommand:
    """Return a command that can be swept, or raise."""
    found = lookup(COMMANDS, name, "command")
    if isinstance(found, AnalysisCommand) and found.can_sweep:
        return found
    raise UserError(
        f"dynlab {name} is no analysis with a Dataset, so it is not swept: choose one with --save, such as spectrum, "
        f"gradient or lyapunov."
    )


def contents(arguments: Sequence[str], grid: Sequence[Axis]) -> dict[str, str]:
    """Return the SHA-256 of each file or Zarr store that a word of the command line or a value of the grid names."""
    values = [value for each in grid for value in each.values if isinstance(value, str)]
    words = [word.partition("=")[2] if word.startswith("-") else word for word in arguments]
    paths = [Path(name) for name in dict.fromkeys([*words, *values])]
    return {str(path): _digest(path) for path in paths if path.is_file() or (path.suffix == ".zarr" and path.is_dir())}


def _digest(path: Path) -> str:
    told = hashlib.sha256()
    for file in (each for each in (path, *sorted(path.rglob("*"))) if each.is_file()):
        told.update(str(file).encode("utf-8", "surrogateescape") + file.read_bytes())
    return told.hexdigest()


def _estimate(first: Outcome, grid: list[Axis], workers: int | None, as_json: bool) -> int:
    """Print what a sweep would take, of the seconds and the Dataset of one cell."""
    from dynlab import sweep

    count, each = sweep.size(grid), 0 if first.dataset is None else first.dataset.nbytes
    workers = require_extra("dask.system", "sweep").CPU_COUNT if workers is None else max(1, workers)
    seconds, size = math.ceil(count / workers) * first.seconds, count * each
    if as_json:
        of_one = {"seconds_each": first.seconds, "bytes_each": each}
        print_json({"command": "sweep", "cells": count, "workers": workers, "seconds": seconds, "bytes": size} | of_one)
    else:
        echo(f"{_axes(grid)}. A cell takes {first.seconds:.2g} s and {each / 1e6:.2g} MB.")
        echo(f"The sweep takes about {seconds:,.3g} s with {workers:,} workers, and {size / 1e6:,.3g} MB at most.")
    return 0


def _axes(grid: list[Axis]) -> str:
    from dynlab import sweep

    return f"{sweep.size(grid):,} cells: " + " × ".join(f"{each.name} ({len(each.values):,})" for each in grid)


def _summary(command: str, store: Store, as_json: bool) -> int:
    """Print what was computed and what failed; return the exit code.

    Raises
    ------
    UserError
        If every cell fails, and none by a fault of dynlab's own.
    """
    from dynlab import sweep

    problems = [(sweep.cell(store.grid, index), why) for index, why in store.problems()]
    shown = [f"{', '.join(f'{key} = {value}' for key, value in cell.items())}: {why}" for cell, why in problems]
    own = any(why.startswith(OWN) for _, why in problems)
    if len(problems) == store.done.size and not own:
        raise UserError(f"No cell of {store.path} is done, as all {len(problems):,} failed: {shown[0]} {AGAIN}")
    done = int(store.done.sum()) - store.before
    if as_json:
        counts = {"cells": store.done.size, "done_before": store.before, "done": done, "failed": len(problems)}
        about = {"command": "sweep", "of": command, "files": {"data": str(store.path)}, "computed_again": store.again}
        print_json(about | counts | {"problems": [{"cell": cell, "problem": why} for cell, why in problems]})
    else:
        again = f", {store.again:,} again since files have changed" if store.again else ""
        before = f", {store.before:,} were before" if store.before else ""
        echo(f"{_axes(store.grid)}. {done:,} are done{again}{before}, {len(problems):,} failed: {store.path}.")
        for line in [*(f"Failed: {each}" for each in shown[:MOST_SAID]), *[AGAIN] * bool(shown)]:
            echo(line)
    if own:
        echo(f"dynlab: errors of dynlab's own are in {store.path}; please report them.", err=True)
    return OWN_ERROR if own else 0
