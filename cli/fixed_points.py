"""`dynlab fixed-points`: where a network would stay under a constant input."""

from pathlib import Path
from typing import Any

import click

from dynlab.errors import require_extra

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, FOLDER, HELD, POSITIVE


@analysis(ANYTHING | HELD)
@click.option("--starts", type=COUNT, help="Random starts of a round.  [default: 256, of large layers fewer]")
@click.option("--slow-points", type=POSITIVE, metavar="Q", help="Also keep slow points, with ½‖F(h) − h‖² up to Q.")
@click.option("--certify", is_flag=True, help='Also prove what is found (pip install ".[certify]").')
@click.option(
    "--certificates",
    type=FOLDER,
    metavar="FOLDER",
    help="Write the proofs there, for python -m dynlab.certificate_check FILE; implies --certify.",
)
def fixed_points(source: Source, certify: bool, certificates: Path | None, **own: Any) -> CommandResult:
    """Find, verify and classify the fixed points of a network whose input is held constant, or a flow's equilibria.

    Half of the starts are states along the trajectories that --inputs drive, the others are random. Each fixed point
    is verified with SciPy's fsolve; a start that does not converge is never counted.

    \b
    dynlab fixed-points model.pt
    dynlab fixed-points model.pt --at mean --slow-points 1e-6
    dynlab fixed-points model.pt --certify --certificates proofs
    """
    certify = certify or certificates is not None
    if certify:
        require_extra("flint", "certify")  # before the search, which takes longer
    asked = own | {"certify": certify, "certificates": certificates} | source.held | source.computing
    doing = "Searching for fixed points" + ", proving them" * certify
    return measured(source, "fixed_points", doing, (source.system, source.visiting), asked)
