"""`dynlab lyapunov`: the Lyapunov exponents of a network along what drives it, or of a system by name."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from dynlab.errors import UserError

from .network import Network
from .numbers import numbers
from .options import optional_network_options, output_options
from .output import Output
from .pairs import pairs

NEAR = 0.1  # starts that are not given have entries between 0 and this: in the basins of the textbooks' attractors


@click.command()
@optional_network_options(named=True)
@click.option("--set", "config", multiple=True, metavar="KEY=VALUE", help="A setting of --system: rho=100.")
@click.option("--matrix", metavar="MATRIX", help="In place of CKPT, h + ε tanh(W h): a name of `phase`, or entries.")
@click.option("--start", "starts", multiple=True, metavar="X,Y", help="Without CKPT; repeatable.  [default: random]")
@click.option("--seconds", type=float, help="Of a flow: how long.  [default: 100]")
@click.option("-k", type=int, metavar="N", help="Only the N largest exponents.  [default: all]")
@click.option(
    "--transient",
    type=float,
    metavar="STEPS",
    help="Discarded at the start (of a flow seconds); with --covariant steps, also at the end.  "
    "[default: a tenth; a fifth]",
)
@click.option("--covariant", is_flag=True, help="Covariant vectors instead, and angles between what grows and decays.")
@output_options
def lyapunov(
    output: Output, network: Network, k: int | None, transient: float | None, covariant: bool, **chosen: Any
) -> None:
    """Measure how fast nearby orbits of a network meet or separate: Lyapunov exponents, with their errors.

    Along inputs that change they are conditional: of orbits under the same input; whether two starts meet is then
    tested as well. On sequences under 1000 steps they are finite-time exponents.

    \b
    dynlab lyapunov model.pt
    dynlab lyapunov model.pt -k 5 --inputs noise:1.0 --steps 5000 --samples 4
    dynlab lyapunov model.pt --inputs zero --steps 10000
    dynlab lyapunov model.pt --covariant --inputs noise:1.0 --steps 3000 --samples 2
    dynlab lyapunov --system lorenz
    """
    if sum(what is not None for what in (network.found, chosen["matrix"], chosen["named"])) != 1:
        raise UserError("Name one thing to look at: a checkpoint, or --system lorenz, or --matrix diff.")
    from dynlab import diagnostics, plots
    from dynlab.errors import lookup

    name = "covariant_vectors" if covariant else "lyapunov"
    measure = lookup(diagnostics.DIAGNOSTICS, name, "diagnostic")
    if covariant and transient is not None and transient != int(transient):
        raise UserError(f"--transient counts steps with --covariant, got {transient:g}.")
    cut = None if transient is None else int(transient) if transient == int(transient) else transient
    ends: dict[str, Any] = {"transient": cut} | ({"backward_transient": cut} if covariant else {})
    if network.found is None:
        system, given, subject = _without_checkpoint(network, **chosen)
    else:
        unfit = [each for each in ("seconds", "starts", "config") if chosen[each] not in (None, ())]
        if unfit:
            option = {"starts": "start", "config": "set"}.get(unfit[0], unfit[0])
            raise UserError(f"--{option} is of a system by name: leave it out, or CKPT.")
        system, driving, subject = network.system, network.driving, network.name
        output.log(f"Driven by {driving.description}.")
        given = {"inputs": driving.inputs, "inputs_description": driving.description}
    where = {"dtype": network.dtype, "device": network.device, "seed": network.seed}
    with output.working("Carrying tangent vectors"):
        ds = measure(system, k=k, **ends, **given, **where)
    draw = lookup(plots.PLOTS, f"plot_{name}", "plot")
    output.emit(ds, draw, f"{subject}{'-covariant' if covariant else ''}")


def _without_checkpoint(
    network: Network,
    named: str | None,
    matrix: str | None,
    config: tuple[str, ...],
    starts: tuple[str, ...],
    seconds: float | None,
) -> tuple[Any, dict[str, Any], str]:
    """The system, how long from where, and its name for the figure."""
    import numpy as np
    import torch

    from dynlab.systems import Flow, create
    from dynlab.systems.planar import planar_matrix, planar_system

    system: Any
    if named is not None:
        torch.manual_seed(network.seed)
        system, subject = create(named, **pairs(config, "--set")), named
    elif config:
        raise UserError("--set is of --system: leave it out, or name --system.")
    else:
        matrix = matrix or ""
        system = planar_system(planar_matrix(matrix, network.seed))
        subject = matrix if matrix.isalpha() else "matrix"
    if any(len(numbers("--start", text)) != system.state_size for text in starts):
        raise UserError(f"--start takes {system.state_size} numbers, one for each state; got {', '.join(starts)}.")
    states = [numbers("--start", text) for text in starts]
    own = system.initial_state()
    drawn = np.random.default_rng(network.seed).uniform(0, NEAR, system.state_size)
    begin = states or (drawn if own is None else own.detach().numpy())
    steps = click.get_current_context().get_parameter_source("steps") is ParameterSource.COMMANDLINE
    asked = {"steps": network.steps if steps else None, "seconds": seconds}
    right, wrong = ("seconds", "steps") if isinstance(system, Flow) else ("steps", "seconds")
    if asked[wrong] is not None:
        kind = "flow" if right == "seconds" else "map"
        raise UserError(f"{subject} is a {kind}: say how long by --{right}, not by --{wrong}.")
    return system, {"initial_state": begin} | asked, subject
