"""`dynlab ernn-convergence`: ERNN's inner iteration against its equilibrium."""

from __future__ import annotations

import click

from .analysis import Result, analysis
from .options import CHECKPOINT, COMPUTING, COUNT, DRIVING
from .source import Source


@analysis(CHECKPOINT | DRIVING | COMPUTING, name="ernn-convergence")
@click.option("--eta", type=float, metavar="X", help="A constant inner step η.  [default: the learned ones, cycled]")
@click.option("--iterations", type=COUNT, default=200, show_default=True, help="How many inner steps to follow.")
@click.option("--times", type=COUNT, default=4, show_default=True, help="At how many steps of each sequence.")
def ernn_convergence(source: Source, eta: float | None, iterations: int, times: int) -> Result:
    """Follow ERNN's inner iteration towards the equilibrium that fsolve finds, and compare its rate with theory.

    Where no equilibrium exists, several do, or the iteration diverges, it says so.

    \b
    dynlab ernn-convergence ernn.pt
    dynlab ernn-convergence ernn.pt --eta 0.5
    """
    from dynlab.diagnostics.ernn.convergence import ernn_convergence as measure
    from dynlab.plots.ernn_convergence import plot_ernn_convergence

    system, inputs = source.map, source.driving.inputs
    with source.working("Following the inner iteration"):
        ds = measure(system, inputs, eta=eta, iterations=iterations, times=times, **source.computing)
    return Result(ds, plot_ernn_convergence, source.name)
