"""`dynlab lyapunov-function`: how far around a stable fixed point a quadratic function is proved to decrease."""

from __future__ import annotations

import click

from dynlab.errors import require_extra

from .analysis import Result, analysis
from .options import ANYTHING, COUNT, HELD
from .source import Source


@analysis(ANYTHING - {"device", "dtype"} | HELD, name="lyapunov-function")
@click.option("--starts", type=COUNT, default=256, show_default=True, help="Of the search for fixed points.")
def lyapunov_function(source: Source, starts: int) -> Result:
    """Prove around each stable fixed point how far V = (h − h*)ᵀ P (h − h*) decreases: all starts there end at it.

    Needs python-flint (pip install dynlab-rnn[certify]).

    \b
    dynlab lyapunov-function --matrix diff --step 0.05
    dynlab lyapunov-function --matrix diff --kind flow
    dynlab lyapunov-function rnn-har2
    dynlab lyapunov-function runs/x/*.ckpt --over step
    """
    require_extra("flint", "certify")
    from dynlab.diagnostics.lyapunov_function import lyapunov_function as compute
    from dynlab.plots.lyapunov_function import plot_lyapunov_function

    held = source.held
    system, mean_of = source.system, source.mean_of
    with source.working("Proving where the function decreases"):
        ds = compute(system, mean_of, **held, starts=starts, seed=source.seed)
    return Result(ds, plot_lyapunov_function, source.name)
