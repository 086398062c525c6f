"""`dynlab phase`: the phase portrait of a planar system."""

from typing import Any

import click

from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured
from .options import COMPUTING, PLANAR, ranges


@analysis(
    PLANAR | COMPUTING | {"factory", "starts", "steps"},
    optional=True,
    over=False,
    factory={"metavar": "NAME", "help": "Analyse a built-in system (`dynlab list systems`)."},
)
@click.option("--window", metavar="LOW:HIGH,LOW:HIGH", help="What is drawn of x and of y.  [default: what orbits need]")
def phase(source: Source, window: str | None) -> CommandResult:
    """Draw the phase portrait of a planar system: what its flow does, and what Euler's map makes of it.

    \b
    dynlab phase                            the paper's system with diffusion, --matrix diff
    dynlab phase --matrix "0,1;-1,0" --step-size 0.05
    dynlab phase --flow "y, -x + mu*y*(1 - x^2)" --set mu=1
    dynlab phase --flow "-x + 2*y, -2*x - y" --window -2:2,-2:2      a linear flow
    dynlab figure antisymmetric-1           the eight panels of the paper's Figure 1
    """
    steps = source.steps if "steps" in source.given else None
    own: dict[str, Any] = {"dtype": source.dtype, "device": source.device, "steps": steps}
    if source.subject in ("", "matrix"):
        from dynlab.matrices import SEEDED, planar_matrix

        source = source.having(matrix=source.matrix or "diff")
        exact = planar_matrix(source.matrix, source.seed)  # before what takes seconds to import
        from dynlab.systems.planar import STARTS, STEP_SIZE

        own |= {"matrix": None if source.matrix in SEEDED else exact, "step_size": source.step_size or STEP_SIZE}
        own |= {"starts": STARTS, "steps": source.steps}
    elif source.system.state_size != 2:
        raise UserError(f"A portrait has two states, and {source.name} has {source.system.state_size}: try `basins`.")
    own |= {"starts": source.initial_states} if source.starts else {}
    own |= {} if window is None else {"window": ranges("--window", window, 2)}
    return measured(source, "phase_plane", "Following orbits", [source.system], own)
