"""How long the main jobs take beside other ways to the same numbers, in turns in one process, as ratios.

    python benchmarks/table.py [WORD ...]

Rows whose job has one of the words, or all of them. A file beside this one that `FILES` names has a function `rows`,
which makes its rows. What has been timed is printed, and written into benchmarks/results/table.md row by row; rows that
are not run keep what is written there, unless another kind of processor wrote it: one table is of one machine, and is
begun anew on another. A number that misses its mark is in bold, with the mark beside it. Seconds are those of a clock;
beside them are those of all processors together, which other programs lengthen less. The column "load" says how many
programs wanted a processor.

The jobs of the production network need a checkpoint of three LSTM layers of 256 units, which DYNLAB_NETWORK names, such
as pretrained.pt of the public package Resemblyzer 0.1.4. Where it names none, their rows say that they were not run.
"""

from __future__ import annotations

import importlib
import itertools
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

FILES = ("spectra", "certificates", "exponents", "gradients", "basins", "cells", "commands")
TRAINED = ("cells",)  # where numbers below the least normal one are 0, as they are while dynlab trains
FLUSHED = "--flushed"  # what `main` starts for these: a process that has them
RESULTS = Path(__file__).with_name("results") / "table.md"
ROUNDS = 5
LONG, ENOUGH = 10.0, 20.0  # seconds: a row of which one round takes longer is run once, and none anew after so many
HEAD = (
    "| job | way | seconds | of processors | dynlab's as a multiple: min–median–max | error | memory | load |",
    "|---|---|---|---|---|---|---|---|",
)
NOTE = (
    "Bold: not at its mark, which stands in brackets. Reasons are in benchmarks/NOTES.md. Where the load is beyond the "
    "number of cores other programs ran too, and the seconds are longer than on an idle machine."
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
    share : float
        Of the job that dynlab does here, where all of it takes minutes; its time counts divided by the share.
    measured : callable
        From what dynlab returned to its bytes, where it ran in another process.
    missing : str
        What would have to be there to run it; nothing where it can be run.
    """

    job: str
    dynlab: Callable[[], Any]
    rivals: tuple[Way, ...]
    error: Callable[[Any, Mapping[str, Any]], str]
    seconds: float = float("inf")
    bytes: float = float("inf")
    share: float = 1.0
    measured: Callable[[Any], float] | None = None
    missing: str = ""


class Spent(NamedTuple):
    """Seconds of a clock, and those of all processors together."""

    seconds: float
    processor: float


@dataclass
class Timed:
    """What each round took, and the memory that dynlab took at most, of one row."""

    dynlab: list[Spent] = field(default_factory=list)
    rivals: dict[str, list[Spent]] = field(default_factory=dict)
    peak: float = 0.0
    error: str = ""


def timed(row: Row) -> Timed:
    """Run all ways in turns."""
    found = Timed(rivals={way.name: [] for way in row.rivals})
    numbers: dict[str, Any] = {}
    for way in row.rivals:
        way.prepare()
    first = time.perf_counter()
    for number in range(ROUNDS):
        began = time.perf_counter()
        spent, result, peak = _once(row.dynlab, row.share)
        found.dynlab.append(spent)
        found.peak = max(found.peak, row.measured(result) if row.measured else peak)
        for way in row.rivals:
            spent, numbers[way.name], _ = _once(way.run, way.share)
            found.rivals[way.name].append(spent)
        is_long = time.perf_counter() - began > LONG
        if number == 0:
            found.error = row.error(result, numbers)
        if is_long or time.perf_counter() - first > ENOUGH:
            break
    return found


def _once(run: Callable[[], Any], share: float) -> tuple[Spent, Any, float]:
    """What all of a job takes, what this share of it returned, and its most bytes beside what was held before."""
    before = memory(reset=True)
    began, used = time.perf_counter(), sum(os.times()[:4])  # this process and those that it has started
    result = run()
    spent = Spent((time.perf_counter() - began) / share, (sum(os.times()[:4]) - used) / share)
    return spent, result, memory() - before


def memory(process: int | str = "self", reset: bool = False) -> float:
    """The most that a process held since it began or the last reset, in bytes; NaN where the system does not say."""
    try:
        if reset:
            Path(f"/proc/{process}/clear_refs").write_text("5")
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return float("nan")
    _, _, most = status.partition("VmHWM:")  # none of a process that has ended
    return 1024.0 * int(most.split()[0]) if most else float("nan")


def _marked(value: float, shown: str, most: float) -> str:
    """What is shown, with its mark where there is one, and bold where it is missed."""
    if most == float("inf"):
        return shown
    mark = f"(at most {most:,.0f})" if most >= 100 else f"(at most {most:.2g})"
    return f"{shown} {mark}" if value <= most else f"**{shown}** {mark}"


def written(row: Row, found: Timed) -> list[str]:
    """The lines of the table for one job."""
    (own, used), memory = _median(found.dynlab), found.peak / 2**20
    seconds = _marked(own, _seconds(own), row.seconds)
    taken = _marked(memory, f"{memory:.0f} MiB", row.bytes / 2**20)
    way = "dynlab" if row.share == 1 else f"dynlab, {row.share:.3g} of the job"
    load = f"{os.getloadavg()[0]:.1f}"
    lines = [f"| {row.job} | {way} | {seconds} | {_seconds(used)} | | {found.error} | {taken} | {load} |"]
    for rival in row.rivals:
        spent = found.rivals[rival.name]
        ratios = [mine.seconds / theirs.seconds for mine, theirs in zip(found.dynlab, spent, strict=True)]
        low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
        ratio = _marked(middle, f"{low:.2f}–{middle:.2f}–{high:.2f}", rival.reach)
        name = rival.name if rival.share == 1 else f"{rival.name}, {rival.share:.3g} of the job"
        own, used = _median(spent)
        lines.append(f"| | {name} | {_seconds(own)} | {_seconds(used)} | {ratio} | | | |")
    return lines


def _median(spent: list[Spent]) -> Spent:
    return Spent(*(statistics.median(part) for part in zip(*spent, strict=True)))


def known() -> dict[str, list[str]]:
    """The lines of each job in the written table."""
    found: dict[str, list[str]] = {}
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    for line in lines[lines.index(HEAD[1]) + 1 :] if HEAD[1] in lines else []:
        job = line.split("|")[1].strip() if line.startswith("|") else ""
        if job:
            found[job] = [line]
        elif line.startswith("|"):
            found[next(reversed(found))].append(line)
    return found


def keep(found: Mapping[str, list[str]]) -> None:
    """Write the table of these jobs."""
    RESULTS.parent.mkdir(exist_ok=True)
    lines = itertools.chain.from_iterable(found.values())
    RESULTS.write_text("\n".join([machine(), "", *HEAD, *lines, "", NOTE]) + "\n")


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 1e3 else f"{value:.3g} s"


def _processor() -> str:
    """Its name, where the system says it."""
    try:
        said = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine() -> str:
    """The processor, its cores, and the kernels that ran."""
    import numpy
    import torch
    from threadpoolctl import threadpool_info

    kernels = sorted({f"{each['internal_api']} {each.get('architecture') or ''}".strip() for each in threadpool_info()})
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_processor()}, {cores} cores; Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads; {', '.join(kernels)}"
    )


def main() -> None:
    if CORETYPE in os.environ:  # it is read when the library is loaded: start again without it
        kept = {name: value for name, value in os.environ.items() if name != CORETYPE}
        os.execve(sys.executable, [sys.executable, *sys.argv], kept)
    words = sys.argv[1:]
    if words[:1] == [FLUSHED]:
        sys.exit(without_denormals(words[1:]))
    if RESULTS.exists() and not RESULTS.read_text().startswith(f"{_processor()}, "):
        RESULTS.unlink()
    began, order, failed = time.perf_counter(), [], []
    print(machine(), "\n", *HEAD, sep="\n", flush=True)
    for name in FILES:
        if name in TRAINED:
            jobs = [row.job for row in _rows(name)]
            wanted = any(_is_asked(job, words) for job in jobs)
            code = subprocess.run([sys.executable, __file__, FLUSHED, *words]).returncode if wanted else 0
            failed += [f"some of {name}.py"] if code else []
        else:
            jobs = timed_rows(name, words, failed)
        order += jobs
    found = known()
    keep({job: found[job] for job in order if job in found})
    print(f"\n{NOTE} All of it took {time.perf_counter() - began:.0f} s.")
    if failed:
        sys.exit(f"These could not be run: {'; '.join(failed)}.")


def without_denormals(words: list[str]) -> bool:
    """Time the rows of `TRAINED` in this process, which has made no threads yet; whether one could not be run.

    Threads take numbers below the least normal one for 0 where the thread that made them does.
    """
    import torch

    torch.set_flush_denormal(True)
    failed: list[str] = []
    for name in TRAINED:
        timed_rows(name, words, failed)
    return bool(failed)


def timed_rows(name: str, words: list[str], failed: list[str]) -> list[str]:
    """Time, print and keep the rows of a file that have one of the words; all of its jobs."""
    found, jobs = known(), []
    for row in _rows(name):
        jobs.append(row.job)
        if not _is_asked(row.job, words):
            continue
        if not row.missing:
            try:
                found[row.job] = written(row, timed(row))
            except Exception as error:  # the other rows are worth having
                failed.append(row.job)
                found[row.job] = [f"| {row.job} | **failed**: {error!r} | | | | | | |".replace("\n", " ")]
        elif row.job not in found:
            found[row.job] = [f"| {row.job} | not run: {row.missing} | | | | | | |"]
        print("\n".join(found[row.job]), flush=True)
        keep(found)
    return jobs


def _rows(name: str) -> list[Row]:
    return importlib.import_module(name).rows(os.environ.get("DYNLAB_NETWORK"))


def _is_asked(job: str, words: list[str]) -> bool:
    return not words or any(word in job for word in words)


if __name__ == "__main__":
    main()
