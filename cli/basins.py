"""`dynlab basins`: which start ends where."""

import click

from .analysis import analysis, measured
from .options import ANYTHING, COUNT, HELD
from .output import CommandResult
from .source import Source


@analysis(ANYTHING - {"steps"} | HELD)
@click.option("--grid", type=int, default=151, show_default=True, help="Starts in each direction.")
@click.option("--extent", type=float, help="Half the width of the window.  [default: 3; with CKPT the states' own]")
@click.option("--steps", type=int, default=2000, show_default=True, help="How long each start is followed.")
@click.option("--max-memory", type=COUNT, default=256, show_default=True, metavar="MIB", help="At once.")
def basins(source: Source, grid: int, extent: float | None, steps: int, max_memory: int) -> CommandResult:
    """Draw which start ends where: fixed points, periodic orbits, invariant curves, chaos, and their basins.

    The starts of a network lie on the plane of the two leading principal components of the states that --inputs
    drives it through; then its input is held constant.

    \b
    dynlab basins --matrix diff
    dynlab basins model.pt --at mean --grid 101
    dynlab basins runs/x/*.ckpt --over step --grid 51
    """
    sizes = {"grid": grid, "extent": extent, "steps": steps, "max_memory": max_memory * 2**20}
    arguments, asked = (source.map, source.visiting), sizes | source.held | source.computing
    return measured(source, "basins", f"Following {grid**2:,} starts", arguments, asked)
