"""`dynlab explore`: the phase-plane explorer, one HTML page."""

import shlex
from typing import Any

import click

from dynlab.errors import UserError, require_extra

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, HELD, INTEGRATORS, SHARED, typed


@analysis(ANYTHING | HELD | {"starts"}, optional=True, over=False, output="page")
@click.option("--state", metavar="LINK", help="Open in this state: a link of the explorer, or what follows its #.")
@click.option("--integrator", type=INTEGRATORS, help="Integrator of --matrix or --flow.  [default: euler]")
@click.option("--certify", is_flag=True, help='Prove the fixed points of CKPT (pip install ".[certify]").')
def explore(source: Source, state: str | None, integrator: str | None, certify: bool) -> CommandResult:
    """Write the phase-plane explorer: one HTML page for any browser, which needs no server and no network.

    A flow and the map that an integrator makes of it side by side, with sliders for all that they depend on; click to
    start an orbit, type equations of your own. Of a checkpoint the page holds the weights, so that a click runs the
    true network among its fixed points, and pulses of the input drive it.

    \b
    dynlab explore                          opens with the paper's system with diffusion
    dynlab explore --matrix "0,1;-1,0" --step-size 0.05 -o class.html
    dynlab explore --flow "y, -x + mu*y*(1 - x^2)" --set mu=1
    dynlab explore --matrix zero --step-size 0.5 --integrator implicit-midpoint
    dynlab explore gru-flipflop --certify   a network of the zoo, to be driven from memory to memory
    dynlab explore gru-flipflop --state "LINK"   the same where a link of its page left it
    """
    fragment = (state or "").rpartition("#")[2]
    if source.checkpoints and integrator is not None:
        raise UserError("--integrator is of --matrix and --flow: a network is run by its own steps.")
    if source.checkpoints:
        return _of_network(source, certify, fragment)
    if certify or source.subject in ("factory", "map_"):
        raise UserError("The explorer shows --matrix or --flow beside steps of it, or a network in a file: name CKPT.")
    opens = source.given - {"quiet", "state"}
    if state is not None and opens:
        raise UserError("--state says all that the explorer opens with: leave out the other options.")
    import xarray as xr

    from dynlab.explore import explorer_page

    page = explorer_page(_planar(source, integrator or "euler") if opens else fragment)
    return CommandResult(xr.Dataset(), page, source.name if opens else "phase-plane")


def _planar(source: Source, integrator: str) -> str:
    """Return the fragment of the planar system that is named."""
    from dynlab.explore.page import equations_fragment, planar_fragment
    from dynlab.systems.planar import STARTS, STEP_SIZE

    how: dict[str, Any] = {"steps": source.steps, "integrator": integrator, "step_size": source.step_size or STEP_SIZE}
    how |= {"starts": source.initial_states if source.starts else STARTS}
    if source.flow is not None:
        if source.cell.state_size != 2:
            raise UserError(f"The explorer shows two states, and these are {source.cell.state_size} equations.")
        return equations_fragment(source.flow, dict(source.config), **how)
    if integrator != "euler" and source.kind in ("vanilla", "linear"):
        raise UserError(f"A {source.kind} system is no step of an integrator: leave out --integrator or --kind.")
    return planar_fragment(source.matrix or "diff", source.kind or "feedback", seed=source.seed, **how)


def _of_network(source: Source, certify: bool, fragment: str) -> CommandResult:
    """Return the page of a trained network: where its states and fixed points lie comes from `dynlab.geometry`."""
    if certify:
        require_extra("flint", "certify")  # before the search, which takes longer
    from dynlab.explore import explorer_page
    from dynlab.explore.network import embedded

    asked = source.driven | source.held | source.computing
    doing = "Following trajectories, searching for fixed points"
    ds = measured(source, "geometry", doing, [source.map], asked).dataset
    options = typed({name: getattr(source, name) for name in source.given if name in SHARED})
    line = shlex.join(["dynlab", "explore", *source.checkpoints, *options, *["--certify"] * certify])
    with source.working("Proving fixed points" if certify else "Writing the network"):
        network = embedded(source.map, ds, source.name, certify=certify, command=line)
    return CommandResult(ds, explorer_page(fragment, network), source.name)
