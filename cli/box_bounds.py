"""`dynlab box-bounds`: what is proved of a network's Jacobian over a whole box of states."""

import click

from dynlab.errors import UserError, require_extra

from .analysis import analysis, measured
from .options import ANYTHING, COUNT, HELD
from .output import CommandResult
from .source import Source
from .values import numbers


@analysis(ANYTHING | HELD, name="box-bounds")
@click.option(
    "--box", metavar="R|LOW,HIGH", help="|h_i| up to R, or from LOW to HIGH.  [default: the states' own bounds]"
)
@click.option("--states", type=COUNT, default=256, show_default=True, help="How many states are sampled in the box.")
@click.option("--prove", is_flag=True, help="Also of a network of more than 256 dimensions, in hours.")
def box_bounds(source: Source, box: str | None, states: int, prove: bool) -> CommandResult:
    """Prove bounds on the Jacobian over all states of a box: a common norm, and the real parts of eigenvalues.

    A spectral radius below 1 at every state proves nothing about orbits; one norm below 1 for all states does. Needs
    python-flint (pip install dynlab-rnn[certify]).

    \b
    dynlab box-bounds rnn-har2 --box 0.1
    dynlab box-bounds antisymmetric-har2 --box -0.5,0.5
    """
    require_extra("flint", "certify")
    ends = None if box is None else _ends(box)
    width = ends[0] if ends is not None and len(ends) == 1 else ends
    arguments = source.map, source.mean_of
    asked = {"box": width, "samples": states, "prove": prove} | source.held | source.computing
    return measured(source, "box_bounds", "Bounding the Jacobian over the box", arguments, asked)


def _ends(box: str) -> list[float]:
    try:
        return numbers("--box", box)
    except UserError as error:
        raise UserError(
            f"--box takes one number R (|h_i| ≤ R) or LOW,HIGH, as in --box 0.5 or --box -0.5,0.5; got {box!r}."
        ) from error
