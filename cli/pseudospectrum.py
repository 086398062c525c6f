"""`dynlab pseudospectrum`: how far a Jacobian's eigenvalues may be trusted, and what grows before it decays."""

from typing import Any

import click

from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, GRID, NOT_NEGATIVE, POSITIVE


@analysis(ANYTHING - {"steps"})
@click.option("--at-step", type=int, help="∂h_t/∂h_{t−1} at this step t of a sequence.  [default: the last]")
@click.option("--sample", type=NOT_NEGATIVE, help="Which of the sequences.  [default: 0]")
@click.option(
    "--grid", type=GRID, help="Points of the window in each direction.  [default: 101, of more than 256 states 51]"
)
@click.option("--extent", type=POSITIVE, help="Half the width of the window.  [default: the numerical range's]")
@click.option("--steps", type=COUNT, default=100, help="Up to which power; of a flow, how many times.")
@click.option("--seconds", type=POSITIVE, help="How long a flow is followed.  [default: till it decays]")
@click.option(
    "--max-memory",
    type=COUNT,
    metavar="MIB",
    help="Most memory to use at once.  [default: 256, of a large state up to 2,048]",
)
def pseudospectrum(
    source: Source, at_step: int | None, sample: int | None, max_memory: int | None, **own: Any
) -> CommandResult:
    """Draw the pseudospectra of a Jacobian, its numerical range, and the norms of its powers.

    That of a matrix or of a system without input is taken at the origin: with --kind linear, it is the matrix itself.

    \b
    dynlab pseudospectrum --matrix "0.9,4;0,0.9" --kind linear
    dynlab pseudospectrum --matrix "-1,10;0,-2" --kind flow
    dynlab pseudospectrum model.pt --at-step 20
    dynlab pseudospectrum runs/x/*.ckpt --over step
    """
    from dynlab.diagnostics.pseudospectrum.pseudospectrum import on_trajectory

    asked: dict[str, Any] = own | {"max_memory": None if max_memory is None else max_memory * 2**20} | source.computing
    if source.takes_inputs:
        where: dict[str, Any] = {"step": at_step, "sample": sample or 0}
        asked |= on_trajectory(source.having(kind=None).map, source.driving.inputs, **where, **source.computing)
    elif at_step is not None or sample is not None:
        raise UserError("--at-step and --sample are of a sequence that drives a network: leave them out, or give CKPT.")
    return measured(source, "pseudospectrum", "Computing resolvents", [source.system], asked)
