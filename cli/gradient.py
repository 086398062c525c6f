"""`dynlab gradient`: whether a network's gradients survive the sequences that drive it."""

from typing import Any

import click

from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT
from .output import echo


@analysis(ANYTHING | {"starts"})
@click.option("--end-to-end", is_flag=True, help="All singular values of the growing product ∂h_t/∂h_0 instead.")
@click.option(
    "--times", type=COUNT, help="At how many steps.  [default: 32 with --end-to-end; else all, some of large states]"
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
