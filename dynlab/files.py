"""The one way in which dynlab writes: a whole new file beside the old one, which takes its place at once.

Whoever reads finds the old file or the new one, and so does whoever comes after a full disk or a killed process. Many
processes may write the same file: the last one stays. The new file has a random name until it is whole, and is made by
this process: what else is there, a symbolic link included, is never written to.
"""

import ctypes
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dynlab.errors import UserError

MADE_HERE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
# Of Linux: rename(2) with flags. A kernel or file system that lacks them says so by one of these errors.
EXCHANGE, KEEP = 2, 1
NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_WORKING_FOLDER = -100  # AT_FDCWD: a relative path is one of the working folder


def write_text(path: Path, text: str, *, overwrite: bool = True) -> None:
    """Write a text file as `write_bytes` does; what is no text in a file's name is written as an escape."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"), overwrite=overwrite)


def write_bytes(path: Path, content: bytes | memoryview, *, overwrite: bool = True) -> None:
    """Write a file whole or not at all: what was there stays until the new one is complete and on the disk.

    Parameters
    ----------
    path : Path
        A symbolic link there is replaced, and what it leads to is left alone.
    content : bytes or memoryview
        A memoryview is released.
    overwrite : bool
        Replace what exists.

    Raises
    ------
    UserError
        Where it cannot be written: a full disk, a file system that is read-only, a folder in its place; and where it
        exists and `overwrite` is false.
    """
    try:
        with told_of_failure(path):
            check_replaceable(path)
            partial = private_name(path)
            with own(partial, os.unlink):
                with os.fdopen(os.open(partial, MADE_HERE, 0o666), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                if overwrite:
                    os.replace(partial, path)
                else:
                    put(partial, path)
    finally:
        if isinstance(content, memoryview):
            content.release()  # else its owner, put away by the collector while it is lent, complains


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where they are missing.

    Raises
    ------
    UserError
        Where that cannot be.
    """
    with told_of_failure(path):
        path.mkdir(parents=True, exist_ok=True)


def exists(path: Path) -> bool:
    """Whether something has that name, be it a symbolic link that leads nowhere; no name can be too long for this."""
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False


def private_name(path: Path) -> Path:
    """A name beside `path` that nobody can guess, for what is not whole yet."""
    return path.with_name(f".{secrets.token_hex(12)}.partial")


def is_private(path: Path) -> bool:
    """Whether a name is one of those: where a process was killed, what it was writing stays under it."""
    return re.fullmatch(r"\.[0-9a-f]{24}\.partial", path.name) is not None


@contextmanager
def own(partial: Path, remove: Callable[[Path], object]) -> Iterator[None]:
    """Remove what this block has made under a private name, where it is still there at the end."""
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            remove(partial)


def put(new: Path, path: Path) -> None:
    """Give `new` the name `path`, which nothing has.

    Raises
    ------
    FileExistsError
    """
    if not renamed(new, path, KEEP):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        os.rename(new, path)


def renamed(one: Path, other: Path, how: int) -> bool:
    """Rename `one` to `other` in one step, as `how` says; false where the system cannot.

    Raises
    ------
    OSError
        As `os.rename`; with `KEEP` also FileExistsError.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_WORKING_FOLDER, os.fsencode(one), _WORKING_FOLDER, os.fsencode(other), how) == 0:
        return True
    code = ctypes.get_errno()
    if code in NOT_THERE:
        return False
    raise OSError(code, os.strerror(code), str(other))


@contextmanager
def told_of_failure(path: Path) -> Iterator[None]:
    """Turn what the operating system says of writing to `path` into a sentence."""
    try:
        yield
    except FileExistsError as error:
        raise UserError(f"{path} exists: choose another name, or add --overwrite (overwrite=True).") from error
    except (OSError, ValueError) as error:  # ValueError: of a name that no file can have
        if isinstance(error, UserError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(
            f"{path} could not be written ({reason}); what was there before is untouched: make room, or choose another "
            f"place, then try again."
        ) from error


def check_replaceable(path: Path) -> None:
    """Refuse to write where something else than a file or a symbolic link is.

    Raises
    ------
    UserError
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise UserError(f"{path} is no ordinary file, so it is not replaced: choose another name.")
