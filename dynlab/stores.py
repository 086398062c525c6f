"""Zarr stores on the disk: a folder that takes the place of another one at once, and is known to be dynlab's own.

A store lists its files, with their sizes, in an attribute of its own. By that list it is seen to be complete, and only
what is on it is ever removed: a folder that holds anything else is somebody's, and is left as it is.
"""

import fcntl
import glob
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dynlab import files
from dynlab.errors import UserError

LIST = "dynlab_files"  # the attribute: sizes in bytes by the file's name below the store
ROOT = "zarr.json"
MOST_FILES = 100_000
LARGEST_ROOT = 2**24  # bytes of `ROOT`, with a list of so many


def write_store(path: Path, write: Callable[[Path], object], *, overwrite: bool) -> None:
    """Write a Zarr store whole or not at all: what was there stays until the new one is complete and on the disk.

    Parameters
    ----------
    path : Path
    write : callable
        Is given the path of an empty folder, and makes a store of it.
    overwrite : bool
        Replace a store that dynlab wrote.

    Raises
    ------
    UserError
        Where it cannot be written, something is there and `overwrite` is false, or that is no store of dynlab's.
    """
    with files.told_of_failure(path):
        with _alone(path.parent):
            _check_replaceable(path, overwrite)
        private = files.private_name(path)
        private.mkdir()
        with files.own(private, shutil.rmtree):
            write(private)
            _list_files(private)
            with _alone(path.parent):
                _check_replaceable(path, overwrite)
                _put(private, path)


def recover(path: Path) -> None:
    """Give a store its name back that a process was about to replace when it was killed."""
    for aside in sorted(path.parent.glob(f".{glob.escape(path.name)}.*.old")):
        with files.told_of_failure(path), _alone(path.parent):
            if not files.exists(path) and not missing_files(aside) and _is_own(aside):
                files.put(aside, path)


def missing_files(folder: Path) -> list[str]:
    """What a store of dynlab's lacks of what it was written with; nothing is said of other stores."""
    found = found_files(folder) or {}
    return [name for name, size in (listed_files(folder, found) or {}).items() if found.get(name) != size]


def _is_own(folder: Path) -> bool:
    """Whether a folder is a store that dynlab wrote, and holds no file beside those of then."""
    found = found_files(folder) or {}
    return bool(found) and not folder.is_symlink() and found.keys() <= (listed_files(folder, found) or {}).keys()


def found_files(folder: Path) -> dict[str, int] | None:
    """The sizes of all files below a folder, by name; None where it is none, or has links, pipes or too many."""
    sizes: dict[str, int] = {}
    if not folder.is_dir():
        return None
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    sizes[Path(entry.path).relative_to(folder).as_posix()] = entry.stat(follow_symlinks=False).st_size
                else:
                    return None
                if len(sizes) > MOST_FILES:
                    return None
    return sizes


def listed_files(folder: Path, found: dict[str, int]) -> dict[str, int] | None:
    """The list that dynlab wrote into a store, and the file that it stands in; None where there is none."""
    if found.get(ROOT, LARGEST_ROOT + 1) > LARGEST_ROOT:
        return None
    try:
        listed = json.loads((folder / ROOT).read_bytes())["attributes"][LIST]
        return {str(name): int(size) for name, size in listed.items()} | {ROOT: found[ROOT]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _list_files(store: Path) -> None:
    """Write the list into the store, and all of it to the disk."""
    sizes = found_files(store) or {}
    root: dict[str, Any] = json.loads((store / ROOT).read_bytes())
    root["attributes"][LIST] = {name: size for name, size in sorted(sizes.items()) if name != ROOT}
    files.write_text(store / ROOT, json.dumps(root, indent=2))
    for name in sizes:
        with (store / name).open("rb") as file:
            os.fsync(file.fileno())


def _check_replaceable(path: Path, overwrite: bool) -> None:
    if not files.exists(path):
        return
    if not overwrite:
        raise UserError(f"{path} exists: choose another name or allow overwriting it.")
    if not _is_own(path):
        raise UserError(
            f"{path} holds something else than the Zarr store that dynlab writes, so it is not replaced: choose "
            f"another name, or move it away."
        )


def _put(private: Path, path: Path) -> None:
    """Put the new store in its place, and remove the old one."""
    if not files.exists(path):
        files.put(private, path)
        return
    old = path.with_name(f".{path.name}{private.stem}.old")
    if files.renamed(private, path, files.EXCHANGE):
        os.rename(private, old)
    else:
        os.rename(path, old)  # killed here, the old store is what `recover` finds
        files.put(private, path)
    if _is_own(old):
        shutil.rmtree(old)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process of dynlab's puts a store into that folder; a killed one lets go of it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # of a file system that has no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
