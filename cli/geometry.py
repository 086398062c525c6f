"""`dynlab geometry`: where a network's states lie, and the fixed points among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dynlab.errors import UserError

from .network import Network
from .numbers import held_input
from .options import network_options, output_options
from .output import Output

if TYPE_CHECKING:
    import xarray as xr


@click.command()
@network_options
@click.option(
    "--at", default="zero", show_default=True, metavar="zero|mean|VALUES", help="The input held for the fixed points."
)
@click.option("--at-step", type=int, default=-1, show_default=True, help="The step held where parameters change.")
@click.option("--starts", type=click.IntRange(min=1), default=256, show_default=True, help="Of the search for them.")
@click.option("--transient", type=int, default=0, show_default=True, metavar="STEPS", help="Steps that do not count.")
@click.option(
    "--tangent", type=int, metavar="N", help="Instead: the step around fixed point N, from 0, beside its linear map."
)
@output_options
def geometry(
    output: Output, network: Network, at: str, at_step: int, starts: int, transient: int, tangent: int | None
) -> None:
    """Show where a network's states lie: principal components, their dimension, and the fixed points among them.

    Fixed points are filled where they are stable and open where not; lines show the directions in which orbits leave
    them, ellipses the planes in which they spiral out.

    \b
    dynlab geometry gru-flipflop
    dynlab geometry model.pt --at mean
    dynlab geometry gru-flipflop --tangent 8
    dynlab geometry runs/x/*.ckpt --over step
    """
    held = held_input(at)
    if tangent is not None:
        output.check_alone("--tangent")
    from dynlab.diagnostics.geometry import geometry as measure
    from dynlab.plots.geometry import plot_geometry

    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Following trajectories, searching for fixed points"):
        ds = measure(
            network.system,
            driving.inputs,
            at=held,
            at_step=at_step,
            starts=starts,
            transient=transient,
            inputs_description=driving.description,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    if tangent is None:
        output.emit(ds, plot_geometry, network.name)
        return
    from dynlab.plots.tangent_map import plot_tangent_map

    output.emit(_tangent(ds, network, tangent), plot_tangent_map, f"{network.name}-tangent-{tangent}")


def _tangent(ds: xr.Dataset, network: Network, number: int) -> xr.Dataset:
    """The tangent map of a fixed point, in a window that reaches halfway to the nearest other one."""
    import numpy as np

    from dynlab import schema
    from dynlab.diagnostics.geometry.tangent_map import REACH, tangent_map

    states = ds["fixed_point_state"].values
    if not 0 <= number < len(states):
        raise UserError(f"--tangent counts the fixed points from 0, and {len(states)} were found; got {number}.")
    distances = np.linalg.norm(np.delete(states, number, axis=0) - states[number], axis=1)
    settings = schema.settings(ds)
    return tangent_map(
        network.system,
        states[number],
        input=settings["input"],
        t=settings["at_step"],
        reach=float(distances.min() / 2) if len(distances) else REACH,
    )
