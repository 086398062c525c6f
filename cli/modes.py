"""`dynlab modes`: what a network keeps at its fixed points, and what it reads."""

from __future__ import annotations

import functools

import click

from dynlab.errors import UserError

from .network import Network
from .numbers import held_input
from .options import network_options, output_options
from .output import Output

SHOWN = 12  # modes: all eigenvectors of a network at all its fixed points are megabytes


@click.command()
@network_options
@click.option("--at", default="zero", show_default=True, metavar="zero|mean|VALUES", help="The input held constant.")
@click.option("--at-step", type=int, default=-1, show_default=True, help="The step held where parameters change.")
@click.option("--starts", type=click.IntRange(min=1), default=256, show_default=True, help="Of the search for them.")
@click.option("-k", type=int, metavar="N", help="Only the N modes of largest modulus.  [default: 12, or all]")
@click.option("--point", type=int, metavar="N", help="The fixed point drawn in detail, from 0.  [default: 0]")
@output_options
def modes(
    output: Output, network: Network, at: str, at_step: int, starts: int, k: int | None, point: int | None
) -> None:
    """Take a network's linear map at each fixed point apart: time constants, frequencies, what drives and reads them.

    Left eigenvectors say what of the input and the state a mode selects, right ones the pattern in which it keeps it.
    A mode that is not told from another, or whose modulus is not told from 1, is not interpreted.

    \b
    dynlab modes gru-flipflop --point 25
    dynlab modes model.pt --at mean -k 10
    dynlab modes runs/x/*.ckpt --over step
    """
    held = held_input(at)
    if point is not None:
        output.check_alone("--point")
    from dynlab import schema
    from dynlab.diagnostics.modes import modes as measure
    from dynlab.plots.modes import plot_modes

    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Searching for fixed points"):
        ds = measure(
            network.system,
            driving.inputs,
            k=min(SHOWN, network.system.state_size) if k is None else k,
            at=held,
            at_step=at_step,
            starts=starts,
            readout=network.checkpoint.readout,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    found = ds.sizes[schema.FIXED_POINT]
    if point is not None and not 0 <= point < max(1, found):
        raise UserError(f"--point counts the fixed points from 0, and {found} were found; got {point}.")
    output.emit(ds, functools.partial(plot_modes, fixed_point=point or 0), network.name)
