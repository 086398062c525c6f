"""`dynlab ernn-convergence`: ERNN's inner iteration against its equilibrium."""

from __future__ import annotations

import click

from .network import Network
from .options import network_options, output_options
from .output import Output


@click.command()
@network_options
@click.option("--eta", type=float, metavar="X", help="A constant inner step η.  [default: the learned ones, cycled]")
@click.option(
    "--iterations", type=click.IntRange(min=1), default=200, show_default=True, help="How many inner steps to follow."
)
@click.option(
    "--times", type=click.IntRange(min=1), default=4, show_default=True, help="At how many steps of each sequence."
)
@output_options
def ernn_convergence(output: Output, network: Network, eta: float | None, iterations: int, times: int) -> None:
    """Follow ERNN's inner iteration towards the equilibrium that fsolve finds, and compare its rate with theory.

    Where no equilibrium exists, several do, or the iteration diverges, it says so.

    \b
    dynlab ernn-convergence ernn.pt
    dynlab ernn-convergence ernn.pt --eta 0.5
    """
    from dynlab.diagnostics.ernn.convergence import ernn_convergence as measure
    from dynlab.plots.ernn_convergence import plot_ernn_convergence

    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Following the inner iteration"):
        ds = measure(
            network.system,
            driving.inputs,
            eta=eta,
            iterations=iterations,
            times=times,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    output.emit(ds, plot_ernn_convergence, network.name)
