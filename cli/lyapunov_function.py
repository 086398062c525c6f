"""`dynlab lyapunov-function`: how far around a stable fixed point a quadratic function is proved to decrease."""

from __future__ import annotations

from typing import Any

import click

from dynlab.errors import UserError, require_extra

from .network import Network
from .numbers import held_input
from .options import optional_network_options, output_options
from .output import Output


@click.command("lyapunov-function")
@optional_network_options("inputs", "samples", "steps", "device", "dtype", "data_dir")
@click.option(
    "--matrix", metavar="MATRIX", help="In place of CKPT, h + ε tanh(M h): a name of `phase`, or its entries."
)
@click.option("--kind", type=click.Choice(["map", "flow"]), help="Of an Euler step, which of both.  [default: map]")
@click.option("--at", default="zero", show_default=True, metavar="zero|VALUES", help="The input held constant.")
@click.option("--at-step", type=int, default=-1, show_default=True, help="The step whose parameters are held.")
@click.option("--step", type=float, help="With --matrix: ε in seconds.  [default: 0.1]")
@click.option("--starts", type=click.IntRange(min=1), default=256, show_default=True, help="Of the search.")
@output_options
def lyapunov_function(
    output: Output,
    network: Network,
    matrix: str | None,
    kind: str | None,
    at: str,
    at_step: int,
    step: float | None,
    starts: int,
) -> None:
    """Prove around each stable fixed point how far V = (h − h*)ᵀ P (h − h*) decreases: all starts there end at it.

    Needs python-flint (pip install dynlab[certify]).

    \b
    dynlab lyapunov-function --matrix diff --step 0.05
    dynlab lyapunov-function --matrix diff --kind flow
    dynlab lyapunov-function rnn-har2
    dynlab lyapunov-function runs/x/*.ckpt --over step
    """
    if (network.found is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix diff.")
    require_extra("flint", "certify")
    from dynlab.diagnostics.lyapunov_function import lyapunov_function as compute
    from dynlab.plots.lyapunov_function import plot_lyapunov_function

    system: Any
    if matrix is not None:
        from dynlab.systems.planar import STEP_SIZE, planar_matrix, planar_system

        system = planar_system(planar_matrix(matrix, network.seed), "feedback", STEP_SIZE if step is None else step)
        name = matrix if matrix.isalpha() else "matrix"
    else:
        if step is not None:
            raise UserError("--step is --matrix's: leave it out, a checkpoint has its own.")
        system, name = network.checkpoint.system, network.name
    with output.working("Proving where the function decreases"):
        ds = compute(system, at=held_input(at), at_step=at_step, kind=kind, starts=starts, seed=network.seed)
    output.emit(ds, plot_lyapunov_function, name)
