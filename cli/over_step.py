"""``--over step``: a command's analysis of every checkpoint of one run, joined along the step of its training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dynlab.errors import UserError

from .output import Analysis, CommandResult, working

if TYPE_CHECKING:
    from .source import Source


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
    from dynlab.checkpoints.of_run import read_run
    from dynlab.diagnostics.over_training.diagnostic import joined
    from dynlab.plots.over_training import plot_over_training

    if not source.checkpoints:
        raise UserError("--over step follows a run: name its folder, or its checkpoints.")
    for option in alone:
        if own[option] is not None:
            raise UserError(f"--{option} is of one checkpoint: leave it out, or name that checkpoint without --over.")
    snapshots = read_run(source.checkpoints, **source.reading)
    first = replace(source, found=snapshots[0].checkpoint)
    if not source.quiet:
        told = filter(None, (snapshots[0].checkpoint.assumed, f"{len(snapshots)} checkpoints."))
        click.echo("\n".join(told), err=True)
    results = {}
    for number, snapshot in enumerate(snapshots, start=1):
        with working(f"{number} of {len(snapshots)}, step {snapshot.step:,}", quiet=source.quiet, at_once=True):
            try:
                one = function(replace(source, found=snapshot.checkpoint, first=first), **own)
            except UserError as error:
                if number == 1:  # what is wrong with all of them
                    raise
                raise UserError(f"{snapshot.path}, step {snapshot.step:,}: {error}") from error
        results[snapshot.step] = one.dataset
    ds = joined(results, {each.step: each.checkpoint.source for each in snapshots})
    run = snapshots[0].path.absolute().parent.name or "run"
    return CommandResult(ds, plot_over_training, f"{run}-over-step")
