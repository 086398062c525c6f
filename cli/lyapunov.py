"""`dynlab lyapunov`: the Lyapunov exponents of a network along what drives it."""

from __future__ import annotations

from typing import Any

import click

from .network import Network
from .options import network_options, output_options
from .output import Output


@click.command()
@network_options
@click.option("-k", type=int, metavar="N", help="Only the N largest exponents.  [default: all]")
@click.option(
    "--transient",
    type=int,
    metavar="STEPS",
    help="Steps discarded at the start; with --covariant also at the end.  [default: a tenth; a fifth]",
)
@click.option("--covariant", is_flag=True, help="Covariant vectors instead, and angles between what grows and decays.")
@output_options
def lyapunov(output: Output, network: Network, k: int | None, transient: int | None, covariant: bool) -> None:
    """Measure how fast nearby orbits of a network meet or separate: Lyapunov exponents, with their errors.

    Along inputs that change they are conditional: of orbits under the same input; whether two starts meet is then
    tested as well. On sequences under 1000 steps they are finite-time exponents.

    \b
    dynlab lyapunov model.pt
    dynlab lyapunov model.pt -k 5 --inputs noise:1.0 --steps 5000 --samples 4
    dynlab lyapunov model.pt --inputs zero --steps 10000
    dynlab lyapunov model.pt --covariant --inputs noise:1.0 --steps 3000 --samples 2
    """
    from dynlab import diagnostics, plots
    from dynlab.errors import lookup

    name = "covariant_vectors" if covariant else "lyapunov"
    measure = lookup(diagnostics.DIAGNOSTICS, name, "diagnostic")
    ends: dict[str, Any] = {"transient": transient} | ({"backward_transient": transient} if covariant else {})
    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Carrying tangent vectors"):
        ds = measure(
            network.system,
            driving.inputs,
            k=k,
            **ends,
            inputs_description=driving.description,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
        )
    draw = lookup(plots.PLOTS, f"plot_{name}", "plot")
    output.emit(ds, draw, f"{network.name}{'-covariant' if covariant else ''}")
