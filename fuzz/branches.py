"""Which branches of dynlab's own code a reader took, and how many there are in the functions that it ran."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable

import coverage

Step = tuple[str, int, int]  # file, from line and to line; also out of a function, by a result or an exception


def steps(measured: coverage.Coverage) -> set[Step]:
    """Every step from line to line that was taken."""
    data = measured.get_data()
    return {(file, *arc) for file in data.measured_files() for arc in data.arcs(file) or ()}


def branches(taken: Iterable[Step]) -> tuple[int, int]:
    """How many of the steps are one of several ways to go on, and how many such ways their functions have.

    A function that no step leads into does not count: what would call it is itself a branch that is not taken.
    """
    arcs = defaultdict(list)
    for file, start, end in taken:
        arcs[file].append((start, end))
    if not arcs:
        return 0, 0
    measured = coverage.Coverage(branch=True, data_file=None, config_file=False)
    measured.get_data().add_arcs(arcs)
    with tempfile.NamedTemporaryFile() as told:
        measured.json_report(outfile=told.name)
        report = json.load(told)
    measured.get_data().close(force=True)
    found = missed = 0
    for said in report["files"].values():
        for function in said["functions"].values():
            if function["executed_lines"]:
                found += len(function["executed_branches"])
                missed += len(function["missing_branches"])
    return found, found + missed
