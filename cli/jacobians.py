"""`dynlab spectrum`, `gradient`, `stability`, `pseudospectrum` and `box-bounds`: Jacobians of steps, their products."""

from typing import Any

import click

from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, GRID, HELD, INTEGRATORS, NOT_NEGATIVE, POSITIVE, numbers
from .output import echo


@analysis(ANYTHING | {"starts"})
@click.option(
    "--times",
    type=COUNT,
    help="Number of evenly spaced steps to linearise in each sequence.  [default: 256, of large states fewer]",
)
@click.option(
    "--no-conditions", is_flag=True, help="Leave out the eigenvalues' conditions and the departure from normality."
)
def spectrum(source: Source, times: int | None, no_conditions: bool) -> CommandResult:
    """Show the spectra of a network's one-step Jacobians along driven trajectories.

    \b
    dynlab spectrum model.pt
    dynlab spectrum model.pt --inputs noise:1.0 --steps 200 --save spectrum.nc
    dynlab spectrum runs/x/*.ckpt --over step
    """
    asked = {"times": times, "conditions": not no_conditions} | source.computing
    return measured(source, "spectrum", "Linearising", [source.map], source.driven | asked)


@analysis(ANYTHING | {"starts"})
@click.option("--end-to-end", is_flag=True, help="Compute all singular values of ∂h_t/∂h_0 instead.")
@click.option(
    "--times",
    type=COUNT,
    help="Number of steps to analyse.  [default: 32 with --end-to-end; else all, some of large states]",
)
@click.option(
    "--loss",
    is_flag=True,
    help="Also ‖∂L/∂h_t‖ through the checkpoint's read-out (or its one linear layer) and its task's targets.",
)
def gradient(source: Source, end_to_end: bool, times: int | None, loss: bool) -> CommandResult:
    """Show how much of a small change is left at the end of a sequence: ‖∂h_T/∂h_t‖, in log scale.

    \b
    dynlab gradient model.pt
    dynlab gradient model.pt --end-to-end
    dynlab gradient model.pt --loss
    dynlab gradient runs/x/*.ckpt --over step
    """
    if end_to_end and loss:
        raise UserError("--end-to-end analyses ∂h_t/∂h_0, which no loss enters: leave --loss or --end-to-end out.")
    doing, system = "Multiplying Jacobians", source.map
    asked = source.driven | source.computing | {"times": times}
    if end_to_end:
        return measured(source, "end_to_end", doing, [system], asked, "-end-to-end")
    return measured(source, "gradient", doing, [system], asked | (_loss(source) if loss else {}))


def _loss(source: Source) -> dict[str, Any]:
    """The loss of the checkpoint's read-out and the targets of what drives it."""
    if source.found is None or source.found.readout is None:
        raise UserError(
            f"{source.name} holds no read-out that is known: one linear layer beside the recurrent one, and nothing "
            f"else. Leave --loss out, or give a loss of your own to dynlab.gradient(..., loss=, targets=)."
        )
    if source.driving.targets is None:
        raise UserError(
            f"--loss needs targets, and {source.driving.description} have none: drive the network by its task, "
            f"--inputs task:NAME."
        )
    if source.found.readout_name and not source.quiet:
        echo(
            f"{source.found.readout_name} is taken to read the last state, with nothing between.",
            err=True,
        )
    from dynlab.diagnostics.gradient.loss_gradient import read_out_loss

    return {"loss": read_out_loss(source.map, source.found.readout), "targets": source.driving.targets}


@analysis(ANYTHING | {"starts"})
@click.option(
    "--integrator",
    type=INTEGRATORS,
    default="euler",
    help="Integrator whose step is judged.",
)
@click.option("--times", type=COUNT, default=64, help="Number of steps to linearise.")
def stability(source: Source, integrator: str, times: int) -> CommandResult:
    """Say whether a step keeps what the flow promises: critical steps, diffusion, integrators, theory's bounds.

    For cells that are an Euler step of a flow (antisymmetric, gated, feedback, FastRNN) and for ERNN's inner
    iteration; for asRNN only the bound on its Jacobian. The trajectory is the network's own; a matrix without --start
    is linearised at the origin.

    \b
    dynlab stability --matrix diff
    dynlab stability --matrix diff --integrator implicit-midpoint
    dynlab stability antisymmetric-har2 --step-size 0.01
    dynlab stability runs/x/*.ckpt --over step
    """
    at_rest = source.matrix is not None and not source.starts
    asked = {"integrator": integrator, "step_size": source.step_size, "times": 1 if at_rest else times}
    return measured(source, "stability", "Linearising", [source.map], source.driven | asked | source.computing)


@analysis(ANYTHING - {"steps"})
@click.option("--at-step", type=int, help="Step t whose Jacobian ∂h_t/∂h_{t−1} is analysed.  [default: the last]")
@click.option("--sample", type=NOT_NEGATIVE, help="Sequence to analyse, counted from 0.  [default: 0]")
@click.option(
    "--grid", type=GRID, help="Points of the window in each direction.  [default: 101, of more than 256 states 51]"
)
@click.option("--extent", type=POSITIVE, help="Half the width of the window.  [default: the numerical range's]")
@click.option(
    "--steps", type=COUNT, default=100, help="Highest power of the Jacobian; for a flow, the number of times."
)
@click.option("--seconds", type=POSITIVE, help="Seconds for which a flow is followed.  [default: till it decays]")
@click.option(
    "--max-memory",
    type=COUNT,
    metavar="MIB",
    help="Most memory to use at once.  [default: 256, of a large state up to 2,048]",
)
def pseudospectrum(
    source: Source, at_step: int | None, sample: int | None, max_memory: int | None, **own: Any
) -> CommandResult:
    """Draw the pseudospectra of a Jacobian, its numerical range, and the norms of its powers.

    The Jacobian of a matrix, or of a system without input, is taken at the origin; with --kind linear it is the
    matrix itself.

    \b
    dynlab pseudospectrum --matrix "0.9,4;0,0.9" --kind linear
    dynlab pseudospectrum --matrix "-1,10;0,-2" --kind flow
    dynlab pseudospectrum model.pt --at-step 20
    dynlab pseudospectrum runs/x/*.ckpt --over step
    """
    from dynlab.diagnostics.pseudospectrum.pseudospectrum import on_trajectory

    asked: dict[str, Any] = own | {"max_memory": None if max_memory is None else max_memory * 2**20} | source.computing
    system = source.system
    if source.takes_inputs:
        where: dict[str, Any] = {"step": at_step, "sample": sample or 0}
        asked |= on_trajectory(source.having(kind=None).map, source.driving.inputs, **where, **source.computing)
        system = system.without_encoder()  # the step's own input is held
    elif at_step is not None or sample is not None:
        raise UserError("--at-step and --sample are of a sequence that drives a network: leave them out, or give CKPT.")
    return measured(source, "pseudospectrum", "Computing resolvents", [system], asked)


@analysis(ANYTHING | HELD, name="box-bounds")
@click.option(
    "--box",
    type=numbers,
    metavar="R|LOW,HIGH",
    help="|h_i| up to R, or from LOW to HIGH.  [default: the states' own bounds]",
)
@click.option("--states", type=COUNT, default=256, help="Number of states sampled in the box.")
@click.option("--prove", is_flag=True, help="Prove also above 256 states, which takes hours.")
def box_bounds(source: Source, box: list[float] | None, states: int, prove: bool) -> CommandResult:
    """Prove bounds on the Jacobian over all states of a box: a common norm, and the real parts of eigenvalues.

    A spectral radius below 1 at every state proves nothing about orbits; one norm below 1 for all states does. Needs
    python-flint (pip install ".[certify]" in the project's folder).

    \b
    dynlab box-bounds rnn-har2 --box 0.1
    dynlab box-bounds antisymmetric-har2 --box -0.5,0.5
    """
    width = box[0] if box is not None and len(box) == 1 else box
    asked = {"box": width, "samples": states, "prove": prove} | source.held | source.computing
    return measured(source, "box_bounds", "Bounding the Jacobian over the box", (source.map, source.mean_of), asked)
