"""`dynlab sweep`: an analysis over a grid of its options, computed by many processes into one store."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import dynlab
from dynlab.errors import OWN
from dynlab.progress import through, working

from .options import FOLDER, NOT_NEGATIVE
from .output import OWN_ERROR, check_file, echo, print_json

if TYPE_CHECKING:
    from dynlab.sweep.store import Store, Value

MOST_SAID = 5  # failures


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", metavar="COMMAND")
@click.argument("arguments", metavar="[CKPT]... [OPTIONS OF COMMAND]", nargs=-1, type=click.UNPROCESSED)
@click.option("--grid", multiple=True, metavar="NAME=VALUES", help="lo:hi:20, lo:hi:log20 or a,b,c; repeatable.")
@click.option(
    "--save",
    "data",
    type=FOLDER,
    metavar="FILE",
    required=True,
    help="The store, .zarr. An unfinished one is continued.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler: tcp://host:8786.  [default: this machine]"
)
@click.option(
    "--workers", type=NOT_NEGATIVE, help="Processes on this machine; 0: this one alone.  [default: its cores]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the verdict.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def sweep(
    command: str,
    arguments: tuple[str, ...],
    grid: tuple[str, ...],
    data: Path,
    scheduler: str | None,
    workers: int | None,
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
    check_file(data, "--save", (".zarr",), overwrite=True)
    with working("Computing a cell", quiet=quiet):
        from dynlab import sweep as sweeps

        from . import sweep_grid

        cells, before = sweep_grid.grid_of(command, arguments, grid)
        said = f"{sweeps.size(cells):,} cells: " + " × ".join(f"{each.name} ({len(each.values):,})" for each in cells)
        begun = dynlab.__version__, os.getcwd()
        compute = functools.partial(sweep_grid.cell_dataset, command, list(arguments), before, begun)
        about = {"command": command, "arguments": arguments, "files": sweep_grid.contents(arguments, cells)}
        store = sweeps.opened(compute, cells, data, about)
    left = len(store.pending())
    with working(f"Sweeping {left:,} cells", quiet=quiet):
        ended = through(sweeps.run(compute, store, scheduler=scheduler, workers=workers), left)
        problems = [(sweeps.cell(cells, index), why) for index, why in ended if why]
    return _summary(said, command, store, problems, as_json)


def _summary(
    said: str, command: str, store: Store, problems: Sequence[tuple[Mapping[str, Value], str]], as_json: bool
) -> int:
    """Print what was computed and what failed; return the exit code."""
    done = int(store.done.sum()) - store.before
    if as_json:
        counts = {"cells": store.done.size, "done_before": store.before, "done": done, "failed": len(problems)}
        about = {"command": "sweep", "of": command, "files": {"data": str(store.path)}}
        print_json(about | counts | {"problems": [{"cell": cell, "problem": why} for cell, why in problems]})
    else:
        before = f", {store.before:,} were before" if store.before else ""
        echo(f"{said}. {done:,} are done{before}, {len(problems):,} failed: {store.path}.")
        for cell, why in problems[:MOST_SAID]:
            echo(f"Failed: {', '.join(f'{key} = {value}' for key, value in cell.items())}: {why}")
        if problems:
            echo("The same line tries them again.")
    if not any(why.startswith(OWN) for _, why in problems):
        return 0
    echo(f"dynlab: errors of dynlab's own are in {store.path}; please report them.", err=True)
    return OWN_ERROR
