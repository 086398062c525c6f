"""`dynlab stability`: how large a step a cell's flow bears, and what theory promises of it."""

from __future__ import annotations

from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .numbers import numbers
from .options import optional_network_options, output_options
from .output import Output


@click.command()
@optional_network_options()
@click.option(
    "--matrix",
    metavar="MATRIX",
    help='In place of CKPT: h + ε tanh(W h), as in `dynlab phase`: diff, zero, …, or entries "a,b;c,d" of any size.',
)
@click.option("--start", "starts", multiple=True, metavar="X,Y", help="Of --matrix; repeatable.  [default: the origin]")
@click.option(
    "--integrator",
    type=click.Choice(["euler", "midpoint", "rk4", "implicit-midpoint", "exponential-euler"]),
    default="euler",
    show_default=True,
    help="Whose step is asked about.",
)
@click.option("--step", type=float, help="ε in seconds.  [default: the network's own; 0.1 of --matrix]")
@click.option(
    "--times", type=click.IntRange(min=1), default=64, show_default=True, help="How many steps are linearised."
)
@output_options
def stability(
    output: Output,
    network: Network,
    matrix: str | None,
    starts: tuple[str, ...],
    integrator: str,
    step: float | None,
    times: int,
) -> None:
    """Say whether a step keeps what the flow promises: critical steps, diffusion, integrators, theory's bounds.

    Of a cell that is an Euler step of a flow (antisymmetric, gated, feedback, FastRNN), of ERNN's inner iteration, and
    of asRNN the bound on its Jacobian alone. The trajectory is the network's own, whatever --step and --integrator.

    \b
    dynlab stability --matrix diff
    dynlab stability --matrix diff --integrator implicit-midpoint
    dynlab stability antisymmetric-har2 --step 0.01
    dynlab stability runs/x/*.ckpt --over step
    """
    if (network.found is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix diff.")
    from dynlab.diagnostics.stability import stability as compute
    from dynlab.plots.stability import plot_stability

    if matrix is not None:
        system, name, driven = _of_matrix(matrix, step, starts, network)
    elif starts:
        raise UserError("--start is --matrix's: leave it out.")
    else:
        system, name, driving = network.system, network.name, network.driving
        driven = {"inputs": driving.inputs, "inputs_description": driving.description}
        output.log(f"Driven by {driving.description}.")
    where: dict[str, Any] = {"dtype": network.dtype, "device": network.device, "seed": network.seed}
    with output.working("Linearising"):
        ds = compute(system, **driven, integrator=integrator, step_size=step, times=times, **where)
    output.emit(ds, plot_stability, name)


def _of_matrix(
    matrix: str, step: float | None, starts: tuple[str, ...], network: Network
) -> tuple[Any, str, dict[str, Any]]:
    """The system, its name for the figure, and what it is driven by: at the origin, or along the orbits of starts."""
    import numpy as np

    from dynlab.systems.planar import MATRICES, SEEDED, STEP_SIZE, parse_matrix, planar_matrix, planar_system

    planar = matrix in SEEDED or matrix in MATRICES or not any(sign in matrix for sign in ",;0123456789")
    rows = planar_matrix(matrix, network.seed) if planar else parse_matrix(matrix)
    system = planar_system(rows, "feedback", STEP_SIZE if step is None else step)
    name = matrix if planar else "matrix"
    if not starts:
        return system, name, {"inputs": np.zeros((1, 0))}
    states = [numbers("--start", text) for text in starts]
    if any(len(state) != len(rows) for state in states):
        raise UserError(f"--start takes {len(rows)} numbers, one for each row of the matrix; got {', '.join(starts)}.")
    described = f"orbits of {len(states)} start{'s' if len(states) > 1 else ''}"
    inputs = np.zeros((network.steps, 0))
    return system, name, {"inputs": inputs, "initial_state": states, "inputs_description": described}
