"""`dynlab lyapunov-function`: how far around a stable fixed point a quadratic function is proved to decrease."""

import click

from dynlab.errors import require_extra

from .analysis import analysis, measured
from .options import ANYTHING, COUNT, HELD
from .output import CommandResult
from .source import Source


@analysis(ANYTHING - {"device", "dtype"} | HELD, name="lyapunov-function")
@click.option(
    "--starts", type=COUNT, help="Random starts of the search for fixed points.  [default: 256, of large layers fewer]"
)
@click.option("--prove/--no-prove", default=None, help="Or sample alone.  [default: --prove up to 256 states]")
def lyapunov_function(source: Source, starts: int | None, prove: bool | None) -> CommandResult:
    """Prove around each stable fixed point how far V = (h − h*)ᵀ P (h − h*) decreases: all starts there end at it.

    Needs python-flint (pip install dynlab-rnn[certify]).

    \b
    dynlab lyapunov-function --matrix diff --step-size 0.05
    dynlab lyapunov-function --matrix diff --kind flow
    dynlab lyapunov-function rnn-har2
    dynlab lyapunov-function runs/x/*.ckpt --over step
    """
    require_extra("flint", "certify")
    arguments, asked = (
        (source.system, source.visiting),
        source.held | {"starts": starts, "prove": prove, "seed": source.seed},
    )
    return measured(source, "lyapunov_function", "Proving where the function decreases", arguments, asked)
