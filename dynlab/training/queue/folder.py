"""What the queue keeps between one start and the next, and that only one of it runs."""

import csv
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynlab import files
from dynlab.errors import UserError
from dynlab.training.queue.queued import Queued, Record, chosen, described
from dynlab.training.run import METRICS_FILE, RUN_FILE, Run

LOCK, SPENT, TIMES = "running", "spent.json", "timed.json"
KEPT = "kept.json"  # of the trainings that other machines finished: versions, data, and how far others got
ASKED_AGAIN = 10.0  # seconds after which a queue that goes on is told again to pause


def home() -> Path:
    """The folder: DYNLAB_QUEUE, or ``dynlab/queue`` where the user's programs keep their state."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("DYNLAB_QUEUE") or Path(state) / "dynlab" / "queue")


def run_folder(folder: Path, name: str) -> Path:
    """Where `dynlab.training.train` keeps the training of that name."""
    return folder / "runs" / name


def resolved(queued: Queued, folder: Path) -> Run | None:
    """What is to be trained; None while a candidate for its settings is not finished."""
    if not queued.candidates:
        return queued.run
    records = [_read(folder / "results" / f"{name}.json") for name in queued.candidates]
    return chosen(queued.run, records) if all(records) else None


def record(queued: Queued, folder: Path) -> Record | None:
    """That of the finished training; None where there is none, or one of another run under its name."""
    found = _read(folder / "results" / f"{queued.name}.json")
    run = resolved(queued, folder)
    return found if found and run is not None and found["run"] == described(run) else None


def write_record(folder: Path, found: Record) -> None:
    """Keep the record of a finished training."""
    path = folder / "results" / f"{found['name']}.json"
    files.make_folder(path.parent)
    files.write_text(path, json.dumps(found, allow_nan=False) + "\n")


def begun(queued: Queued, folder: Path) -> bool:
    """Whether its folder holds this very run, which got to a checkpoint."""
    stored, run = _read(run_folder(folder, queued.name) / RUN_FILE), resolved(queued, folder)
    same = run is not None and all(stored.get(key) == value for key, value in described(run).items())
    return same and (run_folder(folder, queued.name) / "last.ckpt").is_file()


def epochs(run: Path) -> dict[str, list[float]]:
    """Every epoch's numbers of the training in that folder, by their names."""
    rows = []
    if (run / METRICS_FILE).is_file():  # not of a run that is in its first epoch, or diverged in it
        with (run / METRICS_FILE).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in (rows[0] if rows else {}) if name != "epoch"}


def noted(folder: Path, file: str) -> dict[str, Any]:
    """What stands in `SPENT`, seconds by a training's name, in `TIMES`, by kind, or in `KEPT`."""
    return _read(folder / file)


def note(folder: Path, file: str, **entries: Any) -> None:
    """Write entries into `SPENT`, `TIMES` or `KEPT`, beside those that stand there."""
    files.make_folder(folder)
    files.write_text(folder / file, json.dumps(_read(folder / file) | entries) + "\n")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder, or say which process does; a process that is killed lets go of it.

    Raises
    ------
    UserError
        Where another process runs the queue.
    """
    files.make_folder(folder)
    with (folder / LOCK).open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise UserError(
                f"The queue in {folder} is running already, in process {file.read().strip()}: `make queue-pause` stops "
                "it."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def pause(folder: Path) -> int | None:
    """Stop the process that runs the queue, and wait until it has; its number, None where none runs."""
    process = running(folder)
    while running(folder) is not None and process is not None:
        os.kill(process, signal.SIGINT)
        asked = time.monotonic()
        while running(folder) is not None and time.monotonic() - asked < ASKED_AGAIN:
            time.sleep(0.1)
    return process


def running(folder: Path) -> int | None:
    """The process that runs the queue."""
    if not (folder / LOCK).is_file():
        return None
    with (folder / LOCK).open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = file.read().strip()
            return int(text) if text else None  # it holds the file, and has not written its number yet
    return None


def _read(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is no such file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found
