"""A few damaged files for every reader, as `make fuzz` reads many, in the process that it starts."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READERS = [
    "checkpoint",
    "old-checkpoint",
    "lightning",
    "document",
    "safetensors",
    "npz-weights",
    "npy",
    "npz",
    "netcdf",
    "zarr",
    "idx",
    "uci",
    "ptb",
    "wav",
    "certificate",
    "matrix",
]

SIGN = """def sign(x):
    if x < 0:
        return -1
    for _ in range(x):
        print()
    return 1


def never(x):
    return 1 if x else 2 if sign(x) else 3
"""


def attacked(*arguments):
    command = [sys.executable, str(ROOT / "fuzz"), "--no-branches", "--seed", "tests", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def test_damaged_files_are_read_or_refused():
    told = attacked(*READERS, "--executions", "12")
    assert told.returncode == 0, told.stderr
    rows = [line.split() for line in told.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == READERS
    assert {row[1] for row in rows} == {"12"}


def test_branches_are_those_of_the_functions_that_ran(tmp_path):
    """One of the two of `if` and the two of `for`; a step out of a function by an exception is none."""
    path = tmp_path / "some.py"
    path.write_text(SIGN)
    branches = runpy.run_path(str(ROOT / "fuzz" / "branches.py"))["branches"]
    negative = {(str(path), *step) for step in ((-1, 2), (2, 3), (3, -1), (2, -1))}
    assert branches(negative) == (1, 4)
    assert branches(negative | {(str(path), 2, 4), (str(path), 4, 5), (str(path), 5, 4)}) == (3, 4)
    assert branches(set()) == (0, 0)


@pytest.mark.slow
def test_options_end_as_they_are_said_to():
    told = attacked("options", "--executions", "4")
    assert told.returncode == 0, told.stderr
