"""The process that reads: it is told which inputs of which reader to make and read, and says what came of them.

Standard input has lines ``NAME SEED START COUNT COUNTING``. A copy of this process, which has imported all that is
needed, makes and reads these inputs and ends. It writes a line with the number of each before it reads it, for a
defect ``!`` and what it is, and in the end ``=`` and the counts. ``$`` and its exit code follow. What becomes of a copy
that no longer answers is for who asked to say.
"""

import contextlib
import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

import coverage
from branches import steps
from reader import IN_COPIES
from readers import READERS, Reader, Wrong

from dynlab.errors import UserError
from dynlab.reading import limits

SLACK_SECONDS, SLACK_BYTES = 2.0, 2**28  # beyond the limits: what is refused needs a little time and memory, too
MOST_BYTES = 6 * 2**30  # of this process, whatever is asked of it
LINES = 12  # of a traceback that is reported


def made(reader: Reader, seed: str, number: int) -> bytes:
    """The input of that number."""
    return reader.make(Random(f"{seed} {reader.name} {number}"))


def judged(reader: Reader, content: bytes, folder: Path) -> str:
    """Read one input: ``read``, ``refused``, or what is wrong."""
    path = folder / f"input{reader.suffix}"
    path.write_bytes(content)
    started = time.process_time()
    try:
        reader.read(path)
        outcome = "read"
    except UserError as error:
        outcome = "refused" if str(error).strip() else "an empty sentence"
    except Wrong as error:
        outcome = f"wrong: {error}"
    except BaseException:
        outcome = "".join(traceback.format_exc().splitlines(keepends=True)[-LINES:])
    took = time.process_time() - started
    if took > limits().seconds + SLACK_SECONDS:
        return f"it took {took:.1f} s of the processor ({outcome[:200]})"
    if [each.name for each in folder.iterdir()] != [path.name] or path.read_bytes() != content:
        return f"files were made, changed or removed: {sorted(os.listdir(folder))}"
    path.unlink()
    return outcome


def work(name: str, seed: str, start: int, count: int, say: Any) -> dict[str, int]:
    """Make and read these inputs of a reader; how many were read, refused, and are defects."""
    reader, counts = READERS[name], {"read": 0, "refused": 0, "defects": 0}
    most = peak() + limits().bytes + SLACK_BYTES
    for number in range(start, start + count):
        say(str(number))
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = made(reader, seed, number)
            most = max(most, peak())  # what it takes to make one is no reader's
            outcome = judged(reader, content, Path(folder))
        if peak() > most:
            outcome, most = f"it took {(peak() - most) / 2**30:.2f} GiB more than allowed ({outcome[:200]})", peak()
        counts[outcome if outcome in counts else "defects"] += 1
        if outcome not in counts:
            say("!" + json.dumps([number, outcome]))
    return counts


def peak() -> int:
    """The most bytes of memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Work until there is nothing more to do."""
    out = os.fdopen(os.dup(1), "w")
    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 1)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def say(line: str) -> None:
        out.write(line + "\n")
        out.flush()

    for line in sys.stdin:
        name, seed, start, count, counting = line.split()
        READERS[name].prepare()
        made(READERS[name], seed, int(start))  # the valid files that others are made of, once for all copies
        process = os.fork()
        if process:
            _, status = os.waitpid(process, 0)
            say(f"${os.waitstatus_to_exitcode(status)}")
            continue
        measured = coverage.Coverage(branch=True, data_file=None, include=["*/dynlab/*", "*/cli/*"], config_file=False)
        with measured.collect() if counting == "1" else contextlib.nullcontext():
            counts = work(name, seed, int(start), int(count), say)
        say("=" + json.dumps([counts, [*steps(measured) | IN_COPIES] if counting == "1" else []]))
        os._exit(0)


if __name__ == "__main__":
    main()
