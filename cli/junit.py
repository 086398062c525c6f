"""Bounds as a JUnit report, which the test views of GitHub, GitLab and Jenkins read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    import xarray as xr

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
    from dynlab.io import write_text

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
