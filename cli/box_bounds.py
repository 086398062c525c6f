"""`dynlab box-bounds`: what is proved of a network's Jacobian over a whole box of states."""

from __future__ import annotations

import click

from dynlab.errors import require_extra

from .analysis import Result, analysis
from .options import ANYTHING, COUNT, HELD
from .source import Source
from .values import numbers


@analysis(ANYTHING | HELD, name="box-bounds")
@click.option(
    "--box", metavar="R|LOW,HIGH", help="|h_i| up to R, or from LOW to HIGH.  [default: the states' own bounds]"
)
@click.option("--states", type=COUNT, default=256, show_default=True, help="Sampled in the box.")
def box_bounds(source: Source, box: str | None, states: int) -> Result:
    """Prove bounds on the Jacobian over all states of a box: a common norm, and the real parts of eigenvalues.

    A spectral radius below 1 at every state proves nothing about orbits; one norm below 1 for all states does. Needs
    python-flint (pip install dynlab-rnn[certify]).

    \b
    dynlab box-bounds rnn-har2 --box 0.1
    dynlab box-bounds antisymmetric-har2 --box -0.5,0.5
    """
    require_extra("flint", "certify")
    held = source.held
    ends = None if box is None else numbers("--box", box)
    from dynlab.diagnostics.box_bounds import box_bounds as compute
    from dynlab.plots.box_bounds import plot_box_bounds

    width = ends[0] if ends is not None and len(ends) == 1 else ends
    system, mean_of = source.map, source.mean_of
    with source.working("Bounding the Jacobian over the box"):
        ds = compute(system, mean_of, box=width, samples=states, **held, **source.computing)
    return Result(ds, plot_box_bounds, source.name)
