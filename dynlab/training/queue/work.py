"""The next unfinished training, and the next, until all are finished or somebody stops it."""

import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from dynlab.training.queue.folder import (
    SPENT,
    TIMES,
    alone,
    begun,
    epochs,
    note,
    noted,
    record,
    resolved,
    run_folder,
    write_record,
)
from dynlab.training.queue.queued import Queued, Record, described, kind
from dynlab.training.queue.status import done, feasible, overview, steps_done, time_all, total
from dynlab.training.run import Run
from dynlab.training.train import resume, train

SAVED_EVERY = 60.0  # seconds: what a stop, however sudden, costs at most


def work(
    queue: Sequence[Queued], folder: Path, *, data_dir: str | Path | None = None, say: Callable[[str], None] = print
) -> None:
    """Train what is not finished, in the queue's order: on a GPU where there is one, and what needs one only there.

    Parameters
    ----------
    queue : sequence of Queued
    folder : Path
        What is kept; created.
    data_dir : str or Path, optional
        Where data sets lie, besides DYNLAB_DATA.
    say : callable
        Is given a line of text for what begins, each epoch, and what is left.

    Raises
    ------
    KeyboardInterrupt
        When it is interrupted: what was done is kept, and the next call goes on from there.
    UserError
        Where another process runs the queue, and where data cannot be had.
    """
    # a shell without job control starts what it leaves in the background deaf to an interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    mine = feasible(queue)
    with alone(folder):
        while (queued := _next(mine, folder)) is not None:
            unfinished = [one for one in mine if one.group == queued.group and record(one, folder) is None]
            time_all(unfinished, folder, data_dir=data_dir, say=say)
            for line in overview(queue, folder):
                say(line)
            _carry_out(queued, folder, data_dir, device, say)
        waiting = sum(record(one, folder) is None for one in queue)
        said = f"All {len(mine)} trainings that this machine can do are finished; the rest, {waiting}, needs a GPU."
        say(said if waiting else f"All {len(queue)} trainings are finished.")


def _next(queue: Sequence[Queued], folder: Path) -> Queued | None:
    return next((one for one in queue if resolved(one, folder) is not None and record(one, folder) is None), None)


def _carry_out(
    queued: Queued, folder: Path, data_dir: str | Path | None, device: str, say: Callable[[str], None]
) -> None:
    """Train one to its end, from where it was, and write its record."""
    from dynlab.training.history import Diverged

    run, where = resolved(queued, folder), run_folder(folder, queued.name)
    if run is None:
        raise ValueError(f"{queued.name} waits for its candidates")
    goes_on = begun(queued, folder)
    say(f"{queued.name}: {done(queued, folder):,} of {total(queued, folder):,} iterations are done.")
    clock = Clock(folder, queued.name, noted(folder, SPENT).get(queued.name, 0.0) if goes_on else 0.0)

    def log(line: str) -> None:
        clock.note()
        say(f"{queued.name}: {line}")

    facts: dict[str, Any]
    try:
        if goes_on:
            facts = resume(where, data_dir=data_dir, device=device, log=log).facts
        else:
            writes = {"checkpoint_every": _between_checkpoints(run, folder)} | dict(queued.writes)
            # over a run that was killed before its first checkpoint, or another
            facts = train(run, where, overwrite=True, data_dir=data_dir, device=device, log=log, **writes).facts
    except Diverged as error:
        facts = {"diverged": str(error), "command": run.command}
    finally:
        clock.note()
    write_record(folder, _record(queued, run, where, facts, clock.seconds))
    say(f"{queued.name}: finished after {clock.seconds / 3600:.2f} core-hours.")


class Clock:
    """Adds the processor's seconds to what a training has taken so far, and keeps the sum in the folder."""

    def __init__(self, folder: Path, name: str, seconds: float) -> None:
        self.folder, self.name, self.seconds = folder, name, seconds
        self.since = time.process_time()

    def note(self) -> None:
        now = time.process_time()
        self.seconds, self.since = self.seconds + now - self.since, now
        note(self.folder, SPENT, **{self.name: round(self.seconds, 1)})


def _between_checkpoints(run: Run, folder: Path) -> int:
    return max(1, round(SAVED_EVERY / noted(folder, TIMES)[kind(run)]["seconds"]))


def _record(queued: Queued, run: Run, where: Path, facts: dict[str, Any], seconds: float) -> Record:
    return {
        "name": queued.name,
        "tier": queued.tier,
        "group": queued.group,
        "run": described(run),
        "iterations": steps_done(where),
        "core_hours": seconds / 3600,
        "facts": facts,
        "epochs": epochs(where),
    }
