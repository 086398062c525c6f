"""`dynlab lyapunov-function`: how far around a stable fixed point a quadratic function is proved to decrease."""

from typing import Any

import click

from dynlab.errors import require_extra

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, HELD, RANDOM_STARTS


@analysis(ANYTHING - {"device", "dtype"} | HELD, name="lyapunov-function")
@RANDOM_STARTS
@click.option("--prove/--no-prove", default=None, help="Or sample alone.  [default: --prove up to 256 states]")
def lyapunov_function(source: Source, **own: Any) -> CommandResult:
    """Prove around each stable fixed point how far V = (h − h*)ᵀ P (h − h*) decreases: all starts there end at it.

    Needs python-flint (pip install ".[certify]" in the project's folder).

    \b
    dynlab lyapunov-function --matrix diff --step-size 0.05
    dynlab lyapunov-function --matrix diff --kind flow
    dynlab lyapunov-function rnn-har2
    dynlab lyapunov-function runs/x/*.ckpt --over step
    """
    require_extra("flint", "certify")
    arguments, asked = (source.system, source.visiting), source.held | own | {"seed": source.seed}
    return measured(source, "lyapunov_function", "Proving where the function decreases", arguments, asked)
