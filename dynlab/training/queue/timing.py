"""How long an iteration of a run takes a core, before it is started."""

import itertools
import time
from pathlib import Path

from dynlab.training.batches import Batches
from dynlab.training.network import training_loss
from dynlab.training.prepare import prepare
from dynlab.training.run import Run, Writes

TIMED = 20  # iterations, after one that is not counted: the first makes what the others find


def time_iterations(run: Run, data_dir: str | Path | None = None) -> dict[str, float]:
    """The ``seconds`` of an iteration, a mean of 20, and how many there are in an epoch, its ``batches``.

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
    began = 0.0
    for number, (inputs, targets) in enumerate(itertools.islice(endless, TIMED + 1)):
        if number == 1:
            began = time.process_time()
        optimizer.zero_grad()
        training_loss(task, network(inputs), targets, settings).backward()
        optimizer.step()
    seconds = (time.process_time() - began) / TIMED
    return {"seconds": seconds, "batches": len(batches)}
