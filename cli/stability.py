"""`dynlab stability`: how large a step a cell's flow bears, and what theory promises of it."""

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, INTEGRATORS


@analysis(ANYTHING | {"starts"})
@click.option(
    "--integrator",
    type=INTEGRATORS,
    default="euler",
    help="Integrator whose step is judged.",
)
@click.option("--times", type=COUNT, default=64, help="Number of steps to linearise.")
def stability(source: Source, integrator: str, times: int) -> CommandResult:
    """Say whether a step keeps what the flow promises: critical steps, diffusion, integrators, theory's bounds.

    Of a cell that is an Euler step of a flow (antisymmetric, gated, feedback, FastRNN), of ERNN's inner iteration, and
    of asRNN the bound on its Jacobian alone. The trajectory is the network's own;
    a matrix without --start is linearised at the origin.

    \b
    dynlab stability --matrix diff
    dynlab stability --matrix diff --integrator implicit-midpoint
    dynlab stability antisymmetric-har2 --step-size 0.01
    dynlab stability runs/x/*.ckpt --over step
    """
    at_rest = source.matrix is not None and not source.starts
    asked = {"integrator": integrator, "step_size": source.step_size, "times": 1 if at_rest else times}
    return measured(source, "stability", "Linearising", [source.map], source.driven | asked | source.computing)
