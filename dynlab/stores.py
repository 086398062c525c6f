"""Zarr stores on the disk: a folder that takes the place of another one at once, and is known to be dynlab's own.

A store lists its files, with their sizes and digests, in an attribute of its own. By the sizes it is seen to be
complete. By the digests it is known to be what dynlab wrote, and nothing else is ever removed: a copy keeps the
attribute, and where anything in it was changed, it is somebody's and is left as it is.
"""

import fcntl
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dynlab import files
from dynlab.errors import Stopped, UserError

LIST = "dynlab_files"  # the attribute: size in bytes and SHA-256 by the file's name below the store
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
            check_replaceable(path, overwrite=overwrite)
        private = files.private_name(path)
        with made(private, write):
            _list_files(private)
            with _alone(path.parent):
                check_replaceable(path, overwrite=overwrite)
                _put(private, path)


@contextmanager
def made(private: Path, write: Callable[[Path], object]) -> Iterator[None]:
    """Make a folder under a private name, and let `write` fill it; where it has that name at the end, it is removed.

    The library that writes has threads, and they go on where whoever waits for them is interrupted: what is removed
    while they write comes back. So a thread of its own waits for them, and no interruption reaches that.
    """
    with files.own(private, shutil.rmtree):
        private.mkdir()
        with ThreadPoolExecutor(1) as alone:
            alone.submit(write, private).result()
        yield


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


def changed_file(folder: Path) -> str | None:
    """The name of a file in a store of dynlab's that is not what was written there; None without, and of other stores.

    What stands beside the list itself, such as a title, may have been changed by whoever has the store.
    """
    found = found_files(folder) or {}
    listed = _root(folder)["attributes"][LIST] if listed_files(folder, found) else {}
    return next((name for name in listed if name != ROOT and listed[name][1:] != [_digest(folder, name)]), None)


def _is_own(folder: Path) -> bool:
    """Whether a folder is a store that dynlab wrote, and holds nothing else than then."""
    found = found_files(folder) or {}
    if folder.is_symlink() or not found or not found.keys() <= (listed_files(folder, found) or {}).keys():
        return False
    listed = _root(folder)["attributes"][LIST]
    return all(listed.get(name, [])[1:] == [_digest(folder, name)] for name in found)


def _digest(folder: Path, name: str) -> str:
    """SHA-256 of a file; of the root as it is without the list, which holds it."""
    if name != ROOT:
        with (folder / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    root = _root(folder)
    root["attributes"].pop(LIST, None)
    return hashlib.sha256(json.dumps(root, sort_keys=True).encode()).hexdigest()


def _root(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / ROOT).read_bytes())
    return found


def found_files(folder: Path) -> dict[str, int] | None:
    """The sizes of all files below a folder, by name; None where it is none, or has links, pipes or too many."""
    sizes: dict[str, int] = {}
    if not folder.is_dir():
        return None
    for entry in _entries(folder):
        if not entry.is_file(follow_symlinks=False) or len(sizes) == MOST_FILES:
            return None
        sizes[Path(entry.path).relative_to(folder).as_posix()] = entry.stat(follow_symlinks=False).st_size
    return sizes


def no_ordinary_file(folder: Path) -> str | None:
    """The name below a folder of a symbolic link, pipe or device there, which may be read without end; None without."""
    odd = (entry for entry in _entries(folder) if not entry.is_file(follow_symlinks=False))
    return next((Path(entry.path).relative_to(folder).as_posix() for entry in odd), None)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All below a folder that is no folder itself."""
    waiting = [os.fspath(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry


def listed_files(folder: Path, found: dict[str, int]) -> dict[str, int] | None:
    """The sizes that dynlab wrote into a store, with that of the file that they stand in as it is; None without."""
    if found.get(ROOT, LARGEST_ROOT + 1) > LARGEST_ROOT:
        return None
    try:
        listed = _root(folder)["attributes"][LIST]
        return {str(name): int(size) for name, (size, _) in listed.items()} | {ROOT: found[ROOT]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _list_files(store: Path) -> None:
    """Write the list into the store, and all of it to the disk."""
    sizes = found_files(store) or {}
    root = _root(store)
    root["attributes"][LIST] = {name: [size, _digest(store, name)] for name, size in sorted(sizes.items())}
    files.write_text(store / ROOT, json.dumps(root, indent=2))
    for name in sizes:
        with (store / name).open("rb") as file:
            os.fsync(file.fileno())


def check_replaceable(path: Path, *, overwrite: bool) -> None:
    """Refuse to write a store where something is that may not be replaced.

    Raises
    ------
    UserError
        Where something is there and `overwrite` is false, or that is no store of dynlab's.
    """
    if not files.exists(path):
        return
    if not overwrite:
        raise UserError(f"{path} exists: choose another name, or add --overwrite (overwrite=True).")
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
    try:
        if files.renamed(private, path, files.EXCHANGE):
            os.rename(private, old)
        else:
            os.rename(path, old)  # killed here, the old store is what `recover` finds
            files.put(private, path)
    finally:
        if not files.exists(private):  # the new store is in its place
            _remove(old)


def _remove(old: Path) -> None:
    """Remove what is dynlab's own; an interruption on the way is raised when that is done."""
    own, stopped = None, None
    while own is None or (own and files.exists(old)):
        try:
            own = _is_own(old) if own is None else own
            if own:
                shutil.rmtree(old)
        except (KeyboardInterrupt, Stopped) as error:
            stopped = error
    if stopped is not None:
        raise stopped


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
