"""Read damaged and hostile files with every reader of dynlab's, and report what should not have happened.

    python fuzz                              a minute of each reader
    python fuzz npy certificate --seconds 600
    python fuzz --executions 50 --seed 3     as many inputs of each reader
    python fuzz npy --only 1234              one input again, which is kept in fuzz/found

An input is made from the seed, the reader's name and its own number alone, by damaging a valid file or as a hostile one
from the start, so that any of them can be made again. A defect is any end but a result or a `UserError`: another
exception, a process that ends or hangs, more time or memory than a file may take, a file that was made, changed or
removed, and a result that cannot be that of the file. A new process goes on after `FRESH` inputs, and where one ended.
The exit code is 1 where there is a defect.

The report has the branches that were taken, of how many in those functions of dynlab's that ran, and after how many
inputs the newest was. Steps from line to line are counted beside them: also those out of a function by an exception.
"""

import argparse
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from branches import Step, branches

HERE = Path(__file__).parent
FOUND = HERE / "found"
FRESH = 1000  # inputs after which a new process goes on
SECONDS, GIBIBYTES = "5", "0.5"  # that a file may take to be read: less than by default, so that a hang costs less
PATIENCE = 600.0  # seconds without an answer: many times the above, for a machine that is busy with other things
NAMES = (
    *("checkpoint", "old-checkpoint", "lightning", "document", "safetensors", "npz-weights"),
    *("npy", "npz", "netcdf", "zarr", "idx", "uci", "ptb", "wav", "certificate"),
    *("matrix", "setting", "inputs", "options"),
)


@dataclass
class Tally:
    """What became of the inputs of one reader."""

    executions: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"read": 0, "refused": 0, "defects": 0})
    defects: list[tuple[int, str]] = field(default_factory=list)
    branches: int = 0
    of: int = 0
    newest: int = 0
    steps: set[Step] = field(default_factory=set)
    newest_step: int = 0
    seconds: float = 0.0


class Worker:
    """The reading process."""

    def __init__(self) -> None:
        environment = os.environ | {"DYNLAB_READ_SECONDS": SECONDS, "DYNLAB_READ_GIB": GIBIBYTES, "MPLBACKEND": "Agg"}
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self.rest = b""

    def line(self) -> str | None:
        """The next line that it says; None where it says no more."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            more = os.read(self.process.stdout.fileno(), 1 << 20) if ready and self.process.stdout else b""
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def end(self) -> None:
        """Stop it, and its copies."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


def batch(worker: Worker, name: str, seed: str, start: int, count: int, counting: bool, tally: Tally) -> bool:
    """Have these inputs read; whether the process still answers."""
    before, last, whole = time.monotonic(), start - 1, False
    worker.process.stdin.write(f"{name} {seed} {start} {count} {int(counting)}\n".encode())
    worker.process.stdin.flush()
    while True:
        line = worker.line()
        if line is None or (line.startswith("$") and not whole):
            if last < start:
                raise SystemExit(f"The inputs of {name} cannot be made: {line or 'there is no answer'}.")
            tally.defects.append(
                (last, f"the process ended with {line[1:]}" if line else f"no answer for {PATIENCE:g} s")
            )
            tally.counts["defects"] += 1
            tally.executions += last - start + 1
            break
        if line.startswith("$"):
            break
        if line.startswith("!"):
            tally.defects.append(tuple(json.loads(line[1:])))
        elif line.startswith("="):
            counts, told = json.loads(line[1:])
            for each, some in counts.items():
                tally.counts[each] += some
            tally.executions += count
            whole = True
            if new := {tuple(each) for each in told} - tally.steps:
                tally.steps |= new
                tally.newest_step = tally.executions
                had = tally.branches
                tally.branches, tally.of = branches(tally.steps)
                if tally.branches > had:
                    tally.newest = tally.executions
        else:
            last = int(line)
    tally.seconds += time.monotonic() - before
    return line is not None


def attack(
    names: list[str], seconds: float, executions: int, seed: str, first: int, counting: bool
) -> dict[str, Tally]:
    """Attack these readers, each for so long, or with so many inputs."""
    tallies = {name: Tally() for name in names}
    worker = Worker()
    for name, tally in tallies.items():
        at = first
        while tally.executions < executions if executions else tally.seconds < seconds:
            count = min(FRESH, executions - tally.executions if executions else max(10, tally.executions // 2))
            known = tally.executions
            answers = batch(worker, name, seed, at, count, counting, tally)
            at += tally.executions - known
            if not answers:
                worker.end()
                worker = Worker()
        sys.stderr.write(f"{row(name, tally)}\n")
        for number, what in one_of_each(tally.defects):
            sys.stderr.write(f"  {name} {number}: {what.strip()}\n")
    worker.end()
    return tallies


def one_of_each(defects: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first of those that end in the same line, numbers aside."""
    first: dict[str, tuple[int, str]] = {}
    for number, what in defects:
        last = what.strip().splitlines()[-1]
        first.setdefault("".join(letter for letter in last if not letter.isdigit())[:60], (number, what))
    return list(first.values())


HEAD = "reader           executions      read   refused  defects  branches     of  newest at  steps  newest at  seconds"


def row(name: str, tally: Tally) -> str:
    """A line of the report."""
    counts = tally.counts
    return (
        f"{name:15} {tally.executions:11,} {counts['read']:9,} {counts['refused']:9,} {counts['defects']:8,} "
        f"{tally.branches:9,} {tally.of:6,} {tally.newest:10,} {len(tally.steps):6,} {tally.newest_step:10,} "
        f"{tally.seconds:8.0f}"
    )


def keep(names: list[str], seed: str, number: int) -> None:
    """Make one input again, and keep it."""
    from readers import READERS
    from worker import made

    FOUND.mkdir(exist_ok=True)
    for name in names:
        path = FOUND / f"{name}-{seed}-{number}{READERS[name].suffix}"
        path.write_bytes(made(READERS[name], seed, number))
        sys.stdout.write(f"{path}\n")


def main() -> int:
    """Read the command line, attack, and report."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("readers", nargs="*", choices=[[], *NAMES], help="default: all of them")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each reader")
    parser.add_argument("--executions", type=int, default=0, help="of each reader, in place of seconds")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--only", type=int, help="keep this one input, and read nothing")
    parser.add_argument("--no-branches", action="store_true", help="do not count branches, which takes time")
    given = parser.parse_args()
    names = given.readers or list(NAMES)
    if given.only is not None:
        keep(names, given.seed, given.only)
        return 0
    tallies = attack(names, given.seconds, given.executions, given.seed, given.first, not given.no_branches)
    lines = [f"seed {given.seed}", HEAD, *(row(name, tally) for name, tally in tallies.items())]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(any(tally.counts["defects"] for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
