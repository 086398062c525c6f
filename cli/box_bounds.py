"""`dynlab box-bounds`: what is proved of a network's Jacobian over a whole box of states."""

import click

from dynlab.errors import require_extra

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, HELD, numbers


@analysis(ANYTHING | HELD, name="box-bounds")
@click.option(
    "--box",
    type=numbers,
    metavar="R|LOW,HIGH",
    help="|h_i| up to R, or from LOW to HIGH.  [default: the states' own bounds]",
)
@click.option("--states", type=COUNT, default=256, help="How many states are sampled in the box.")
@click.option("--prove", is_flag=True, help="Also of a network of more than 256 dimensions, in hours.")
def box_bounds(source: Source, box: list[float] | None, states: int, prove: bool) -> CommandResult:
    """Prove bounds on the Jacobian over all states of a box: a common norm, and the real parts of eigenvalues.

    A spectral radius below 1 at every state proves nothing about orbits; one norm below 1 for all states does. Needs
    python-flint (pip install ".[certify]" in the project's folder).

    \b
    dynlab box-bounds rnn-har2 --box 0.1
    dynlab box-bounds antisymmetric-har2 --box -0.5,0.5
    """
    require_extra("flint", "certify")
    width = box[0] if box is not None and len(box) == 1 else box
    asked = {"box": width, "samples": states, "prove": prove} | source.held | source.computing
    return measured(source, "box_bounds", "Bounding the Jacobian over the box", (source.map, source.mean_of), asked)
