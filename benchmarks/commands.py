"""Whole commands, each in a process of its own as a user starts it: start-up, and a production network at its defaults.

Their memory is the largest that the process held.
"""

import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

from table import Row, Way, memory

IMPORTS = "import torch, xarray, matplotlib.pyplot, scipy.linalg"
MARK, MARK_OF_SPECTRUM, MARK_OF_OTHERS = 30.0, 40.0, 60.0  # seconds
LOOK = 0.02  # seconds between two looks at a command's memory
MOST_MEMORY = 2.0 * 2**30  # bytes
MOST_SECONDS = 200  # of processors: a command that takes more is stopped, so that the table ends
COMMANDS = (  # at their defaults; `check` needs a bound, and `box-bounds` a box
    ("gradient",),
    ("lyapunov",),
    ("fixed-points",),
    ("modes",),
    ("geometry",),
    ("pseudospectrum",),
    ("spectrum",),
    ("check", "--max-modulus", "5"),
    ("check", "--max-log-gradient", "20"),
)
OTHERS = (("inspect",), ("lyapunov-function",), ("basins",), ("box-bounds", "--box", "1"))


class Ran(NamedTuple):
    """What a process came to."""

    code: int
    bytes: float
    said: str


def _run(*words: str) -> Ran:
    """Its exit code, the most memory that it held, and the last line that it printed."""
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=printed, stderr=subprocess.STDOUT, preexec_fn=_limited
        )
        peak, ended = [0.0], threading.Event()

        def watch() -> None:  # what the system counts for a process that has ended begins with what its parent held
            while not ended.wait(LOOK):
                seen = memory(process.pid)
                peak.append(seen if seen > 0 else 0.0)

        watcher = threading.Thread(target=watch)
        watcher.start()
        process.wait()
        ended.set()
        watcher.join()
        printed.seek(0)
        lines = printed.read().decode().strip().splitlines()
    return Ran(process.returncode, max(peak), lines[-1] if lines else "")


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))


def _dynlab(*words: str) -> Ran:
    return _run(str(Path(sys.executable).with_name("dynlab")), *words)


def _ended(ran: Ran, _: object) -> str:
    if ran.code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"stopped after {MOST_SECONDS} s of processors"
    return "" if ran.code in (0, 1, 4) else f"exit code {ran.code}: {ran.said}"


def _bytes(ran: Ran) -> float:
    return ran.bytes


def rows(network: str | None) -> list[Row]:
    folder = Path(tempfile.mkdtemp(prefix="dynlab-bench-"))

    def drawn(command: str, *options: str) -> Ran:
        picture = ["-o", str(folder / f"{command}.png"), "--overwrite"]
        return _dynlab(command, *options, *([] if command == "inspect" else picture))

    found = [
        Row("start-up: dynlab --help", lambda: _dynlab("--help"), (), _ended, seconds=0.3, measured=_bytes),
        Row(
            "start-up: dynlab phase --matrix diff",
            lambda: drawn("phase", "--matrix", "diff"),
            (Way("the imports of torch, xarray, matplotlib and scipy", lambda: _run("-c", IMPORTS), reach=1.3),),
            _ended,
            measured=_bytes,
        ),
    ]
    for commands, mark in ((COMMANDS, MARK), (OTHERS, MARK_OF_OTHERS)):
        for command, *options in commands:
            found.append(
                Row(
                    f"the production network: dynlab {' '.join([command, *options])}",
                    lambda c=command, o=options: drawn(c, str(network), *o),
                    (),
                    _ended,
                    seconds=MARK_OF_SPECTRUM if command == "spectrum" else mark,
                    bytes=MOST_MEMORY,
                    measured=_bytes,
                    missing="" if network else "DYNLAB_NETWORK names no checkpoint of it",
                )
            )
    return found
