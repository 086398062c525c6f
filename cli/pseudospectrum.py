"""`dynlab pseudospectrum`: how far a Jacobian's eigenvalues may be trusted, and what grows before it decays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .options import output_options
from .output import Output


@click.command()
@click.argument("checkpoint", metavar="[CKPT]", required=False)
@click.option("--matrix", metavar="MATRIX", help='In place of CKPT: "a,b;c,d", or a name that `dynlab phase` knows.')
@click.option(
    "--kind",
    type=click.Choice(["map", "flow"]),
    help="What the matrix is of; of CKPT, flow takes the flow that its step is Euler's of.  [default: map]",
)
@click.option("--layer", help="With CKPT: which recurrent layer.")
@click.option("--inputs", metavar="SPEC", help="With CKPT: what drives it.  [default: the checkpoint's task]")
@click.option("--at-step", type=int, help="With CKPT: ∂h_t/∂h_{t−1} at this step t of a sequence.  [default: the last]")
@click.option("--sample", type=click.IntRange(min=0), default=0, show_default=True, help="With CKPT: which sequence.")
@click.option("--grid", type=int, default=101, show_default=True, help="Points of the window in each direction.")
@click.option("--extent", type=float, help="Half the width of the window.  [default: the numerical range's]")
@click.option("--steps", type=int, default=100, show_default=True, help="Up to which power; of a flow, how many times.")
@click.option(
    "--duration", type=float, metavar="SECONDS", help="How long a flow is followed.  [default: till it decays]"
)
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
def pseudospectrum(
    output: Output,
    checkpoint: str | None,
    matrix: str | None,
    kind: str | None,
    grid: int,
    extent: float | None,
    steps: int,
    duration: float | None,
    max_memory: int,
    seed: int,
    device: str,
    dtype: str,
    **chosen: Any,
) -> None:
    """Draw the pseudospectra of a Jacobian, its numerical range, and the norms of its powers.

    \b
    dynlab pseudospectrum --matrix "-1,10;0,-2" --kind flow
    dynlab pseudospectrum model.pt --at-step 20
    """
    if (checkpoint is None) == (matrix is None):
        raise UserError('Name what is looked at: a checkpoint, or --matrix "0.9,4;0,0.9".')
    from dynlab.diagnostics.pseudospectrum import pseudospectrum as compute
    from dynlab.plots.pseudospectrum import plot_pseudospectrum

    place: dict[str, Any] = {}
    if matrix is not None:
        system, name = _of_matrix(matrix, kind or "map", chosen), "matrix"
    else:
        system, place, name = _of_network(output, str(checkpoint), kind or "map", chosen, seed, device, dtype)
    with output.working("Computing resolvents"):
        ds = compute(
            system,
            **place,
            grid=grid,
            extent=extent,
            steps=steps,
            duration=duration,
            max_memory=max_memory * 2**20,
            dtype=dtype,
            device=device,
            seed=seed,
        )
    output.emit(ds, plot_pseudospectrum, name)


def _of_matrix(matrix: str, kind: str, chosen: dict[str, Any]) -> Any:
    from dynlab.systems.planar import MATRICES, parse_matrix
    from dynlab.systems.textbook import Linear, LinearMap

    given = [name for name in ("layer", "inputs", "at_step", "data_dir") if chosen[name] is not None]
    if given:
        raise UserError(f"--{given[0].replace('_', '-')} is a checkpoint's: leave it out, or give CKPT for --matrix.")
    rows = [[float(entry) for entry in row] for row in parse_matrix(MATRICES.get(matrix, matrix))]
    return (Linear if kind == "flow" else LinearMap)(rows)


def _of_network(
    output: Output, checkpoint: str, kind: str, chosen: dict[str, Any], seed: int, device: str, dtype: str
) -> tuple[Any, dict[str, Any], str]:
    """The system, where its Jacobian is taken, and its name for the figure."""
    from dynlab import zoo
    from dynlab.checkpoints import read
    from dynlab.diagnostics.driven import drive
    from dynlab.systems import Euler

    found = read(zoo.locate(checkpoint), layer=chosen["layer"])
    name, sample = Path(checkpoint).stem, chosen["sample"]
    network = Network(found, name, chosen["inputs"], sample + 1, 50, seed, device, dtype, chosen["data_dir"])
    driving = network.driving
    if len(driving.inputs) <= sample:
        raise UserError(f"--sample counts sequences from 0, and there are {len(driving.inputs)}; got {sample}.")
    driven = drive(network.system, driving.inputs, None, dtype=dtype, device=device, seed=seed, inputs_description="")
    step = driven.steps if chosen["at_step"] is None else chosen["at_step"]
    if not 1 <= step <= driven.steps:
        raise UserError(f"--at-step must be from 1 to the sequence's {driven.steps} steps, got {step}.")
    output.log(f"At step {step} of sequence {sample}, driven by {driving.description}.")
    system: Any = network.system
    if kind == "flow":
        if not isinstance(system, Euler):
            raise UserError(f"{name} is no Euler step of a flow ({system.name}): leave out --kind flow.")
        system = system.flow
    state, given = driven.states[sample, step - 1], driven.inputs[sample, step - 1]
    return system, {"state": state.cpu().numpy(), "input": given.cpu().numpy(), "t": step - 1}, name
