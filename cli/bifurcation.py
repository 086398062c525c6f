"""`dynlab bifurcation`: how fixed points, periodic orbits and equilibria change with a parameter."""

from typing import Any

import click

from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, GRID, HELD, NOT_NEGATIVE, POSITIVE, RANDOM_STARTS

BRANCHES = ("starts", "values", "observed")  # options that a plane has no use for


@analysis(ANYTHING - {"device", "dtype"} | HELD)
@click.option("--parameter", required=True, metavar="NAME", help="r, step_size, W[0,1], W*, input[0], input* …")
@click.option("--from", "lowest", type=float, required=True, help="Beginning of its range.")
@click.option("--to", "highest", type=float, required=True, help="End of its range.")
@click.option(
    "--second",
    type=(str, float, float),
    metavar="NAME FROM TO",
    help="A second parameter and its range: a map of the plane of both, in place of branches.",
)
@click.option("--grid", type=GRID, help="With --second: points in each direction.  [default: 101]")
@RANDOM_STARTS
@click.option("--max-period", type=COUNT, help="Longest period that is followed.  [default: 8; with --second 16]")
@click.option("--observed", type=COUNT, help="The coordinate drawn, from 1.  [default: what varies most]")
@click.option("--values", type=NOT_NEGATIVE, help="Of the brute-force diagram; 0 leaves it out.  [default: 400, 100]")
@click.option("--largest-state", type=POSITIVE, help="Beyond, all is cut.  [default: 100 or more, 1e8]")
@click.option("--max-memory", type=COUNT, default=1024, metavar="MIB", help="Most memory to use at once.")
def bifurcation(source: Source, **own: Any) -> CommandResult:
    """Follow fixed points (of a flow: equilibria) through a parameter, and find every bifurcation on the way.

    Branches are solid where stable and dashed where not, period doublings are followed, and the points that orbits
    visit lie behind them.

    \b
    dynlab bifurcation --matrix diff --parameter step_size --from 0.01 --to 0.2
    dynlab bifurcation --system logistic --parameter r --from 2.5 --to 4
    dynlab bifurcation model.pt --parameter "weight_hh*" --from 0.5 --to 2
    dynlab bifurcation runs/x/*.ckpt --over step --parameter "weight_hh*" --from 0.5 --to 2 --values 0
    dynlab bifurcation --system henon --parameter a --from 0 --to 1.4 --second b -0.3 0.5
    """
    second = own["second"]
    for name in BRANCHES if second else ("grid",):
        if own[name] is not None:
            raise UserError(f"--{name} goes with{'out' if second else ''} --second: leave it out.")
    arguments = source.system, source.visiting
    asked = own | source.held | {"seed": source.seed, "max_memory": own["max_memory"] * 2**20}
    if second:
        name, lowest, highest = second
        asked |= {"parameters": (own["parameter"], name), "parameter": None, "second": None}
        asked |= {"lowest": (own["lowest"], lowest), "highest": (own["highest"], highest)}
        return measured(source, "parameter_plane", "Covering the plane", arguments, asked, "-plane")
    if own["observed"] is not None:
        if own["observed"] > (size := source.system.state_size):
            raise UserError(f"--observed is one of the state's {size} coordinates, from 1; got {own['observed']}.")
        asked["observed"] = own["observed"] - 1
    return measured(source, "bifurcation", "Following branches", arguments, asked)
