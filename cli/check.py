"""`dynlab check`: a regression test on a network's eigenvalues, gradients and exponents."""

import time
from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError

from .analysis import analysis, measured
from .options import ANYTHING, COUNT, FOLDER
from .output import CommandResult, check_file
from .source import Source

CODES = {"holds": 0, "violated": 1, "undecided": 4}


@analysis(ANYTHING | {"starts"}, over=False)
@click.option("--max-modulus", type=float, metavar="X", help="Of the eigenvalues of the one-step Jacobians.")
@click.option("--max-real", type=float, metavar="X", help="Of the real parts of the flow's eigenvalues, in 1/s.")
@click.option("--min-log-gradient", type=float, metavar="X", help="Of ln ‖∂h_T/∂h_1‖.")
@click.option("--max-log-gradient", type=float, metavar="X", help="Of ln ‖∂h_T/∂h_1‖.")
@click.option("--max-exponent", type=float, metavar="X", help="Of the largest Lyapunov exponent, in nat/step.")
@click.option("--times", type=COUNT, help="At how many steps, evenly spaced.  [default: 64, of large states fewer]")
@click.option("--strict", is_flag=True, help="A value within its own error of its bound does not pass: exit code 4.")
@click.option("--junit", type=FOLDER, metavar="FILE", help="Also write a JUnit report, .xml.")
def check(source: Source, times: int | None, strict: bool, junit: Path | None, **bounds: Any) -> CommandResult:
    """Hold a network to bounds along what drives it, and end with an exit code that says whether it keeps them.

    0: every bound holds, or a value is within its own error of it. 1: one is violated by more than that error.
    4: one is undecided, since its number or that number's error is not known.

    \b
    dynlab check model.pt --max-modulus 1.05 --min-log-gradient -20 --max-log-gradient 20
    dynlab check model.pt --inputs noise:1.0 --steps 2000 --max-exponent 0 --junit report.xml
    """
    if all(limit is None for limit in bounds.values()):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in bounds)
        raise UserError(f"No bound is set, so there is nothing to check: give at least one of {options}.")
    check_file(junit, "--junit", (".xml",), overwrite=click.get_current_context().params["overwrite"])
    from dynlab import testing
    from dynlab.diagnostics.eigenvalue_bounds.judgement import overall

    from .junit import write_junit

    started = time.perf_counter()
    system, asked = source.map, source.driven | {"times": times} | source.computing | bounds
    found = measured(source, "eigenvalue_bounds", "Measuring", [system], asked)
    ds = found.dataset
    if junit is not None:
        write_junit(ds, junit, source.name, strict=strict, seconds=time.perf_counter() - started)
        if not source.quiet:
            click.echo(f"JUnit: {junit}", err=True)
    code = CODES[overall(ds["outcome"].values.tolist(), strict=strict)]
    return found._replace(table=testing.table(ds), code=code)
