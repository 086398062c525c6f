"""`dynlab geometry`: where a network's states lie, and the fixed points among them."""

from typing import Any

import click

import dynlab as dl

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, HELD, NOT_NEGATIVE, POSITIVE, RANDOM_STARTS


@analysis(ANYTHING | HELD)
@RANDOM_STARTS
@click.option(
    "--transient", type=NOT_NEGATIVE, default=0, metavar="STEPS", help="Steps, or seconds of a flow, that do not count."
)
@click.option("--seconds", type=POSITIVE, help="Length of a flow's solutions.  [default: 2,000 steps]")
@click.option("--curve-steps", type=COUNT, metavar="STEPS", help="Of the curves from saddles.  [default: 10,000]")
@click.option(
    "--tangent",
    type=NOT_NEGATIVE,
    metavar="N",
    help="Instead: the step around fixed point N, from 0, beside its linear map.",
)
def geometry(source: Source, tangent: int | None, **own: Any) -> CommandResult:
    """Show the space of a system's states: principal components, their dimension, and the fixed points among them.

    Fixed points are filled where they are stable and open where not; lines show the directions in which orbits leave
    them, ellipses the planes in which they spiral out.

    \b
    dynlab geometry gru-flipflop
    dynlab geometry model.pt --at mean
    dynlab geometry gru-flipflop --tangent 8
    dynlab geometry runs/x/*.ckpt --over step
    """
    along = {"initial_state": source.initial_states or None} if source.is_flow else source.driven
    asked = along | own | source.held | source.computing
    found = measured(source, "geometry", "Following trajectories, searching for fixed points", [source.system], asked)
    if tangent is None:
        return found
    from dynlab.diagnostics.geometry.tangent_map import tangent_map_among

    around = tangent_map_among(source.system, found.dataset, tangent)
    return CommandResult(around, dl.plot_tangent_map, f"{source.name}-tangent-{tangent}")
