"""`dynlab energy`: whether a flow conserves its energy, and what an integrator's step makes of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError

from .numbers import held_input, numbers
from .options import output_options
from .output import Output

INTEGRATORS = ("euler", "midpoint", "rk4", "implicit-midpoint", "exponential-euler")


@click.command()
@click.argument("checkpoint", metavar="[CKPT]", required=False)
@click.option("--matrix", metavar="MATRIX", help='In place of CKPT, h\' = tanh(M h): "0,-2;2,0", or a name of `phase`.')
@click.option("--layer", help="With CKPT: which recurrent layer.")
@click.option("--at", default="zero", show_default=True, metavar="zero|VALUES", help="The input held constant.")
@click.option("--step", type=float, help="ε in seconds.  [default: the checkpoint's own; 0.1 of a matrix]")
@click.option("--steps", type=click.IntRange(min=1), default=500, show_default=True, help="How many.")
@click.option("--start", "starts", multiple=True, metavar="X,Y", help="Repeatable.  [default: the paper's, or random]")
@click.option(
    "--integrator", "integrators", multiple=True, type=click.Choice(INTEGRATORS), help="Repeatable.  [default: all]"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of random starts.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, mps.")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Precision."
)
@output_options
def energy(
    output: Output,
    checkpoint: str | None,
    matrix: str | None,
    layer: str | None,
    at: str,
    step: float | None,
    steps: int,
    starts: tuple[str, ...],
    integrators: tuple[str, ...],
    seed: int,
    device: str,
    dtype: str,
) -> None:
    """Follow the energy H = Σ log cosh(M h + q) of h' = tanh(M h + q), and its drift under each integrator.

    \b
    dynlab energy --matrix zero
    dynlab energy --matrix diff --step 0.05 --integrator euler --integrator rk4
    dynlab energy antisymmetric-har2
    """
    if (checkpoint is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix zero.")
    from dynlab.diagnostics.energy import energy as compute
    from dynlab.plots.energy import plot_energy

    system: Any
    given: Any = [numbers("--start", text) for text in starts] or None
    if matrix is not None:
        from dynlab.systems.planar import STARTS, planar_matrix, planar_system

        if layer is not None:
            raise UserError("--layer is a checkpoint's: leave it out, or give CKPT for --matrix.")
        system, name = planar_system(planar_matrix(matrix, seed)), matrix if matrix.isalpha() else "matrix"
        given = given or STARTS
    else:
        from dynlab import zoo

        system, name = zoo.load(str(checkpoint), layer=layer), Path(str(checkpoint)).stem
    with output.working("Solving the flow"):
        ds = compute(
            system,
            at=held_input(at),
            initial_state=given,
            step_size=step,
            steps=steps,
            integrators=integrators or INTEGRATORS,
            dtype=dtype,
            device=device,
            seed=seed,
        )
    output.emit(ds, plot_energy, name)
