"""`dynlab fixed-points`: where a network would stay under a constant input."""

from __future__ import annotations

from pathlib import Path

import click

from dynlab.errors import require_extra

from .network import Network
from .numbers import held_input
from .options import network_options, output_options
from .output import Output


@click.command("fixed-points")
@network_options
@click.option(
    "--at",
    default="zero",
    show_default=True,
    metavar="zero|mean|VALUES",
    help="The input held constant: zero, the mean of --inputs, or values such as 0.1,0.2.",
)
@click.option(
    "--at-step",
    type=int,
    default=-1,
    show_default=True,
    help="The step whose parameters are held where they change with time; -1 is the last.",
)
@click.option("--starts", type=click.IntRange(min=1), default=256, show_default=True, help="How many starts.")
@click.option("--slow-points", type=float, metavar="Q", help="Also keep slow points, with ½‖F(h) − h‖² up to Q.")
@click.option(
    "--certify", is_flag=True, help="Also prove what is found, in ball arithmetic (pip install dynlab[certify])."
)
@click.option(
    "--certificates",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write the proofs there, for python -m dynlab.certificate_check FILE; implies --certify.",
)
@output_options
def fixed_points(
    output: Output,
    network: Network,
    at: str,
    at_step: int,
    starts: int,
    slow_points: float | None,
    certify: bool,
    certificates: Path | None,
) -> None:
    """Find, verify and classify the fixed points of a network whose input is held constant.

    Half of the starts are states along the trajectories that --inputs drive, the others are random. Each fixed point
    is verified with SciPy's fsolve; a start that does not converge is never counted.

    \b
    dynlab fixed-points model.pt
    dynlab fixed-points model.pt --at mean --slow-points 1e-6
    dynlab fixed-points model.pt --certify --certificates proofs
    """
    held = held_input(at)
    from dynlab.diagnostics.fixed_points import fixed_points as search
    from dynlab.plots.fixed_points import plot_fixed_points

    proving = certify or certificates is not None
    if proving:
        require_extra("flint", "certify")  # before the search, which takes longer
    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Searching for fixed points, proving them" if proving else "Searching for fixed points"):
        ds = search(
            network.system,
            driving.inputs,
            at=held,
            at_step=at_step,
            starts=starts,
            slow_points=slow_points,
            certify=certify,
            certificates=certificates,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    output.emit(ds, plot_fixed_points, network.name)
