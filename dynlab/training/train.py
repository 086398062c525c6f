"""A training run in its folder: started, interrupted, resumed, and finished with a checkpoint of dynlab's own.

The folder holds ``run.json`` (what is trained), ``metrics.csv`` (a row an epoch), ``steps`` and ``tensorboard``
(Lightning's logs of every so many steps, one below them for each start), ``last.ckpt`` and ``best.ckpt`` (Lightning's,
readable by every analysis), with `keep_every` also ``step-000000.ckpt`` and so on, and, at the end, ``network.pt``.
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dynlab import checkpoints, files
from dynlab.errors import UserError
from dynlab.numerics.threads import torch_threads
from dynlab.tasks import Task
from dynlab.training.network import Network, evaluate
from dynlab.training.prepare import prepare
from dynlab.training.run import BEST, LAST, METRICS_FILE, NETWORK_FILE, RUN_FILE, Run, Writes, stored_run
from dynlab.training.settings import refuse

# what an overwritten run leaves that a reader could take for the new one's
OWN_FILES = (NETWORK_FILE, METRICS_FILE, f"{BEST}.ckpt", f"{LAST}.ckpt", "step-" + "[0-9]" * 6 + "*.ckpt")


@dataclass(frozen=True)
class Result:
    """A finished training.

    Attributes
    ----------
    checkpoint : Path
        dynlab's own.
    facts : dict
        Facts about the training: the command, versions, the data's checksum, ``test_accuracy`` (0 to 1).
    """

    checkpoint: Path
    facts: dict[str, Any]


def train(
    run: Run,
    folder: str | Path,
    *,
    data_dir: str | Path | None = None,
    device: str = "cpu",
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
        Folder of everything; created.
    data_dir : str or Path, optional
        Folder of data sets, besides DYNLAB_DATA.
    device : str
        ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
    overwrite : bool
        Replace an earlier run in that folder: its network, metrics and checkpoints are removed first.
    checkpoint_every : int, optional
        Save ``last.ckpt`` after so many batches too, not only after each epoch.
    keep_every : int, optional
        Keep a checkpoint of the untrained network and one after every so many batches: ``step-000000.ckpt``, ….
    log_every : int
        Steps between rows of ``steps`` and points in TensorBoard.
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
        For unknown names and settings, data that cannot be had, an existing folder, and a training that diverges.
    KeyboardInterrupt
        When interrupted; ``last.ckpt`` is then that of the last epoch.
    """
    folder = Path(folder)
    others = folder.is_dir() and any(not files.is_private(entry) for entry in folder.iterdir())
    refuse(
        [
            (
                files.exists(folder) and not overwrite,
                f"{folder} exists: resume the run in it with --resume, or replace it with --overwrite.",
            ),
            (
                others and not (folder / RUN_FILE).is_file(),
                f"{folder} holds no training run, so it is not overwritten; choose another folder.",
            ),
        ]
    )
    writes = Writes(checkpoint_every, keep_every, log_every, monitor_every, test_every_epoch)
    prepared = prepare(run, data_dir=data_dir, device=device, progress=progress, say=log)
    files.make_folder(folder)
    for file in (file for pattern in OWN_FILES for file in folder.glob(pattern)):
        file.unlink()
    stored = dataclasses.asdict(run) | {"writes": dataclasses.asdict(writes)}
    files.write_text(folder / RUN_FILE, json.dumps(stored, indent=1) + "\n")
    return _carry_out(run, prepared, folder, writes, device, None, progress, log)


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
        Folder of the run.
    data_dir, device, progress, log
        As in `train`.

    Returns
    -------
    Result

    Raises
    ------
    UserError
        If the folder holds no run, or none that has got to a checkpoint, and where the checkpoint is another run's.
    """
    folder = Path(folder)
    run, writes = stored_run(folder)
    last = folder / f"{LAST}.ckpt"
    if not last.is_file():
        raise UserError(
            f"{folder} has no {last.name}: the run stopped before its first; start it anew with --overwrite."
        )
    checkpoints.read(last)  # which says what is wrong with a damaged one
    prepared = prepare(run, data_dir=data_dir, device=device, progress=progress, say=log)
    return _carry_out(run, prepared, folder, writes, device, last, progress, log)


def _carry_out(
    run: Run,
    prepared: tuple[Task, Network, dict[str, Any]],
    folder: Path,
    writes: Writes,
    device: str,
    resume_from: Path | None,
    progress: bool,
    log: Callable[[str], None] | None,
) -> Result:
    """Train, and write dynlab's own checkpoint of the best epoch, or of the last where nothing was held out."""
    from dynlab.training.lightning_run import fit
    from dynlab.training.module import check_of_run

    task, network, facts = prepared
    with torch_threads(run.settings.threads):  # part of the result: sums depend on their number
        fit(network, task, run, facts, folder, writes, device, resume_from, progress, log)
        network.cpu()
        chosen = folder / f"{LAST if task.validation is None else BEST}.ckpt"
        stored = torch.load(chosen, map_location="cpu", weights_only=True)
        check_of_run(stored, facts["command"])
        network.system.load_state_dict(stored["dynlab"]["state_dict"])
        network.readout.load_state_dict(stored["dynlab"]["readout"])
        facts = facts | {"epoch": stored["epoch"] + 1}
        for name, split in (("validation", task.validation), ("test", task.test)):
            if split is not None:
                scores = evaluate(network, task, split, run.settings.carry)
                facts |= {f"{name}_{key}": value for key, value in scores.items()}
    document = checkpoints.document(network.system, network.readout, {"name": task.name} | task.settings, facts)
    return Result(checkpoints.write(folder / NETWORK_FILE, document), facts)
