"""`dynlab lyapunov-function`: how far around a stable fixed point a quadratic function is proved to decrease."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError, require_extra

from .numbers import held_input
from .options import output_options
from .output import Output


@click.command("lyapunov-function")
@click.argument("checkpoint", metavar="[CKPT]", required=False)
@click.option(
    "--matrix", metavar="MATRIX", help="In place of CKPT, h + ε tanh(M h): a name of `phase`, or its entries."
)
@click.option("--kind", type=click.Choice(["map", "flow"]), help="Of an Euler step, which of both.  [default: map]")
@click.option("--layer", help="With CKPT: which recurrent layer.")
@click.option("--at", default="zero", show_default=True, metavar="zero|VALUES", help="The input held constant.")
@click.option("--at-step", type=int, default=-1, show_default=True, help="The step whose parameters are held.")
@click.option("--step", type=float, help="With --matrix: ε in seconds.  [default: 0.1]")
@click.option("--starts", type=click.IntRange(min=1), default=256, show_default=True, help="Of the search.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of random starts and states.")
@output_options
def lyapunov_function(
    output: Output,
    checkpoint: str | None,
    matrix: str | None,
    kind: str | None,
    layer: str | None,
    at: str,
    at_step: int,
    step: float | None,
    starts: int,
    seed: int,
) -> None:
    """Prove around each stable fixed point how far V = (h − h*)ᵀ P (h − h*) decreases: all starts there end at it.

    Needs python-flint (pip install dynlab[certify]).

    \b
    dynlab lyapunov-function --matrix diff --step 0.05
    dynlab lyapunov-function --matrix diff --kind flow
    dynlab lyapunov-function rnn-har2
    """
    if (checkpoint is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix diff.")
    require_extra("flint", "certify")
    from dynlab.diagnostics.lyapunov_function import lyapunov_function as compute
    from dynlab.plots.lyapunov_function import plot_lyapunov_function

    system: Any
    if matrix is not None:
        from dynlab.systems.planar import STEP_SIZE, planar_matrix, planar_system

        if layer is not None:
            raise UserError("--layer is a checkpoint's: leave it out, or give CKPT for --matrix.")
        system = planar_system(planar_matrix(matrix, seed), "feedback", STEP_SIZE if step is None else step)
        name = matrix if matrix.isalpha() else "matrix"
    else:
        from dynlab import zoo

        if step is not None:
            raise UserError("--step is --matrix's: leave it out, a checkpoint has its own.")
        system, name = zoo.load(str(checkpoint), layer=layer), Path(str(checkpoint)).stem
    with output.working("Proving where the function decreases"):
        ds = compute(system, at=held_input(at), at_step=at_step, kind=kind, starts=starts, seed=seed)
    output.emit(ds, plot_lyapunov_function, name)
