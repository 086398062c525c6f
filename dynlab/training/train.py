"""A training run in its folder: started, interrupted, resumed, and finished with a checkpoint of dynlab's own.

The folder holds ``run.json`` (what is trained), ``metrics.csv`` (a row an epoch), ``steps.csv`` (a row every
so many steps), ``tensorboard`` (both, for that viewer), ``last.ckpt`` and ``best.ckpt``
(Lightning's, readable by every analysis), with `keep_every` also ``step-000000.ckpt`` and so on, and, at the end,
``network.pt``. A run that replaces another keeps that one in ``replaced`` until then.
"""

import dataclasses
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dynlab import checkpoints, files
from dynlab.errors import UserError
from dynlab.numerics.threads import torch_threads
from dynlab.training.loading import check_of_run
from dynlab.training.network import evaluate
from dynlab.training.prepare import Prepared, prepare
from dynlab.training.replacing import already_there, make, replacing
from dynlab.training.run import BEST, LAST, NETWORK_FILE, RUN_FILE, Run, Writes, checked_against_run
from dynlab.training.run_folder import check_no_links, claimed, remove_replaced
from dynlab.training.stored_run import stored_run


@dataclass(frozen=True)
class Result:
    """A finished training.

    Attributes
    ----------
    checkpoint : Path
        dynlab's own.
    facts : dict
        What it says about the training: the command, versions, the data's checksum, ``test_accuracy`` (0 to 1).
    """

    checkpoint: Path
    facts: dict[str, Any]


def train(
    run: Run,
    folder: str | Path,
    *,
    data_dir: str | Path | None = None,
    device: str = "cpu",
    devices: int = 1,
    overwrite: bool = False,
    checkpoint_every: int | None = None,
    keep_every: int | None = None,
    log_every: int = Writes.log_every,
    monitor_every: int | None = None,
    test_every_epoch: bool = False,
    progress: bool = False,
    log: Callable[[str], None] | None = None,
) -> Result:
    """Train a network from the start.

    Parameters
    ----------
    run : Run
    folder : str or Path
        Where everything goes; created.
    data_dir : str or Path, optional
        Where data sets lie, besides DYNLAB_DATA.
    device : str
        ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
    devices : int
        How many processes on the CPU, or GPUs, share each batch: the result is that of one up to rounding, but for
        dropout.
    overwrite : bool
        Replace an earlier run in that folder. It lies in ``replaced`` until this one has its network, and is put back
        where this one ends before its first checkpoint.
    checkpoint_every : int, optional
        Save ``last.ckpt`` after so many batches too, not only after each epoch.
    keep_every : int, optional
        Keep a checkpoint of the untrained network and one after every so many batches: ``step-000000.ckpt``, ….
    log_every : int
        Steps between rows of ``steps.csv`` and points in TensorBoard.
    monitor_every : int, optional
        Steps between two measurements of a `StabilityMonitor`, which go there too.
    test_every_epoch : bool
        Write what the test split says of each epoch's network to ``metrics.csv`` too; nothing is chosen by it.
    progress : bool
        Draw a progress bar on standard error.
    log : callable, optional
        Is given a line of text for each epoch.

    Returns
    -------
    Result

    Raises
    ------
    UserError
        For unknown names and settings, data that cannot be had, an existing folder, one that another process trains
        into, and a training that diverges.
    KeyboardInterrupt
        When interrupted; ``last.ckpt`` is then that of the last epoch.
    """
    folder = Path(folder)
    if files.exists(folder) and not overwrite:
        raise already_there(folder)
    writes = Writes(checkpoint_every, keep_every, log_every, monitor_every, test_every_epoch)
    making = functools.partial(prepare, run, folder, data_dir, device, writes, progress, log, devices)
    prepared = making()
    make(folder, overwrite)
    stored = dataclasses.asdict(run) | {"writes": dataclasses.asdict(writes), "devices": devices}
    with claimed(folder), replacing(folder):
        files.write_text(folder / RUN_FILE, json.dumps(stored, indent=1) + "\n")
        return _carry_out(prepared, making, None)


def resume(
    folder: str | Path,
    *,
    data_dir: str | Path | None = None,
    device: str = "cpu",
    progress: bool = False,
    log: Callable[[str], None] | None = None,
) -> Result:
    """Go on with an interrupted run, on a CPU to the result, bit for bit, that it would have had.

    Parameters
    ----------
    folder : str or Path
        That of the run.
    data_dir, device, progress, log
        As in `train`.

    Returns
    -------
    Result

    Raises
    ------
    UserError
        Where the folder holds no run, or none that has got to a checkpoint, where the checkpoint is another run's, and
        where another process trains into it.
    """
    folder = Path(folder)
    run, writes, devices = stored_run(folder)
    last = folder / f"{LAST}.ckpt"
    if not files.exists(last):
        raise UserError(
            f"{folder} has no {last.name}: the run stopped before its first; start it anew with --overwrite."
        )
    stored = [path for path in (last, folder / f"{BEST}.ckpt") if files.exists(path)]
    for path in stored:
        if not path.is_file():
            raise UserError(
                f"{path} is a folder, a pipe, a device or a link that leads nowhere: move it away, and put the run's "
                "checkpoint there."
            )
    with claimed(folder):
        check_no_links(folder)
        for path in stored:
            checkpoints.read(path)  # which says what is wrong with a damaged one
        making = functools.partial(prepare, run, folder, data_dir, device, writes, progress, log, devices)
        result = _carry_out(making(), making, last)
        remove_replaced(folder)
        return result


def _carry_out(prepared: Prepared, making: Callable[[], Prepared], resume_from: Path | None) -> Result:
    from dynlab.training.lightning_run import fit
    from dynlab.training.processes import fit_in_processes

    with torch_threads(prepared.settings.threads):  # part of the result: sums depend on their number
        if prepared.processes == 1:
            fit(prepared, resume_from)
        else:
            fit_in_processes(making, prepared.processes, resume_from)
        return _finish(prepared)


def _finish(prepared: Prepared) -> Result:
    """Write dynlab's own checkpoint of the best epoch, or of the last where nothing was held out, with its scores."""
    network, task, folder = prepared.network, prepared.task, prepared.folder
    chosen = folder / f"{LAST if task.validation is None else BEST}.ckpt"
    network.cpu()
    with checked_against_run(chosen):
        stored = torch.load(chosen, map_location="cpu", weights_only=True)
        check_of_run(stored, prepared.facts["command"])
        network.system.load_state_dict(stored["dynlab"]["state_dict"])
        network.readout.load_state_dict(stored["dynlab"]["readout"])
        found: dict[str, Any] = {"epoch": stored["epoch"] + 1}
    for name, split in (("validation", task.validation), ("test", task.test)):
        if split is not None:
            scores = evaluate(network, task, split, prepared.settings.carry)
            found |= {f"{name}_{key}": value for key, value in scores.items()}
    facts = prepared.facts | found
    document = checkpoints.document(network.system, network.readout, {"name": task.name} | task.settings, facts)
    return Result(checkpoints.write(folder / NETWORK_FILE, document), facts)
