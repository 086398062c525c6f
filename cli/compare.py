"""`dynlab compare`: two networks side by side, and how far their dynamics are from each other."""

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import CHECKPOINT, COMPUTING, COUNT, DRIVING


@analysis((CHECKPOINT - {"config"}) | DRIVING | COMPUTING, over=False, pair=True, samples={"default": 64})
@click.option("--other-layer", metavar="LAYER", help="Of the second network, where it is another than --layer.")
@click.option("--delays", type=COUNT, default=1, help="How many steps are seen together.")
@click.option("--rank", type=COUNT, help="How many coordinates are kept.  [default: 99 % of the variance, 10 at most]")
def compare(source: Source, other_layer: str | None, delays: int, rank: int | None) -> CommandResult:
    """Compare the dynamics of two networks, whatever their sizes and the basis of their states.

    The distance is that of dynamical similarity analysis. A linear map is fitted to the states of each, and the two
    maps are laid on each other by the best orthogonal change of basis. Both are driven by the same sequences where they
    take as many numbers. A permutation test says whether two runs of one network differ as much.

    \b
    dynlab compare rnn-har2 lstm-har2
    dynlab compare before.pt after.pt --inputs noise:1.0 --steps 200
    """
    first = source.having(checkpoints=source.checkpoints[:1])
    second = source.having(checkpoints=source.checkpoints[1:], layer=other_layer or source.layer)
    alike = second.cell.network_input_size == first.cell.network_input_size
    others = first.driven if alike else second.driven
    named = {f"other_{name}": others[name] for name in ("inputs", "inputs_description")}
    options = named | {"delays": delays, "rank": rank} | first.driven | first.computing
    return measured(first, "compare", "Comparing runs", [first.map, second.map], options, f"-{second.name}")
