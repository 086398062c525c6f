"""`dynlab explore`: the phase-plane explorer, one HTML page."""

from typing import Any

import click

from dynlab.errors import UserError

from .analysis import analysis
from .options import PLANAR
from .output import CommandResult
from .source import Source


@analysis(PLANAR | {"starts", "steps", "seed"}, optional=True, page=True)
@click.option("--state", metavar="LINK", help="Open in this state: a link of the explorer, or what follows its #.")
def explore(source: Source, state: str | None) -> CommandResult:
    """Write the phase-plane explorer: one HTML page for any browser, which needs no server and no network.

    A flow and its Euler map side by side, with sliders for all that they depend on; click to start an orbit.

    \b
    dynlab explore                          opens with the paper's system with diffusion
    dynlab explore --matrix "0,1;-1,0" --step 0.05 -o class.html
    """
    import xarray as xr

    from dynlab.explore import explorer_page

    own = source.given & {"matrix", "kind", "step", "starts", "steps", "seed"}
    if state is not None and own:
        raise UserError("--state says all that the explorer opens with: leave out the other options, or --state.")
    if state is not None:
        from dynlab.explore.states import check_fragment

        return CommandResult(xr.Dataset(), None, "state", page=explorer_page(check_fragment(state)))
    if own and source.matrix is None:
        raise UserError(f"--{sorted(own)[0]} is of --matrix: name that too, such as --matrix diff.")
    if source.matrix is None:
        return CommandResult(xr.Dataset(), None, "phase-plane", page=explorer_page())
    from dynlab.explore.states import planar_fragment
    from dynlab.systems.planar import STARTS, STEP_SIZE

    step = STEP_SIZE if source.step is None else source.step
    how: dict[str, Any] = {"seed": source.seed, "step_size": step, "steps": source.steps}
    fragment = planar_fragment(source.matrix, source.kind or "feedback", starts=source.initial_states or STARTS, **how)
    return CommandResult(xr.Dataset(), None, source.name, page=explorer_page(fragment))
