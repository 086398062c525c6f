"""`dynlab check`: a regression test on a network's eigenvalues, gradients and exponents.

Its report is of the form JUnit's, which the test views of GitHub, GitLab and Jenkins read.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import click

from dynlab.errors import UserError

from .analysis import analysis, measured
from .columns import terminal_width
from .options import ANYTHING, COUNT, FOLDER
from .output import CommandResult, check_file, check_not_read
from .source import Source
from .streams import echo

if TYPE_CHECKING:
    import xarray as xr

CODES = {"holds": 0, "violated": 1, "undecided": 4}


@analysis(ANYTHING | {"starts"}, over=False)
@click.option(
    "--max-modulus", type=click.FloatRange(min=0), metavar="X", help="Of the eigenvalues of the one-step Jacobians."
)
@click.option("--max-real", type=float, metavar="X", help="Of the real parts of the flow's eigenvalues, in 1/s.")
@click.option("--min-log-gradient", type=float, metavar="X", help="Of ln ‖∂h_T/∂h_1‖.")
@click.option("--max-log-gradient", type=float, metavar="X", help="Of ln ‖∂h_T/∂h_1‖.")
@click.option("--max-exponent", type=float, metavar="X", help="Of the largest Lyapunov exponent, in nat/step.")
@click.option("--times", type=COUNT, help="At how many steps, evenly spaced.  [default: all, of large states fewer]")
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
    check_not_read(junit, source.files)
    from dynlab import testing
    from dynlab.diagnostics.eigenvalue_bounds.judgement import overall

    started = time.perf_counter()
    system, asked = source.map, source.driven | {"times": times} | source.computing | bounds
    found = measured(source, "eigenvalue_bounds", "Measuring", [system], asked)
    ds = found.dataset
    if junit is not None:
        write_junit(ds, junit, source.name, strict=strict, seconds=time.perf_counter() - started)
        if not source.quiet:
            echo(f"JUnit: {junit}", err=True)
    code = CODES[overall(ds["outcome"].values.tolist(), strict=strict)]
    return found._replace(table=testing.table(ds, terminal_width()), code=code)


# The outcome of a bound and the element that says so: an undecided one is no pass, and no failure either.
ELEMENTS = {"violated": "failure", "undecided": "error"}


def write_junit(ds: xr.Dataset, path: Path, name: str, *, strict: bool, seconds: float) -> None:
    """One test case for each bound of a Dataset of `dynlab.eigenvalue_bounds`.

    Parameters
    ----------
    ds : Dataset
    path : Path
    name : str
        What was checked.
    strict : bool
        Whether a value at its bound counts as undecided.
    seconds : float
        How long it took.
    """
    from dynlab.files import write_text

    name = _printable(name)
    elements = ELEMENTS | ({"at the bound": "error"} if strict else {})
    cases = [
        _case(ds.isel(bound=index), name, elements, seconds / ds.sizes["bound"]) for index in range(ds.sizes["bound"])
    ]
    counts: dict[str, Any] = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "time": f"{seconds:.3f}",
    }
    suites = ElementTree.Element("testsuites", name="dynlab check", **counts)
    moment = ds.attrs["created"][:19]  # the format knows no zone
    suite = ElementTree.SubElement(suites, "testsuite", name=name, skipped="0", timestamp=moment, **counts)
    properties = ElementTree.SubElement(suite, "properties")
    for key in ("dynlab_version", "system", "source", "settings", "verdict"):
        if key in ds.attrs:
            ElementTree.SubElement(properties, "property", name=key, value=_printable(ds.attrs[key]))
    suite.extend(cases)
    ElementTree.indent(suites)
    write_text(path, '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode") + "\n")


def _case(one: xr.Dataset, name: str, elements: dict[str, str], seconds: float) -> ElementTree.Element:
    from dynlab.testing import describe

    bound, outcome = str(one["bound"].values), str(one["outcome"].values)
    case = ElementTree.Element("testcase", classname=f"dynlab.check.{name}", name=bound, time=f"{seconds:.3f}")
    said = _printable(describe(one))
    if outcome in elements:
        ElementTree.SubElement(case, elements[outcome], message=said, type=outcome).text = said
    else:
        ElementTree.SubElement(case, "system-out").text = said
    return case


def _printable(text: str) -> str:
    """XML knows no control characters, which a file's name may hold."""
    return "".join(character if character.isprintable() or character in "\n\t" else "?" for character in text)
