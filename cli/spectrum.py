"""`dynlab spectrum`: the Jacobian's eigenvalues along what drives a network."""

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT


@analysis(ANYTHING | {"starts"})
@click.option(
    "--times",
    type=COUNT,
    help="How many steps of each sequence are linearised, evenly spaced.  [default: 256, of large states fewer]",
)
@click.option(
    "--no-conditions", is_flag=True, help="Leave out the eigenvalues' conditions and the departure from normality."
)
def spectrum(source: Source, times: int | None, no_conditions: bool) -> CommandResult:
    """Show the spectra of a network's one-step Jacobians along driven trajectories.

    \b
    dynlab spectrum model.pt
    dynlab spectrum model.pt --inputs noise:1.0 --steps 200 --save spectrum.nc
    dynlab spectrum runs/x/*.ckpt --over step
    """
    asked = {"times": times, "conditions": not no_conditions} | source.computing
    return measured(source, "spectrum", "Linearising", [source.map], source.driven | asked)
