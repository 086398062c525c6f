"""A few damaged files for every reader, as `make fuzz` reads many, in the process that it starts."""

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


def attacked(*arguments):
    command = [sys.executable, str(ROOT / "fuzz"), "--no-branches", "--seed", "tests", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def test_damaged_files_are_read_or_refused():
    told = attacked(*READERS, "--executions", "12")
    assert told.returncode == 0, told.stderr
    rows = [line.split() for line in told.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == READERS
    assert {row[1] for row in rows} == {"12"}


@pytest.mark.slow
def test_options_end_as_they_are_said_to():
    told = attacked("options", "--executions", "4")
    assert told.returncode == 0, told.stderr
