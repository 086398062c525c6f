"""`dynlab modes`: what a network keeps at its fixed points, and what it reads."""

import functools
from typing import Any

import click

import dynlab as dl
from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, HELD, NOT_NEGATIVE, RANDOM_STARTS

SHOWN = 12  # modes: all eigenvectors of a network at all its fixed points are megabytes


@analysis(ANYTHING | HELD)
@RANDOM_STARTS
@click.option("-k", type=COUNT, metavar="N", help="Only the N modes of largest modulus.  [default: 12, or all]")
@click.option(
    "--point",
    type=NOT_NEGATIVE,
    metavar="N",
    help="The fixed point drawn in detail, from 0.  [default: those of the verdict]",
)
def modes(source: Source, k: int | None, point: int | None, **own: Any) -> CommandResult:
    """Take a system apart at each fixed point: time constants, frequencies, what drives and what reads each mode.

    Left eigenvectors say what of the input and the state a mode selects, right ones the pattern in which it keeps it.
    A mode that is not told from another, or whose growth is undecided, is not interpreted.

    \b
    dynlab modes gru-flipflop --point 25
    dynlab modes model.pt --at mean -k 10
    dynlab modes runs/x/*.ckpt --over step
    """
    arguments = source.system, source.visiting
    asked = own | {"k": k or min(SHOWN, source.system.state_size)} | source.held | source.computing
    asked["readout"] = None if source.found is None else source.found.readout
    found = measured(source, "modes", "Searching for fixed points", arguments, asked)
    points = found.dataset.sizes["fixed_point"]
    if point is not None and point >= max(1, points):
        raise UserError(f"--point counts the fixed points from 0, and {points} were found; got {point}.")
    return found._replace(plot=functools.partial(dl.plot_modes, fixed_point=point))
