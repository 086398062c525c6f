"""`dynlab stability`: how large a step a cell's flow bears, and what theory promises of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError

from .options import Network, output_options
from .output import Output


@click.command()
@click.argument("checkpoint", metavar="[CKPT]", required=False)
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
@click.option("--layer", help="With CKPT: which recurrent layer.")
@click.option("--inputs", metavar="SPEC", help="With CKPT: what drives it.  [default: the checkpoint's task]")
@click.option("--samples", type=click.IntRange(min=1), default=16, show_default=True, help="With CKPT: how many.")
@click.option(
    "--steps", type=click.IntRange(min=1), default=50, show_default=True, help="Length of made-up inputs and orbits."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is random.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, mps.")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Precision."
)
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data sets lie. [default: $DYNLAB_DATA]")
@output_options
def stability(
    output: Output,
    checkpoint: str | None,
    matrix: str | None,
    integrator: str,
    step: float | None,
    times: int,
    seed: int,
    device: str,
    dtype: str,
    **chosen: Any,
) -> None:
    """Say whether a step keeps what the flow promises: critical steps, diffusion, integrators, theory's bounds.

    Of a cell that is an Euler step of a flow (antisymmetric, gated, feedback, FastRNN), of ERNN's inner iteration, and
    of asRNN the bound on its Jacobian alone. The trajectory is the network's own, whatever --step and --integrator.

    \b
    dynlab stability --matrix diff
    dynlab stability --matrix diff --integrator implicit-midpoint
    dynlab stability antisymmetric-har2 --step 0.01
    """
    if (checkpoint is None) == (matrix is None):
        raise UserError("Name what is looked at: a checkpoint, or --matrix diff.")
    from dynlab.diagnostics.stability import stability as compute
    from dynlab.plots.stability import plot_stability

    where: dict[str, Any] = {"seed": seed, "device": device, "dtype": dtype}
    if matrix is not None:
        system, name, driven = _of_matrix(matrix, step, seed, chosen)
    else:
        system, name, driven = _of_network(output, str(checkpoint), where, chosen)
    with output.working("Linearising"):
        ds = compute(system, **driven, integrator=integrator, step_size=step, times=times, **where)
    output.emit(ds, plot_stability, name)


def _of_matrix(matrix: str, step: float | None, seed: int, chosen: dict[str, Any]) -> tuple[Any, str, dict[str, Any]]:
    """The system, its name for the figure, and what it is driven by: at the origin, or along the orbits of starts."""
    import numpy as np

    from dynlab.systems.planar import MATRICES, SEEDED, STEP_SIZE, parse_matrix, planar_matrix, planar_system

    given = [name for name in ("layer", "inputs", "data_dir") if chosen[name] is not None]
    if given:
        raise UserError(f"--{given[0].replace('_', '-')} is a checkpoint's: leave it out, or give CKPT for --matrix.")
    planar = matrix in SEEDED or matrix in MATRICES or not any(sign in matrix for sign in ",;0123456789")
    rows = planar_matrix(matrix, seed) if planar else parse_matrix(matrix)
    system = planar_system(rows, "feedback", STEP_SIZE if step is None else step)
    name = matrix if planar else "matrix"
    if not chosen["starts"]:
        return system, name, {"inputs": np.zeros((1, 0))}
    starts = [_start(text, len(rows)) for text in chosen["starts"]]
    described = f"orbits of {len(starts)} start{'s' if len(starts) > 1 else ''}"
    inputs = np.zeros((chosen["steps"], 0))
    return system, name, {"inputs": inputs, "initial_state": starts, "inputs_description": described}


def _of_network(
    output: Output, checkpoint: str, where: dict[str, Any], chosen: dict[str, Any]
) -> tuple[Any, str, dict[str, Any]]:
    from dynlab import zoo
    from dynlab.checkpoints import read

    if chosen["starts"]:
        raise UserError("--start is --matrix's: leave it out.")
    found = read(zoo.locate(checkpoint), layer=chosen["layer"])
    name = Path(checkpoint).stem
    settings = {key: chosen[key] for key in ("inputs", "samples", "steps", "data_dir")}
    network = Network(found, name, **settings, **where)
    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    return network.system, name, {"inputs": driving.inputs, "inputs_description": driving.description}


def _start(text: str, size: int) -> list[float]:
    try:
        start = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"--start takes {size} numbers such as 0.5,-0.75; got {text!r}.") from error
    if len(start) != size:
        raise UserError(f"--start takes {size} numbers, one for each row of the matrix; got {text!r}.")
    return start
