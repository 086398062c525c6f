"""`dynlab basins`: which start ends where."""

from __future__ import annotations

from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .numbers import held_input
from .options import optional_network_options, output_options
from .output import Output


@click.command()
@optional_network_options("steps")
@click.option("--matrix", metavar="MATRIX", help='In place of CKPT: a planar matrix as in `dynlab phase`, "a,b;c,d".')
@click.option("--kind", type=click.Choice(["feedback", "vanilla"]), help="Of --matrix.  [default: feedback]")
@click.option("--step", type=float, help="Of --matrix: ε in seconds.  [default: 0.1]")
@click.option("--at", metavar="zero|mean|VALUES", help="With CKPT: the input held constant.  [default: zero]")
@click.option("--grid", type=int, default=151, show_default=True, help="Starts in each direction.")
@click.option("--extent", type=float, help="Half the width of the window.  [default: 3; with CKPT the states' own]")
@click.option("--steps", type=int, default=2000, show_default=True, help="How long each start is followed.")
@click.option(
    "--max-memory", type=click.IntRange(min=1), default=256, show_default=True, metavar="MIB", help="At once."
)
@output_options
def basins(
    output: Output,
    network: Network,
    matrix: str | None,
    kind: str | None,
    step: float | None,
    at: str | None,
    grid: int,
    extent: float | None,
    steps: int,
    max_memory: int,
) -> None:
    """Draw which start ends where: fixed points, periodic orbits, invariant curves, chaos, and their basins.

    The starts of a network lie on the plane of the two leading principal components of the states that --inputs
    drives it through; then its input is held constant.

    \b
    dynlab basins --matrix diff
    dynlab basins model.pt --at mean --grid 101
    dynlab basins runs/x/*.ckpt --over step --grid 51
    """
    if (network.found is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix diff.")
    from dynlab.diagnostics.basins import basins as compute
    from dynlab.plots.basins import plot_basins

    place: dict[str, Any]
    where: dict[str, Any] = {"dtype": network.dtype, "device": network.device, "seed": network.seed}
    if matrix is not None:
        if at is not None:
            raise UserError("--at is a checkpoint's: leave it out, or give CKPT for --matrix.")
        system, name, place = _of_matrix(matrix, kind, step, network.seed), "matrix", {}
    else:
        for option, value in (("--kind", kind), ("--step", step)):
            if value is not None:
                raise UserError(f"{option} is --matrix's: leave it out.")
        system, name, place = network.system, network.name, _of_network(output, network, at or "zero", where)
    with output.working(f"Following {grid**2:,} starts"):
        ds = compute(system, **place, grid=grid, extent=extent, steps=steps, max_memory=max_memory * 2**20, **where)
    output.emit(ds, plot_basins, name)


def _of_matrix(matrix: str, kind: str | None, step: float | None, seed: int) -> Any:
    from dynlab.systems.planar import STEP_SIZE, planar_matrix, planar_system

    return planar_system(planar_matrix(matrix, seed), kind or "feedback", STEP_SIZE if step is None else step)


def _of_network(output: Output, network: Network, at: str, where: dict[str, Any]) -> dict[str, Any]:
    """What spans the plane, and what is held."""
    from dynlab.driven import drive

    given = held_input(at)
    driving = network.driving
    output.log(f"The plane is that of the states driven by {driving.description}.")
    driven = drive(network.system, driving.inputs, None, **where, inputs_description="")
    means: dict[str, Any] = {"zero": None, "mean": driven.inputs.mean(dim=(0, 1)).cpu().numpy()}
    held = means[given] if isinstance(given, str) else given
    return {"states": driven.states.cpu().numpy(), "input": held, "t": driven.steps - 1}
