"""`dynlab geometry`: where a network's states lie, and the fixed points among them."""

import click

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
def geometry(
    source: Source,
    starts: int | None,
    transient: int,
    seconds: float | None,
    curve_steps: int | None,
    tangent: int | None,
) -> CommandResult:
    """Show the space of a system's states: principal components, their dimension, and the fixed points among them.

    Fixed points are filled where they are stable and open where not; lines show the directions in which orbits leave
    them, ellipses the planes in which they spiral out.

    \b
    dynlab geometry gru-flipflop
    dynlab geometry model.pt --at mean
    dynlab geometry gru-flipflop --tangent 8
    dynlab geometry runs/x/*.ckpt --over step
    """
    from dynlab.systems import Flow

    doing, system = "Following trajectories, searching for fixed points", source.system
    own = {"starts": starts, "transient": transient, "seconds": seconds, "curve_steps": curve_steps}
    along = {"initial_state": source.initial_states or None} if isinstance(system, Flow) else source.driven
    asked = along | own | source.held | source.computing
    found = measured(source, "geometry", doing, [system], asked)
    if tangent is None:
        return found
    from dynlab.diagnostics.geometry.tangent_map import tangent_map_among
    from dynlab.plots.tangent_map import plot_tangent_map

    around = tangent_map_among(system, found.dataset, tangent)
    return CommandResult(around, plot_tangent_map, f"{source.name}-tangent-{tangent}")
