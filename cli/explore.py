"""`dynlab explore`: the phase-plane explorer, one HTML page."""

import shlex
from typing import Any

import click

from dynlab.errors import UserError, require_extra

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, HELD, INTEGRATORS, OUTPUT


@analysis(ANYTHING | HELD | {"starts"}, optional=True, over=False, output="page")
@click.option("--state", metavar="LINK", help="Open in this state: a link of the explorer, or what follows its #.")
@click.option("--integrator", type=INTEGRATORS, help="Integrator of --matrix.  [default: euler]")
@click.option("--certify", is_flag=True, help="Prove the fixed points of CKPT (pip install dynlab-rnn[certify]).")
def explore(source: Source, state: str | None, integrator: str | None, certify: bool) -> CommandResult:
    """Write the phase-plane explorer: one HTML page for any browser, which needs no server and no network.

    A flow and the map that an integrator makes of it side by side, with sliders for all that they depend on; click to
    start an orbit. Of a checkpoint the page holds the weights, so that a click runs the true network among its fixed
    points, and pulses of the input drive it.

    \b
    dynlab explore                          opens with the paper's system with diffusion
    dynlab explore --matrix "0,1;-1,0" --step-size 0.05 -o class.html
    dynlab explore --matrix zero --step-size 0.5 --integrator implicit-midpoint
    dynlab explore gru-flipflop --certify   a network of the zoo, to be driven from memory to memory
    dynlab explore gru-flipflop --state "LINK"   the same where a link of its page left it
    """
    import xarray as xr

    from dynlab.explore import explorer_page
    from dynlab.explore.states import check_fragment, planar_fragment
    from dynlab.systems.planar import STARTS, STEP_SIZE

    if source.checkpoints:
        if integrator is not None:
            raise UserError("--integrator is of --matrix: a network is run by its own steps.")
        return _of_network(source, certify, state)
    if certify or source.factory is not None:
        raise UserError("--certify and --system are of a network in a file: name CKPT.")
    if state is not None:
        if source.given - {"quiet", "state"}:
            raise UserError("--state says all that the explorer opens with: leave out the other options.")
        return CommandResult(xr.Dataset(), None, "state", page=explorer_page(check_fragment(state)))
    if source.matrix is None and integrator is None and not source.given - {"quiet"}:
        return CommandResult(xr.Dataset(), None, "phase-plane", page=explorer_page())
    how: dict[str, Any] = {"seed": source.seed, "steps": source.steps, "integrator": integrator or "euler"}
    how |= {"step_size": source.step_size or STEP_SIZE, "starts": source.initial_states if source.starts else STARTS}
    fragment = planar_fragment(source.matrix or "diff", source.kind or "feedback", **how)
    return CommandResult(xr.Dataset(), None, source.name, page=explorer_page(fragment))


def _of_network(source: Source, certify: bool, state: str | None) -> CommandResult:
    """Return the page of a trained network: where its states and fixed points lie comes from `dynlab.geometry`."""
    if certify:
        require_extra("flint", "certify")  # before the search, which takes longer
    from dynlab.explore import explorer_page
    from dynlab.explore.network import embedded
    from dynlab.explore.states import check_fragment

    asked = source.driven | source.held | source.computing
    doing = "Following trajectories, searching for fixed points"
    ds = measured(source, "geometry", doing, [source.map], asked).dataset
    with source.working("Proving fixed points" if certify else "Writing the network"):
        network = embedded(source.map, ds, source.name, certify=certify, command=_command(source))
    fragment = check_fragment(state or "", (len(network["points"]), len(network["held"])))
    return CommandResult(ds, None, source.name, page=explorer_page(fragment, network))


def _command(source: Source) -> str:
    """Return the line that makes this page of a network, without where it is written and without its state."""
    context = click.get_current_context()
    words = ["dynlab", "explore", *source.checkpoints]
    for option in context.command.params:
        if option.name in source.given and option.name not in {*OUTPUT, "state", "checkpoints"}:
            value = context.params[option.name]
            values = value if isinstance(value, tuple) else [value]
            words += [option.opts[0] if each is True else f"{option.opts[0]}={each}" for each in values]
    return shlex.join(words)
