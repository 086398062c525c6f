"""`dynlab spectrum`: the Jacobian's eigenvalues along what drives a network."""

from __future__ import annotations

import click

from .network import Network
from .options import network_options, output_options
from .output import Output


@click.command()
@network_options
@click.option(
    "--times",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="How many steps of each sequence are linearised, evenly spaced.",
)
@output_options
def spectrum(output: Output, network: Network, times: int) -> None:
    """Show the spectra of a network's one-step Jacobians along driven trajectories.

    \b
    dynlab spectrum model.pt
    dynlab spectrum model.pt --inputs noise:1.0 --steps 200 --data spectrum.nc
    dynlab spectrum runs/x/*.ckpt --over step
    """
    from dynlab.diagnostics.spectrum import spectrum as compute
    from dynlab.plots.spectrum import plot_spectrum

    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Linearising"):
        ds = compute(
            network.system,
            driving.inputs,
            times=times,
            inputs_description=driving.description,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    output.emit(ds, plot_spectrum, network.name)
