"""`dynlab box-bounds`: what is proved of a network's Jacobian over a whole box of states."""

from __future__ import annotations

import click

from dynlab.errors import require_extra

from .network import Network
from .numbers import held_input, numbers
from .options import network_options, output_options
from .output import Output


@click.command("box-bounds")
@network_options
@click.option(
    "--box", metavar="R|LOW,HIGH", help="|h_i| up to R, or from LOW to HIGH.  [default: the states' own bounds]"
)
@click.option("--at", default="zero", show_default=True, metavar="zero|mean|VALUES", help="The input held constant.")
@click.option("--at-step", type=int, default=-1, show_default=True, help="The step whose parameters are held.")
@click.option("--states", type=click.IntRange(min=1), default=256, show_default=True, help="Sampled in the box.")
@output_options
def box_bounds(output: Output, network: Network, box: str | None, at: str, at_step: int, states: int) -> None:
    """Prove bounds on the Jacobian over all states of a box: a common norm, and the real parts of eigenvalues.

    A spectral radius below 1 at every state proves nothing about orbits; one norm below 1 for all states does. Needs
    python-flint (pip install dynlab[certify]).

    \b
    dynlab box-bounds rnn-har2 --box 0.1
    dynlab box-bounds antisymmetric-har2 --box -0.5,0.5
    """
    require_extra("flint", "certify")
    held = held_input(at)
    ends = None if box is None else numbers("--box", box)
    from dynlab.diagnostics.box_bounds import box_bounds as compute
    from dynlab.plots.box_bounds import plot_box_bounds

    inputs = None
    if at == "mean":
        inputs = network.driving.inputs
        output.log(f"The mean of {network.driving.description}.")
    with output.working("Bounding the Jacobian over the box"):
        ds = compute(
            network.system,
            inputs,
            box=ends[0] if ends is not None and len(ends) == 1 else ends,
            at=held,
            at_step=at_step,
            samples=states,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    output.emit(ds, plot_box_bounds, network.name)
