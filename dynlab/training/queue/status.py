"""How far the queue is: iterations done, and hours left of one core, from how long an iteration takes one."""

import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from dynlab.files import make_folder
from dynlab.training.batches import Batches
from dynlab.training.network import training_loss
from dynlab.training.prepare import prepare
from dynlab.training.queue.folder import TIMES, begun, note, noted, record, resolved, run_folder
from dynlab.training.queue.queued import GPU_TIER, Queued, kind
from dynlab.training.run import Run, Writes


def feasible(queue: Sequence[Queued]) -> list[Queued]:
    """Those of the queue that this machine trains: without a GPU not those that wait for one."""
    return [one for one in queue if torch.cuda.is_available() or one.tier < GPU_TIER]


def overview(queue: Sequence[Queued], folder: Path) -> list[str]:
    """A line for each tier and each group in it: trainings finished, iterations done of all, core-hours left."""
    seconds = iteration_seconds(queue, folder)
    lines = []
    for tier in dict.fromkeys(one.tier for one in queue):
        members = [one for one in queue if one.tier == tier]
        where = ", on a GPU" if tier >= GPU_TIER else ""
        lines.append(f"tier {tier}{where}: {_line(members, folder, seconds)}")
        for group in dict.fromkeys(one.group for one in members):
            lines.append(f"  {group}: {_line([one for one in members if one.group == group], folder, seconds)}")
    return lines


def _line(members: Sequence[Queued], folder: Path, seconds: dict[str, float]) -> str:
    finished = sum(record(one, folder) is not None for one in members)
    ran = [done(one, folder) for one in members]
    left = [total(one, folder) - ready for one, ready in zip(members, ran, strict=True)]
    hours = sum(seconds.get(kind(one.run), 0.0) * rest for one, rest in zip(members, left, strict=True)) / 3600
    untimed = sum(not total(one, folder) for one in members)
    return (
        f"{finished} of {len(members)} trainings are finished, {sum(ran):,} of {sum(ran) + sum(left):,} iterations are "
        f"done, {hours:.1f} core-hours are left"
        + (f", without {untimed} trainings that are not timed yet." if untimed else ".")
    )


def iteration_seconds(queue: Sequence[Queued], folder: Path) -> dict[str, float]:
    """Seconds an iteration, by the kind of run: those of the runs finished on a processor, or the timed ones."""
    seconds = {key: timed["seconds"] for key, timed in noted(folder, TIMES).items()}
    for queued in queue:
        found = record(queued, folder)
        if found and found["iterations"] and found["facts"].get("device", "cpu") == "cpu":
            seconds[kind(queued.run)] = 3600 * found["core_hours"] / found["iterations"]
    return seconds


def done(queued: Queued, folder: Path) -> int:
    """Iterations that are kept: a run that is killed goes on from there."""
    found = record(queued, folder)
    if found:
        return int(found["iterations"])
    return steps_done(run_folder(folder, queued.name)) if begun(queued, folder) else 0


def total(queued: Queued, folder: Path) -> int:
    """Iterations in all: of a training that has not ended with those of an epoch when it was timed; 0 before."""
    found, run = record(queued, folder), resolved(queued, folder) or queued.run
    if found:
        return int(found["iterations"])
    return int(noted(folder, TIMES).get(kind(queued.run), {}).get("batches", 0)) * run.settings.epochs


def steps_done(run: Path) -> int:
    """The optimizer's steps in a run's last checkpoint; 0 where it has none."""
    last = run / "last.ckpt"
    if not last.is_file():
        return 0
    return int(torch.load(last, map_location="cpu", weights_only=True)["global_step"])


TIMED = 20  # iterations, after one that is not counted: the first makes what the others find
LONGEST = 10.0  # seconds, after which fewer are enough


def time_all(
    queue: Sequence[Queued],
    folder: Path,
    *,
    data_dir: str | Path | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Time some iterations of every kind of run that has not been timed yet, and keep that in the folder."""
    make_folder(folder)
    for queued in feasible(queue):
        if kind(queued.run) not in noted(folder, TIMES):
            timed = time_iterations(queued.run, data_dir)
            note(folder, TIMES, **{kind(queued.run): timed})
            say(f"{queued.name}: {timed['seconds']:.3g} s an iteration")


def time_iterations(run: Run, data_dir: str | Path | None = None) -> dict[str, float]:
    """The ``seconds`` of an iteration, a mean of 20 or of 10 seconds, and the ``batches`` in an epoch.

    Seconds are the processor's, whatever else runs beside it. The checkpoints, the validation and the test after each
    epoch are not in it.
    """
    prepared = prepare(run, Path(), data_dir, "cpu", Writes(), False, None)
    network, task, settings = prepared.network, prepared.task, prepared.settings
    batches = Batches(task, settings)
    system = network.system
    optimizer = settings.make_optimizer(
        network.parameters(), system.constrained_parameters(), system.decaying_parameters()
    )
    endless = itertools.chain.from_iterable(itertools.repeat(batches))
    began, passed, number = 0.0, 0.0, 0
    for number, (inputs, targets) in enumerate(itertools.islice(endless, TIMED + 1)):
        if number == 1:
            began = time.process_time()
        optimizer.zero_grad()
        training_loss(task, network(inputs), targets, settings).backward()
        optimizer.step()
        passed = time.process_time() - began
        if number and passed > LONGEST:
            break
    return {"seconds": passed / number, "batches": len(batches)}
