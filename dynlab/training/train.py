"""A training run in its folder: started, interrupted, resumed, and finished with a checkpoint of dynlab's own.

The folder holds ``run.json`` (what is trained), ``metrics.csv`` (a row an epoch), ``steps.csv`` (a row every
so many steps), ``tensorboard`` (both, for that viewer), ``last.ckpt`` and ``best.ckpt``
(Lightning's, readable by every analysis), with `keep_every` also ``step-000000.ckpt`` and so on, and, at the end,
``network.pt``. A run that replaces another keeps that one in ``replaced`` until then.
"""

import dataclasses
import functools
import json
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import torch

from dynlab import checkpoints, files
from dynlab.errors import UserError
from dynlab.numerics.threads import torch_threads
from dynlab.reading import check_readable
from dynlab.training.loading import check_of_run
from dynlab.training.network import evaluate
from dynlab.training.prepare import Prepared, prepare
from dynlab.training.run import BEST, LAST, NETWORK_FILE, RUN_FILE, Run, Writes, checked_against_run
from dynlab.training.run_folder import REPLACED, check_no_links, claimed, put_back, remove_replaced, set_aside
from dynlab.training.settings import Settings

# What the values of a run's file may be.
IN_WORDS = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    tuple: "list of texts",
    Mapping: "table",
    Settings: "table",
}


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
        raise _exists(folder)
    writes = Writes(checkpoint_every, keep_every, log_every, monitor_every, test_every_epoch)
    making = functools.partial(prepare, run, folder, data_dir, device, writes, progress, log, devices)
    prepared = making()
    _make(folder, overwrite)
    stored = dataclasses.asdict(run) | {"writes": dataclasses.asdict(writes), "devices": devices}
    with claimed(folder), _replacing(folder):
        files.write_text(folder / RUN_FILE, json.dumps(stored, indent=1) + "\n")
        return _carry_out(prepared, making, None)


def _exists(folder: Path) -> UserError:
    return UserError(f"{folder} exists: resume the run in it with --resume, or replace it with --overwrite.")


def _make(folder: Path, overwrite: bool) -> None:
    """Make the folder; of two processes that do so at once, one is told that it exists."""
    files.make_folder(folder.parent)
    with files.told_of_failure(folder):
        try:
            folder.mkdir(exist_ok=overwrite)
        except FileExistsError as error:
            if overwrite:  # it is no folder
                raise
            raise _exists(folder) from error


@contextmanager
def _replacing(folder: Path) -> Iterator[None]:
    """Keep the run of that folder while another is trained inside of this block, until that has its network."""
    from dynlab.training.history import Diverged

    check_no_links(folder)
    _check_is_of_a_run(folder)
    set_aside(folder)
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Diverged):  # which is what came of the run
            put_back(folder)
        if isinstance(error, UserError) and (folder / REPLACED).exists():
            error.args = (f"{error} The run that was to be replaced is kept in {folder / REPLACED}.",)
        raise
    remove_replaced(folder)


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
    if not last.is_file():
        raise UserError(
            f"{last} is a folder, a pipe, a device or a link that leads nowhere: move it away, and put the run's "
            "checkpoint there."
        )
    with claimed(folder):
        check_no_links(folder)
        checkpoints.read(last)  # which says what is wrong with a damaged one
        making = functools.partial(prepare, run, folder, data_dir, device, writes, progress, log, devices)
        result = _carry_out(making(), making, last)
        remove_replaced(folder)
        return result


def stored_run(folder: Path) -> tuple[Run, Writes, int]:
    """The run of a folder, what it writes, and how many processes share each batch."""
    path = folder / RUN_FILE
    if not path.is_file():
        raise UserError(f"{folder} holds no training run (no {RUN_FILE}); name the folder that --output named.")
    try:
        check_readable(path)
        stored = json.loads(path.read_text(encoding="utf-8"))
        settings = {"augment": (), **_table("settings", stored)}
        if isinstance(settings["augment"], list):
            settings["augment"] = tuple(settings["augment"])
        devices = stored.pop("devices", 1)
        if not _is(devices, int):
            raise ValueError(f"devices is {reprlib.repr(devices)}, which is no {IN_WORDS[int]}")
        writes = Writes(**_fields(Writes, _table("writes", stored)))
        parts = {key: value for key, value in stored.items() if key not in ("settings", "writes")}
        made = Settings(**_fields(Settings, settings))
        return Run(settings=made, **_fields(Run, parts, but="settings")), writes, devices
    except (UnicodeDecodeError, RecursionError):
        raise UserError(f"{path} is damaged (it is no JSON); start the run anew with --overwrite.") from None
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} is damaged ({error}); start the run anew with --overwrite.") from error


def _table(name: str, stored: object) -> dict[str, Any]:
    """A part of a run's file, which has a name for every value."""
    part = stored.get(name) if isinstance(stored, dict) else None
    if not isinstance(part, dict):
        raise ValueError(f"it has no table of {name}")
    return part


def _fields(kind: type, values: dict[str, Any], but: str = "") -> dict[str, Any]:
    """The values of a dataclass's fields, `but` one, where none is missing, of another name, or of another type."""
    hints = get_type_hints(kind)
    for name, value in values.items():
        if name not in hints or name == but:
            raise ValueError(f"{reprlib.repr(name)} is no part of it")
        hint = hints[name]
        if not any(_is(value, each) for each in (get_args(hint) if isinstance(hint, UnionType) else (hint,))):
            first: Any = next(iter(get_args(hint)), hint) if isinstance(hint, UnionType) else get_origin(hint) or hint
            raise ValueError(f"{name} is {reprlib.repr(value)}, which is no {IN_WORDS[first]}")
    for field in dataclasses.fields(kind):
        bare = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if bare and field.name not in values and field.name != but:
            raise ValueError(f"{field.name} is missing")
    return values


def _is(value: object, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind is tuple:
        return isinstance(value, tuple) and all(isinstance(each, get_args(hint)[0]) for each in value)
    if kind in (int, float):  # a truth value is an int to Python
        return type(value) is int or type(value) is kind
    return isinstance(value, kind)


def _check_is_of_a_run(folder: Path) -> None:
    """Refuse to write into a folder in which there is something, and no run."""
    if all(files.is_private(entry) for entry in folder.iterdir()):
        return
    try:
        stored_run(folder)
    except UserError as error:
        raise UserError(f"{folder} holds no training run, so it is not overwritten; choose another folder.") from error


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
