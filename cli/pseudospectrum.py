"""`dynlab pseudospectrum`: how far a Jacobian's eigenvalues may be trusted, and what grows before it decays."""

from __future__ import annotations

from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .options import optional_network_options, output_options
from .output import Output


@click.command()
@optional_network_options("steps")
@click.option("--matrix", metavar="MATRIX", help='In place of CKPT: "a,b;c,d", or a name that `dynlab phase` knows.')
@click.option(
    "--kind",
    type=click.Choice(["map", "flow"]),
    help="What the matrix is of; of CKPT, flow takes the flow that its step is Euler's of.  [default: map]",
)
@click.option("--at-step", type=int, help="With CKPT: ∂h_t/∂h_{t−1} at this step t of a sequence.  [default: the last]")
@click.option("--sample", type=click.IntRange(min=0), help="With CKPT: which of the sequences.  [default: 0]")
@click.option("--grid", type=int, default=101, show_default=True, help="Points of the window in each direction.")
@click.option("--extent", type=float, help="Half the width of the window.  [default: the numerical range's]")
@click.option("--steps", type=int, default=100, show_default=True, help="Up to which power; of a flow, how many times.")
@click.option(
    "--duration", type=float, metavar="SECONDS", help="How long a flow is followed.  [default: till it decays]"
)
@click.option(
    "--max-memory", type=click.IntRange(min=1), default=256, show_default=True, metavar="MIB", help="At once."
)
@output_options
def pseudospectrum(
    output: Output,
    network: Network,
    matrix: str | None,
    kind: str | None,
    at_step: int | None,
    sample: int | None,
    grid: int,
    extent: float | None,
    steps: int,
    duration: float | None,
    max_memory: int,
) -> None:
    """Draw the pseudospectra of a Jacobian, its numerical range, and the norms of its powers.

    \b
    dynlab pseudospectrum --matrix "-1,10;0,-2" --kind flow
    dynlab pseudospectrum model.pt --at-step 20
    dynlab pseudospectrum runs/x/*.ckpt --over step
    """
    if (network.found is None) == (matrix is None):
        raise UserError('Name what is looked at: a checkpoint, or --matrix "0.9,4;0,0.9".')
    from dynlab.diagnostics.pseudospectrum import pseudospectrum as compute
    from dynlab.plots.pseudospectrum import plot_pseudospectrum

    place: dict[str, Any] = {}
    if matrix is not None:
        for option, value in (("--at-step", at_step), ("--sample", sample)):
            if value is not None:
                raise UserError(f"{option} is a checkpoint's: leave it out, or give CKPT for --matrix.")
        system, name = _of_matrix(matrix, kind or "map"), "matrix"
    else:
        system, place = _of_network(output, network, kind or "map", at_step, sample or 0)
        name = network.name
    with output.working("Computing resolvents"):
        ds = compute(
            system,
            **place,
            grid=grid,
            extent=extent,
            steps=steps,
            duration=duration,
            max_memory=max_memory * 2**20,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    output.emit(ds, plot_pseudospectrum, name)


def _of_matrix(matrix: str, kind: str) -> Any:
    from dynlab.systems.planar import MATRICES, parse_matrix
    from dynlab.systems.textbook import Linear, LinearMap

    rows = [[float(entry) for entry in row] for row in parse_matrix(MATRICES.get(matrix, matrix))]
    return (Linear if kind == "flow" else LinearMap)(rows)


def _of_network(
    output: Output, network: Network, kind: str, at_step: int | None, sample: int
) -> tuple[Any, dict[str, Any]]:
    """The system, and where its Jacobian is taken."""
    from dynlab.driven import drive
    from dynlab.systems import Euler

    driving = network.driving
    if len(driving.inputs) <= sample:
        raise UserError(f"--sample counts sequences from 0, and there are {len(driving.inputs)}; got {sample}.")
    given: dict[str, Any] = {"dtype": network.dtype, "device": network.device, "seed": network.seed}
    driven = drive(network.system, driving.inputs[sample], None, **given, inputs_description="")
    step = driven.steps if at_step is None else at_step
    if not 1 <= step <= driven.steps:
        raise UserError(f"--at-step must be from 1 to the sequence's {driven.steps} steps, got {step}.")
    output.log(f"At step {step} of sequence {sample}, driven by {driving.description}.")
    system: Any = network.system
    if kind == "flow":
        if not isinstance(system, Euler):
            raise UserError(f"{network.name} is no Euler step of a flow ({system.name}): leave out --kind flow.")
        system = system.flow
    state, shown = driven.states[0, step - 1], driven.inputs[0, step - 1]
    return system, {"state": state.cpu().numpy(), "input": shown.cpu().numpy(), "t": step - 1}
