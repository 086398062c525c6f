"""`dynlab lyapunov`: the Lyapunov exponents of a network along what drives it, or of a system by name."""

from typing import Any

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, POSITIVE


@analysis(ANYTHING | {"starts"})
@click.option("--seconds", type=POSITIVE, help="Of a flow: how long.  [default: 100; up to 10,000 with numba]")
@click.option("-k", type=COUNT, metavar="N", help="Only the N largest exponents.  [default: all; 10 of more than 128]")
@click.option(
    "--transient",
    type=click.FloatRange(min=0),
    metavar="STEPS",
    help="Discarded at the start (of a flow seconds); with --covariant steps, also at the end.  "
    "[default: a tenth; a fifth]",
)
@click.option("--largest-state", type=POSITIVE, help="Beyond, an orbit is cut.  [default: 1e8]")
@click.option("--covariant", is_flag=True, help="Covariant vectors instead, and angles between what grows and decays.")
def lyapunov(source: Source, transient: float | None, covariant: bool, **own: Any) -> CommandResult:
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
    name, suffix = ("covariant_vectors", "-covariant") if covariant else ("lyapunov", "")
    cut = int(transient) if transient is not None and transient.is_integer() else transient
    asked = own | {"transient": cut} | ({"backward_transient": cut} if covariant else {}) | source.computing
    if source.takes_inputs or source.found is not None:
        asked |= source.driven
    else:
        steps = source.steps if "steps" in source.given else None
        asked |= {"initial_state": source.initial_states or None, "steps": steps}
    return measured(source, name, "Carrying tangent vectors", [source.system], asked, suffix)
