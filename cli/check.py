"""`dynlab check`: a regression test on a network's eigenvalues, gradients and exponents."""

from __future__ import annotations

import time
from pathlib import Path

import click

from dynlab.errors import UserError

from .network import Network
from .options import network_options, output_options
from .output import Output

FAILED, UNDECIDED = 1, 4  # exit codes


@click.command()
@network_options
@click.option("--max-modulus", type=float, metavar="X", help="Of the eigenvalues of the one-step Jacobians.")
@click.option("--max-real", type=float, metavar="X", help="Of the real parts of the flow's eigenvalues, in 1/s.")
@click.option("--min-log-gradient", type=float, metavar="X", help="Of ln ‖∂h_T/∂h_1‖.")
@click.option("--max-log-gradient", type=float, metavar="X", help="Of ln ‖∂h_T/∂h_1‖.")
@click.option("--max-exponent", type=float, metavar="X", help="Of the largest Lyapunov exponent, in nat/step.")
@click.option(
    "--times",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="At how many steps of each sequence eigenvalues are computed, evenly spaced.",
)
@click.option("--strict", is_flag=True, help="A value within its own error of its bound does not pass: exit code 4.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write a JUnit report, .xml.")
@output_options
def check(
    output: Output,
    network: Network,
    max_modulus: float | None,
    max_real: float | None,
    min_log_gradient: float | None,
    max_log_gradient: float | None,
    max_exponent: float | None,
    times: int,
    strict: bool,
    junit: Path | None,
) -> int:
    """Hold a network to bounds along what drives it, and end with an exit code that says whether it keeps them.

    0: every bound holds, or a value is within its own error of it. 1: one is violated by more than that error.
    4: one is undecided, since its number or that number's error is not known.

    \b
    dynlab check model.pt --max-modulus 1.05 --min-log-gradient -20 --max-log-gradient 20
    dynlab check model.pt --inputs noise:1.0 --steps 2000 --max-exponent 0 --junit report.xml
    """
    bounds = {
        "max_modulus": max_modulus,
        "max_real": max_real,
        "min_log_gradient": min_log_gradient,
        "max_log_gradient": max_log_gradient,
        "max_exponent": max_exponent,
    }
    if all(limit is None for limit in bounds.values()):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in bounds)
        raise UserError(f"No bound is set, so there is nothing to check: give at least one of {options}.")
    if output.collected is not None:
        raise UserError("check judges one network: leave --over out, and name the checkpoint.")
    output.check_file(junit, "--junit", (".xml",))
    from dynlab import testing
    from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds
    from dynlab.diagnostics.eigenvalue_bounds.judgement import HOLDS, VIOLATED, overall
    from dynlab.plots.eigenvalue_bounds import plot_eigenvalue_bounds

    from .junit import write_junit

    started = time.perf_counter()
    driving = network.driving
    output.log(f"Driven by {driving.description}.")
    with output.working("Measuring"):
        ds = eigenvalue_bounds(
            network.system,
            driving.inputs,
            times=times,
            inputs_description=driving.description,
            dtype=network.dtype,
            device=network.device,
            seed=network.seed,
            **bounds,
        )
    if junit is not None:
        write_junit(ds, junit, network.name, strict=strict, seconds=time.perf_counter() - started)
    if not output.as_json:
        click.echo(f"{testing.table(ds)}\n")
    output.emit(ds, plot_eigenvalue_bounds, network.name)
    if junit is not None:
        output.log(f"JUnit: {junit}")
    outcome = overall(ds["outcome"].values.tolist(), strict=strict)
    return 0 if outcome == HOLDS else FAILED if outcome == VIOLATED else UNDECIDED
