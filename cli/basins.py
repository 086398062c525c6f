"""`dynlab basins`: the attractor on which each start ends."""

from typing import Any

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, GRID, HELD, POSITIVE, ranges


@analysis(ANYTHING - {"steps"} | HELD)
@click.option("--grid", type=GRID, help="Starts in each direction.  [default: 151; fewer of a large network]")
@click.option("--extent", type=POSITIVE, help="Half the width of the window.  [default: 3; with CKPT the states' own]")
@click.option("--box", metavar="LOW:HIGH,…", help="Draw random starts from this box, one range a state.")
@click.option("--steps", type=COUNT, default=2000, show_default=True, help="How long each start is followed.")
@click.option(
    "--follow/--no-follow",
    default=None,
    help="Also classify orbits that are not periodic.  [default: on; off for large networks]",
)
@click.option(
    "--max-memory", type=COUNT, default=256, show_default=True, metavar="MIB", help="Most memory to use at once."
)
def basins(source: Source, box: str | None, max_memory: int, **own: Any) -> CommandResult:
    """Draw which start ends where: fixed points, periodic orbits, invariant curves, chaos, and their basins.

    The starts of a network lie on the plane of the two leading principal components of the states that --inputs drives
    it through. From there on its input is held constant.

    \b
    dynlab basins --matrix diff
    dynlab basins model.pt --at mean --grid 101
    dynlab basins --system lorenz --box -20:20,-30:30,0:50
    dynlab basins runs/x/*.ckpt --over step --grid 51
    """
    ends = None if box is None else list(zip(*ranges("--box", box, source.system.state_size), strict=True))
    asked = own | {"box": ends, "max_memory": max_memory * 2**20} | source.held | source.computing
    return measured(source, "basins", "Following every start", (source.system, source.visiting), asked)
