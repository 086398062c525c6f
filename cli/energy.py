"""`dynlab energy`: whether a flow conserves its energy, and what an integrator's step makes of that."""

from __future__ import annotations

from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .numbers import held_input, numbers
from .options import optional_network_options, output_options
from .output import Output

INTEGRATORS = ("euler", "midpoint", "rk4", "implicit-midpoint", "exponential-euler")


@click.command()
@optional_network_options("inputs", "samples", "steps", "data_dir")
@click.option("--matrix", metavar="MATRIX", help='In place of CKPT, h\' = tanh(M h): "0,-2;2,0", or a name of `phase`.')
@click.option("--at", default="zero", show_default=True, metavar="zero|VALUES", help="The input held constant.")
@click.option("--step", type=float, help="ε in seconds.  [default: the checkpoint's own; 0.1 of a matrix]")
@click.option("--steps", type=click.IntRange(min=1), default=500, show_default=True, help="How many.")
@click.option("--start", "starts", multiple=True, metavar="X,Y", help="Repeatable.  [default: the paper's, or random]")
@click.option(
    "--integrator", "integrators", multiple=True, type=click.Choice(INTEGRATORS), help="Repeatable.  [default: all]"
)
@output_options
def energy(
    output: Output,
    network: Network,
    matrix: str | None,
    at: str,
    step: float | None,
    steps: int,
    starts: tuple[str, ...],
    integrators: tuple[str, ...],
) -> None:
    """Follow the energy H = Σ log cosh(M h + q) of h' = tanh(M h + q), and its drift under each integrator.

    \b
    dynlab energy --matrix zero
    dynlab energy --matrix diff --step 0.05 --integrator euler --integrator rk4
    dynlab energy antisymmetric-har2
    dynlab energy runs/x/*.ckpt --over step
    """
    if (network.found is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix zero.")
    from dynlab.diagnostics.energy import energy as compute
    from dynlab.plots.energy import plot_energy

    system: Any
    given: Any = [numbers("--start", text) for text in starts] or None
    if matrix is not None:
        from dynlab.systems.planar import STARTS, planar_matrix, planar_system

        system, name = planar_system(planar_matrix(matrix, network.seed)), matrix if matrix.isalpha() else "matrix"
        given = given or STARTS
    else:
        system, name = network.checkpoint.system, network.name
    with output.working("Solving the flow"):
        ds = compute(
            system,
            at=held_input(at),
            initial_state=given,
            step_size=step,
            steps=steps,
            integrators=integrators or INTEGRATORS,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    output.emit(ds, plot_energy, name)
