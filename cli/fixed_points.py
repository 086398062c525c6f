"""`dynlab fixed-points`: where a network would stay under a constant input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dynlab.errors import require_extra

from .analysis import Result, analysis
from .options import ANYTHING, COUNT, FOLDER, HELD
from .source import Source


@analysis(ANYTHING | HELD)
@click.option("--starts", type=COUNT, default=256, show_default=True, help="How many starts.")
@click.option("--slow-points", type=float, metavar="Q", help="Also keep slow points, with ½‖F(h) − h‖² up to Q.")
@click.option("--certify", is_flag=True, help="Also prove what is found (pip install dynlab-rnn[certify]).")
@click.option(
    "--certificates",
    type=FOLDER,
    metavar="FOLDER",
    help="Write the proofs there, for python -m dynlab.certificate_check FILE; implies --certify.",
)
def fixed_points(
    source: Source, starts: int, slow_points: float | None, certify: bool, certificates: Path | None
) -> Result:
    """Find, verify and classify the fixed points of a network whose input is held constant.

    Half of the starts are states along the trajectories that --inputs drive, the others are random. Each fixed point
    is verified with SciPy's fsolve; a start that does not converge is never counted.

    \b
    dynlab fixed-points model.pt
    dynlab fixed-points model.pt --at mean --slow-points 1e-6
    dynlab fixed-points model.pt --certify --certificates proofs
    """
    from dynlab.diagnostics.fixed_points import fixed_points as search
    from dynlab.plots.fixed_points import plot_fixed_points

    certify = certify or certificates is not None
    if certify:
        require_extra("flint", "certify")  # before the search, which takes longer
    held = source.held
    system, visiting = source.map, source.visiting
    settings: dict[str, Any] = {
        "starts": starts,
        "slow_points": slow_points,
        "certify": certify,
        "certificates": certificates,
    }
    with source.working("Searching for fixed points" + ", proving them" * certify):
        ds = search(system, visiting, **held, **settings, **source.computing)
    return Result(ds, plot_fixed_points, source.name)
