"""``--over step``: a command's analysis of every checkpoint of one run, joined along the step of its training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from dynlab.errors import UserError

from .output import COLLECTED, Output

if TYPE_CHECKING:
    import xarray as xr

    from .network import Network


def over_step(
    command: Callable[..., Any],
    paths: Sequence[str],
    reading: dict[str, Any],
    network: Callable[..., Network],
    rest: dict[str, Any],
) -> None:
    """Run `command` on every checkpoint, and emit what it would have emitted as one Dataset with its bands.

    Parameters
    ----------
    command : callable
        It takes ``network=`` and `rest`, and gives its result to `Output.emit`.
    paths : sequence of str
        A run's folder, or its checkpoints.
    reading : dict
        How they are read (`dynlab.checkpoints.of_run.read_run`).
    network : callable
        Of a checkpoint, its name and the Network whose inputs it shares.
    rest : dict
        The command's own options.
    """
    from dynlab.checkpoints.of_run import read_run
    from dynlab.diagnostics.over_training.diagnostic import joined
    from dynlab.plots.over_training import plot_over_training

    context = click.get_current_context()
    given = context.params
    files = (given["output"], given["data"], given["as_json"], given["overwrite"], given["quiet"])
    output = Output(context.info_name or "dynlab", *files)
    snapshots = read_run(paths, **reading)
    name = f"{snapshots[0].path.absolute().parent.name or 'run'}-over-step"
    first = network(snapshots[0].checkpoint, name)
    output.log(f"{len(snapshots)} checkpoints.")
    results: dict[int, xr.Dataset] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        collected: list[xr.Dataset] = []
        context.meta[COLLECTED] = collected
        with output.working(f"{number} of {len(snapshots)}, step {snapshot.step:,}"):
            try:
                command(network=network(snapshot.checkpoint, name, first), **rest)
            except UserError as error:
                if number == 1:  # what is wrong with all of them
                    raise
                raise UserError(f"{snapshot.path}, step {snapshot.step:,}: {error}") from error
        (results[snapshot.step],) = collected
        if number == 1 and first.has_read:
            output.log(f"Driven by {first.driving.description}.")
    ds = joined(results, {each.step: each.checkpoint.source for each in snapshots})
    output.emit(ds, plot_over_training, name)
