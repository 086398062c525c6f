"""`dynlab check`: a regression test on a network's eigenvalues, gradients and exponents."""

import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

from dynlab.errors import UserError, one_line
from dynlab.files import write_text

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, FOLDER
from .output import check_file, print_json

CODES = {"holds": 0, "violated": 1, "undecided": 4}
# The elements of a JUnit report: an undecided bound is neither a pass nor a failure.
ELEMENTS = {"violated": "failure", "undecided": "error", "not checked": "error"}


@analysis(ANYTHING | {"starts"}, over=False, samples={"default": None})
@click.option("--max-modulus", type=float, metavar="X", help="Fail if a step's eigenvalue has a larger modulus.")
@click.option("--max-real", type=float, metavar="X", help="Fail if a flow's eigenvalue has a larger real part (1/s).")
@click.option("--min-log-gradient", type=float, metavar="X", help="Fail if ln ‖∂h_T/∂h_1‖ is smaller.")
@click.option("--max-log-gradient", type=float, metavar="X", help="Fail if ln ‖∂h_T/∂h_1‖ is larger.")
@click.option("--max-exponent", type=float, metavar="X", help="Fail if the largest exponent is larger (nat/step).")
@click.option("--times", type=COUNT, help="Number of steps to linearise.  [default: all; fewer of large states]")
@click.option("--strict", is_flag=True, help="Exit with 4 if a value is within its error of the bound.")
@click.option("--junit", type=FOLDER, metavar="FILE", help="Also write a JUnit report, .xml.")
def check(source: Source, times: int | None, strict: bool, junit: Path | None, **bounds: Any) -> CommandResult:
    """Hold a network to bounds along what drives it; the exit code says whether it keeps them.

    0: every bound holds, or a value is within its own error of it. 1: one is violated by more than that error.
    2: nothing could be checked. 4: one is undecided, since its number or that number's error is not known. All
    sequences of a file are checked, 16 of other inputs. --overwrite also replaces the JUnit report.

    \b
    dynlab check model.pt --max-modulus 1.05 --min-log-gradient -20 --max-log-gradient 20
    dynlab check model.pt --inputs noise:1.0 --steps 2000 --max-exponent 0 --junit report.xml
    """
    if all(limit is None for limit in bounds.values()):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in bounds)
        raise UserError(f"Give at least one bound: {options}.")
    chosen = click.get_current_context().params
    check_file(junit, "--junit", (".xml",), overwrite=chosen["overwrite"])
    from dynlab.diagnostics.eigenvalue_bounds.judgement import overall
    from dynlab.testing import describe

    started, cases = time.perf_counter(), []
    try:
        asked = source.driven | {"times": times} | source.computing | bounds
        found = measured(source, "eigenvalue_bounds", "Measuring", [source.map], asked)
        each = [found.dataset.isel(bound=index) for index in range(found.dataset.sizes["bound"])]
        cases = [(str(one["bound"].values), str(one["outcome"].values), describe(one)) for one in each]
    except UserError as error:
        cases = [("check", "not checked", str(error))]
        if chosen["as_json"] or chosen["arrays"]:
            print_json({"command": "check", "verdict": str(error), "files": {}})
        raise
    finally:
        if junit is not None and cases:
            write_junit(junit, source.name, cases, strict=strict, seconds=time.perf_counter() - started)
    picture = found.picture if chosen["output"] else None  # a picture only where one is asked for
    code = CODES[overall([outcome for _, outcome, _ in cases], strict=strict)]
    return found._replace(picture=picture, code=code)


def write_junit(path: Path, name: str, cases: list[tuple[str, str, str]], *, strict: bool, seconds: float) -> None:
    """Write a JUnit report.

    Parameters
    ----------
    path : Path
    name : str
        The name of what was checked.
    cases : list of tuple of str
        The name, outcome and sentence of each bound.
    strict : bool
        Count a value at its bound as undecided.
    seconds : float
        Time that it took.
    """
    from dynlab.schema import created

    elements = ELEMENTS | ({"at the bound": "error"} if strict else {})
    found = [elements.get(outcome, "") for _, outcome, _ in cases]
    counts = {"tests": f"{len(found)}", "failures": f"{found.count('failure')}", "errors": f"{found.count('error')}"}
    suites = ElementTree.Element("testsuites")
    about = {"name": one_line(name), "skipped": "0", "time": f"{seconds:.3f}", "timestamp": created()[:19]}  # no zone
    suite = ElementTree.SubElement(suites, "testsuite", counts | about)
    for element, (bound, outcome, said) in zip(found, cases, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname="dynlab.check", name=bound)
        shown = {"message": one_line(said), "type": outcome} if element else {}
        ElementTree.SubElement(case, element or "system-out", shown).text = one_line(said)
    ElementTree.indent(suites)
    write_text(path, '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode") + "\n")
