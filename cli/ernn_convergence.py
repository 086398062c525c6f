"""`dynlab ernn-convergence`: ERNN's inner iteration against its equilibrium."""

from typing import Any

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import CHECKPOINT, COMPUTING, COUNT, DRIVING, POSITIVE


@analysis(CHECKPOINT | DRIVING | COMPUTING, name="ernn-convergence")
@click.option("--eta", type=POSITIVE, metavar="X", help="A constant inner step η.  [default: the learned ones, cycled]")
@click.option("--iterations", type=COUNT, default=200, help="How many inner steps to follow.")
@click.option("--times", type=COUNT, default=4, help="At how many steps of each sequence.")
def ernn_convergence(source: Source, **own: Any) -> CommandResult:
    """Follow ERNN's inner iteration towards the equilibrium that fsolve finds, and compare its rate with theory.

    Where no equilibrium exists, several do, or the iteration diverges, it says so.

    \b
    dynlab ernn-convergence ernn.pt
    dynlab ernn-convergence ernn.pt --eta 0.5
    """
    arguments, asked = (source.map, source.driving.inputs), own | source.computing
    return measured(source, "ernn_convergence", "Following the inner iteration", arguments, asked)
