"""Write files whole or not at all: under a private name in the same folder, then moved into place at once."""

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dynlab.errors import UserError


def write_text(path: Path, text: str, *, overwrite: bool = True) -> None:
    """Write a text file as `write_bytes` does; what is no text in a file's name is written as an escape."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"), overwrite=overwrite)


def write_bytes(path: Path, content: bytes | memoryview, *, overwrite: bool = True) -> None:
    """Write a file whole or not at all: the old one stays until the new one is complete and on the disk.

    Parameters
    ----------
    path : Path
        A symbolic link there is replaced, and its target is left alone.
    content : bytes or memoryview
    overwrite : bool
        Replace what exists.

    Raises
    ------
    UserError
        If the file cannot be written, if a folder is in its place, and if it exists and `overwrite` is false.
    """
    with told_of_failure(path):
        check_replaceable(path, overwrite=overwrite)
        partial = private_name(path)
        with own(partial, os.unlink):
            with partial.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)


def check_replaceable(path: Path, *, overwrite: bool) -> None:
    """Refuse to write where a file is that may not be replaced, or something that is no file.

    Raises
    ------
    UserError
    """
    if exists(path) and not overwrite:
        raise UserError(f"{path} exists: choose another name, or add --overwrite (overwrite=True).")
    if path.exists() and not (path.is_file() or path.is_symlink()):
        raise UserError(f"{path} is no ordinary file, so it is not replaced: choose another name.")


def check_readable(path: Path) -> int:
    """Return the size in bytes of an ordinary file that can be read.

    Raises
    ------
    UserError
        If there is none, or it is a folder, a pipe or a device.
    """
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            path.open("rb").close()
            return found.st_size
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}; check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: no file can have that name
        raise UserError(f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}.") from error
    raise UserError(f"{path} is {'a folder' if path.is_dir() else 'a pipe or a device'}: name a file.")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, if they are missing.

    Raises
    ------
    UserError
        If that fails.
    """
    with told_of_failure(path):
        path.mkdir(parents=True, exist_ok=True)


def exists(path: Path) -> bool:
    """Tell whether something has that name, be it a symbolic link that leads nowhere."""
    return os.path.lexists(path)


def private_name(path: Path) -> Path:
    """Return a name beside `path` that nobody can guess, for what is not whole yet."""
    return path.with_name(f".{secrets.token_hex(12)}.partial")


def is_private(path: Path) -> bool:
    """Tell whether a name is one of those: a killed process leaves what it was writing under it."""
    return re.fullmatch(r"\.[0-9a-f]{24}\.partial", path.name) is not None


@contextmanager
def own(partial: Path, remove: Callable[[Path], object]) -> Iterator[None]:
    """Remove what this block made under a private name, if it is still there at the end."""
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            remove(partial)


@contextmanager
def told_of_failure(path: Path) -> Iterator[None]:
    """Turn what the operating system says of writing to `path` into a sentence."""
    try:
        yield
    except UserError:
        raise
    except (OSError, ValueError) as error:  # ValueError: no file can have that name
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(
            f"{path} could not be written ({reason}); what was there before is untouched: make room, or choose another "
            f"place, then try again."
        ) from error
