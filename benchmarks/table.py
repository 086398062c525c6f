"""How long the main jobs take beside other ways to the same numbers, in one process and in turns, as ratios.

    python benchmarks/table.py [WORD ...]

Rows whose job has one of the words, or all of them. A file beside this one that `FILES` names has a function `rows`,
which makes its rows. The table is printed, and written to benchmarks/results/table.md where all rows were run.

The jobs of the production network need a checkpoint of three LSTM layers of 256 units, which DYNLAB_NETWORK names, such
as pretrained.pt of the public package Resemblyzer 0.1.4.
"""

from __future__ import annotations

import importlib
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILES = ("exponents", "gradients", "spectra", "basins", "commands")
RESULTS = Path(__file__).with_name("results") / "table.md"
ROUNDS = 5
LONG = 10.0  # seconds: a row whose first round takes longer is run once
HEAD = (
    "| job | way | seconds | dynlab's as a multiple: min–median–max | error | memory |",
    "|---|---|---|---|---|---|",
)
CORETYPE = "OPENBLAS_CORETYPE"  # a kernel of another processor would be timed


@dataclass(frozen=True)
class Way:
    """One way to a job's numbers.

    Attributes
    ----------
    name : str
        "a NumPy loop"; of a bound on all ways, "floor: the bare products".
    run : callable
        Does it, and returns the numbers.
    share : float
        Of the job, where a slow rival does a part of it; its time counts divided by the share.
    reach : float
        What dynlab's time is meant to be at most, as a multiple of this way's; inf where nothing is meant.
    prepare : callable
        What is done once and not timed, as compiling.
    """

    name: str
    run: Callable[[], Any]
    share: float = 1.0
    reach: float = float("inf")
    prepare: Callable[[], Any] = object


@dataclass(frozen=True)
class Row:
    """A job.

    Attributes
    ----------
    job : str
    dynlab : callable
        Does it.
    rivals : sequence of Way
    error : callable
        From what dynlab and the rivals by their names returned to the largest error, in words and digits.
    seconds, bytes : float
        What dynlab is meant to take at most.
    """

    job: str
    dynlab: Callable[[], Any]
    rivals: tuple[Way, ...]
    error: Callable[[Any, Mapping[str, Any]], str]
    seconds: float = float("inf")
    bytes: float = float("inf")


@dataclass
class Timed:
    """Seconds of each round, and the memory that dynlab took at most, of one row."""

    dynlab: list[float] = field(default_factory=list)
    rivals: dict[str, list[float]] = field(default_factory=dict)
    peak: float = 0.0
    error: str = ""


def timed(row: Row) -> Timed:
    """Run all ways in turns."""
    found = Timed(rivals={way.name: [] for way in row.rivals})
    numbers: dict[str, Any] = {}
    for way in row.rivals:
        way.prepare()
    for number in range(ROUNDS):
        seconds, result, peak = _once(row.dynlab)
        found.dynlab.append(seconds)
        found.peak = max(found.peak, peak)
        for way in row.rivals:
            spent, numbers[way.name], _ = _once(way.run)
            found.rivals[way.name].append(spent / way.share)
        if number == 0:
            found.error = row.error(result, numbers)
        if max(seconds, *(each[-1] for each in found.rivals.values()), 0.0) > LONG:
            break
    return found


def _once(run: Callable[[], Any]) -> tuple[float, Any, float]:
    """The seconds, what was returned, and the bytes of memory taken at most beside what was held before."""
    before = _memory(reset=True)
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result, _memory() - before


def _memory(reset: bool = False) -> float:
    """The most that the process held since the last reset, in bytes; NaN where the system does not say."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    return 1024.0 * int(status.split("VmHWM:")[1].split()[0])


def written(row: Row, found: Timed) -> list[str]:
    """The lines of the table for one job."""
    own = statistics.median(found.dynlab)
    mark = f" (at most {row.seconds:g})" if row.seconds < float("inf") else ""
    memory = f" (at most {row.bytes / 2**20:g})" if row.bytes < float("inf") else ""
    lines = [f"| {row.job} | dynlab | {own:.3g} s{mark} | | {found.error} | {found.peak / 2**20:.0f} MiB{memory} |"]
    for way in row.rivals:
        spent = found.rivals[way.name]
        ratios = [mine / theirs for mine, theirs in zip(found.dynlab, spent, strict=True)]
        low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
        reach = f" (at most {way.reach:g})" if way.reach < float("inf") else ""
        ratio = f"{low:.2f}–{middle:.2f}–{high:.2f}{reach}"
        name = way.name if way.share == 1 else f"{way.name}, {way.share:.3g} of the job"
        lines.append(f"| | {name} | {statistics.median(spent):.3g} s | {ratio} | | |")
    return lines


def machine() -> str:
    """The processor, its cores, and the kernels that ran."""
    import numpy
    import torch
    from threadpoolctl import threadpool_info

    kernels = sorted({f"{each['internal_api']} {each.get('architecture') or ''}".strip() for each in threadpool_info()})
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{platform.machine()}, {cores} cores, load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads; {', '.join(kernels)}"
    )


def main() -> None:
    if CORETYPE in os.environ:  # it is read when the library is loaded: start again without it
        kept = {name: value for name, value in os.environ.items() if name != CORETYPE}
        os.execve(sys.executable, [sys.executable, *sys.argv], kept)
    words = sys.argv[1:]
    lines = list(HEAD)
    for name in FILES:
        for row in importlib.import_module(name).rows(os.environ.get("DYNLAB_NETWORK")):
            if not words or any(word in row.job for word in words):
                lines += written(row, timed(row))
                print("\n".join(lines[-1 - len(row.rivals) :]), flush=True)
    lines = [machine(), "", *lines]
    print(lines[0])
    if not words:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
