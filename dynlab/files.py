"""Write files whole or not at all: under a private name in the same folder, then moved into place at once."""

import os
import re
import secrets
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
        check_place(path, overwrite=overwrite)
        partial = private_name(path)
        with own(partial, os.unlink):
            with partial.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)


def check_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is missing, a file that may not be replaced, and what is no file, for .zarr no store.

    Raises
    ------
    UserError
    """
    if not path.parent.is_dir():
        raise UserError(f"The folder {path.parent} of {path.name} does not exist; create it first.")
    if exists(path) and not overwrite:
        raise UserError(f"{path} exists: add --overwrite (overwrite=True), or choose another name.")
    is_own = is_store(path) if path.suffix == ".zarr" else path.is_file() or path.is_symlink()
    if exists(path) and not is_own:
        kind = "a Zarr store and nothing else" if path.suffix == ".zarr" else "an ordinary file"
        raise UserError(f"{path} is not {kind}, so it is not replaced: choose another name.")


def is_store(path: Path) -> bool:
    """Tell whether a folder is a Zarr store of format 3 that holds no files of another kind."""
    inside = (file.relative_to(path) for file in path.rglob("*") if not file.is_dir() or file.is_symlink())
    return (
        not path.is_symlink()
        and (path / "zarr.json").is_file()
        and all(file.name == "zarr.json" or "c" in file.parts for file in inside)
    )


def check_readable(path: Path) -> None:
    """Refuse what is no ordinary file that can be read.

    Raises
    ------
    UserError
        If there is none, or it is a folder, a pipe or a device.
    """
    if exists(path) and not os.path.isfile(path):
        raise UserError(f"{path} is a folder, a pipe or a device, or leads nowhere: name a file.")
    try:
        path.open("rb").close()
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}; check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: no file can have that name
        raise UserError(f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}.") from error


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
        raise UserError(
            f"{path} could not be written ({getattr(error, 'strerror', None) or error}); what was there before is "
            f"untouched: make room, or choose another place, then try again."
        ) from error
