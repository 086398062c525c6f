"""`dynlab basins`: which start ends where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .numbers import held_input
from .options import output_options
from .output import Output


@click.command()
@click.argument("checkpoint", metavar="[CKPT]", required=False)
@click.option("--matrix", metavar="MATRIX", help='In place of CKPT: a planar matrix as in `dynlab phase`, "a,b;c,d".')
@click.option("--kind", type=click.Choice(["feedback", "vanilla"]), help="Of --matrix.  [default: feedback]")
@click.option("--step", type=float, help="Of --matrix: ε in seconds.  [default: 0.1]")
@click.option("--layer", help="With CKPT: which recurrent layer.")
@click.option("--inputs", metavar="SPEC", help="With CKPT: what spans the plane.  [default: the checkpoint's task]")
@click.option("--samples", type=click.IntRange(min=1), default=16, show_default=True, help="With CKPT: how many.")
@click.option("--at", metavar="zero|mean|VALUES", help="With CKPT: the input held constant.  [default: zero]")
@click.option("--grid", type=int, default=151, show_default=True, help="Starts in each direction.")
@click.option("--extent", type=float, help="Half the width of the window.  [default: 3; with CKPT the states' own]")
@click.option("--steps", type=int, default=2000, show_default=True, help="How long each start is followed.")
@click.option(
    "--max-memory", type=click.IntRange(min=1), default=256, show_default=True, metavar="MIB", help="At once."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is random.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, mps.")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Precision."
)
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data sets lie. [default: $DYNLAB_DATA]")
@output_options
def basins(
    output: Output,
    checkpoint: str | None,
    matrix: str | None,
    grid: int,
    extent: float | None,
    steps: int,
    max_memory: int,
    seed: int,
    device: str,
    dtype: str,
    **chosen: Any,
) -> None:
    """Draw which start ends where: fixed points, periodic orbits, invariant curves, chaos, and their basins.

    The starts of a network lie on the plane of the two leading principal components of the states that --inputs
    drives it through; then its input is held constant.

    \b
    dynlab basins --matrix diff
    dynlab basins model.pt --at mean --grid 101
    """
    if (checkpoint is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix diff.")
    from dynlab.diagnostics.basins import basins as compute
    from dynlab.plots.basins import plot_basins

    place: dict[str, Any]
    where: dict[str, Any] = {"seed": seed, "device": device, "dtype": dtype}
    if matrix is not None:
        system, name, place = _of_matrix(matrix, seed, chosen), "matrix", {}
    else:
        system, name, place = _of_network(output, str(checkpoint), where, chosen)
    with output.working(f"Following {grid**2:,} starts"):
        ds = compute(system, **place, grid=grid, extent=extent, steps=steps, max_memory=max_memory * 2**20, **where)
    output.emit(ds, plot_basins, name)


def _of_matrix(matrix: str, seed: int, chosen: dict[str, Any]) -> Any:
    from dynlab.systems.planar import STEP_SIZE, planar_matrix, planar_system

    given = [name for name in ("layer", "inputs", "at", "data_dir") if chosen[name] is not None]
    if given:
        raise UserError(f"--{given[0].replace('_', '-')} is a checkpoint's: leave it out, or give CKPT for --matrix.")
    step = STEP_SIZE if chosen["step"] is None else chosen["step"]
    return planar_system(planar_matrix(matrix, seed), chosen["kind"] or "feedback", step)


def _of_network(
    output: Output, checkpoint: str, where: dict[str, Any], chosen: dict[str, Any]
) -> tuple[Any, str, dict[str, Any]]:
    """The system, its name for the figure, and what spans the plane and is held."""
    from dynlab import zoo
    from dynlab.checkpoints import read
    from dynlab.diagnostics.driven import drive

    given = [name for name in ("kind", "step") if chosen[name] is not None]
    if given:
        raise UserError(f"--{given[0]} is --matrix's: leave it out.")
    found = read(zoo.locate(checkpoint), layer=chosen["layer"])
    name = Path(checkpoint).stem
    network = Network(found, name, chosen["inputs"], chosen["samples"], 50, **where, data_dir=chosen["data_dir"])
    driving = network.driving
    output.log(f"The plane is that of the states driven by {driving.description}.")
    driven = drive(network.system, driving.inputs, None, **where, inputs_description="")
    at = held_input(chosen["at"] or "zero")
    held: Any = {"zero": None, "mean": driven.inputs.mean(dim=(0, 1)).cpu().numpy()}[at] if isinstance(at, str) else at
    return network.system, name, {"states": driven.states.cpu().numpy(), "input": held, "t": driven.steps - 1}
