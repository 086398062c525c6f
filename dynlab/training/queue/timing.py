"""How long an iteration of a run takes a core, before it is started."""

import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dynlab.training.batches import Batches
from dynlab.training.network import training_loss
from dynlab.training.prepare import prepare
from dynlab.training.queue.folder import TIMES, note, noted
from dynlab.training.queue.queued import Queued, kind
from dynlab.training.run import Run, Writes

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
    folder.mkdir(parents=True, exist_ok=True)
    for queued in queue:
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
