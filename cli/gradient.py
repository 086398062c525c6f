"""`dynlab gradient`: whether a network's gradients survive the sequences that drive it."""

from __future__ import annotations

from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .options import network_options, output_options
from .output import Output


@click.command()
@network_options
@click.option("--end-to-end", is_flag=True, help="All singular values of the growing product ∂h_t/∂h_0 instead.")
@click.option("--times", type=click.IntRange(min=1), help="With --end-to-end: at how many steps. [default: 32]")
@click.option("--loss", is_flag=True, help="Also ‖∂L/∂h_t‖ through the checkpoint's read-out and its task's targets.")
@output_options
def gradient(output: Output, network: Network, end_to_end: bool, times: int | None, loss: bool) -> None:
    """Show how much of a small change is left at the end of a sequence: ‖∂h_T/∂h_t‖, in log scale.

    \b
    dynlab gradient model.pt
    dynlab gradient model.pt --end-to-end
    dynlab gradient model.pt --loss
    dynlab gradient runs/x/*.ckpt --over step
    """
    if end_to_end and loss:
        raise UserError("--end-to-end analyses ∂h_t/∂h_0, which no loss enters: leave --loss or --end-to-end out.")
    if times is not None and not end_to_end:
        raise UserError("--times belongs to --end-to-end; the gradient itself is given at every step.")
    from dynlab import diagnostics, plots
    from dynlab.errors import lookup

    name = "end_to_end" if end_to_end else "gradient"
    compute = lookup(diagnostics.DIAGNOSTICS, name, "diagnostic")
    settings: dict[str, Any] = {} if times is None else {"times": times}
    settings |= _loss(network) if loss else {}
    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Multiplying Jacobians"):
        ds = compute(
            network.system,
            driving.inputs,
            inputs_description=driving.description,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
            **settings,
        )
    output.emit(ds, lookup(plots.PLOTS, f"plot_{name}", "plot"), f"{network.name}{'-end-to-end' if end_to_end else ''}")


def _loss(network: Network) -> dict[str, Any]:
    """The loss of the checkpoint's read-out and the targets of what drives it."""
    if network.checkpoint.readout is None:
        raise UserError(
            f"{network.name} holds no read-out, so there is no loss to differentiate: leave --loss out, or give your "
            f"own loss to dynlab.gradient(..., loss=)."
        )
    if network.driving.targets is None:
        raise UserError(
            f"--loss needs targets, and {network.driving.description} have none: drive the network by its task, "
            f"--inputs task:NAME."
        )
    from dynlab.diagnostics.gradient.loss_gradient import read_out_loss

    loss = read_out_loss(network.system, network.checkpoint.readout)
    return {"loss": loss, "targets": network.driving.targets}
