"""A run's folder: one process at a time trains into it, and the run that another replaces is kept until that is done.

The kept one lies in the folder `REPLACED`. It is there whole before anything of it is removed above, and goes when the
new run has its network: at any moment one of the two is complete.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dynlab import files
from dynlab.errors import UserError
from dynlab.training.run import BEST, LAST, METRICS_FILE, NETWORK_FILE, RUN_FILE, STEPS_FILE, TENSORBOARD

REPLACED = "replaced"
# What a run writes into its folder; of these names alone is anything removed. The network goes first, so that what is
# half removed is taken for no finished run, and last goes what says that this is a run's folder.
OWN_FILES = (
    *(NETWORK_FILE, METRICS_FILE, STEPS_FILE, f"{BEST}.ckpt", f"{LAST}.ckpt"),
    *("step-" + "[0-9]" * 6 + "*.ckpt", f"{TENSORBOARD}/events.out.tfevents.*", RUN_FILE),
)


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold a folder that exists for this process alone; a process that is killed lets go of it.

    Raises
    ------
    UserError
        Where another process trains into it, and where it cannot be opened.
    """
    with files.told_of_failure(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # of a file system that has no locks
            if not _locked(handle):
                raise UserError(
                    f"Another process trains into {folder}: wait until it has ended, or choose another folder with "
                    "--output."
                )
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def check_no_links(folder: Path) -> None:
    """Refuse what would lead out of the folder, or is in the way of what is written there.

    Raises
    ------
    UserError
    """
    for path in (folder / TENSORBOARD, folder / REPLACED):
        if path.is_symlink():
            raise UserError(f"{path} is a symbolic link, which is not followed to write: move it away.")
        if path.exists() and not path.is_dir():
            raise UserError(f"{path} is a file, where the run has a folder: move it away.")


def set_aside(folder: Path) -> None:
    """Clear a folder of its run, which is kept in `REPLACED` where it has anything to show.

    What stands there already is kept instead where the run above it has no network: that one was to replace it.

    Raises
    ------
    UserError
        Where it cannot be kept, and where something that is no run has that name; then nothing is changed.
    """
    kept = folder / REPLACED
    with files.told_of_failure(folder):
        if (folder / NETWORK_FILE).exists() and (kept / RUN_FILE).is_file():
            _remove(kept)
        if not (kept / RUN_FILE).exists():
            _remove_empty(kept)  # which a process leaves that is killed at the end of a removal
        if kept.exists() and not (kept / RUN_FILE).is_file():
            raise UserError(
                f"{kept} is in the way of the run that is kept there while another replaces it: move it away."
            )
        if not kept.exists() and any((folder / name).exists() for name in (NETWORK_FILE, f"{LAST}.ckpt")):
            partial = files.private_name(kept)
            with files.own(partial, shutil.rmtree):
                _copy(folder, partial)
                os.rename(partial, kept)
        for file in _own_files(folder):
            if file.name != RUN_FILE:  # until another replaces it
                file.unlink()


def put_back(folder: Path) -> None:
    """Undo `set_aside`, where the new run has left no checkpoint."""
    kept = folder / REPLACED
    if not (kept / RUN_FILE).is_file() or (folder / f"{LAST}.ckpt").exists():
        return
    for file in _own_files(folder):
        if file.name != RUN_FILE:
            file.unlink()
    _copy(kept, folder)
    _remove(kept)


def remove_replaced(folder: Path) -> None:
    """Remove the run that is kept, and nothing that stands beside its files."""
    kept = folder / REPLACED
    if (kept / RUN_FILE).is_file() and not kept.is_symlink():
        with files.told_of_failure(kept):
            _remove(kept)


def _own_files(folder: Path) -> list[Path]:
    return [file for pattern in OWN_FILES for file in folder.glob(pattern) if not file.is_dir()]


def _copy(folder: Path, other: Path) -> None:
    """Give the files of a run a second name each in another folder, the network last."""
    (other / TENSORBOARD).mkdir(parents=True, exist_ok=True)
    for file in reversed(_own_files(folder)):
        place = other / file.relative_to(folder)
        partial = files.private_name(place)
        with files.own(partial, os.unlink):
            try:
                os.link(file, partial, follow_symlinks=False)
            except OSError:  # of a file system that has no second names
                shutil.copy2(file, partial, follow_symlinks=False)
            os.replace(partial, place)


def _remove(kept: Path) -> None:
    for file in _own_files(kept):
        file.unlink()
    _remove_empty(kept)


def _remove_empty(kept: Path) -> None:
    for folder in (kept / TENSORBOARD, kept):
        with contextlib.suppress(OSError):  # of what else lies there, and stays
            folder.rmdir()
