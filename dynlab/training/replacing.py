"""The folder of a new run: made, or taken from a run that is kept until the new one has its network."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dynlab import files
from dynlab.errors import UserError
from dynlab.training.run_folder import REPLACED, check_no_links, put_back, remove_replaced, set_aside
from dynlab.training.stored_run import stored_run


def already_there(folder: Path) -> UserError:
    """The error for a folder that has a run already."""
    return UserError(f"{folder} exists: resume the run in it with --resume, or replace it with --overwrite.")


def make(folder: Path, overwrite: bool) -> None:
    """Make the folder; of two processes that do so at once, one is told that it exists."""
    files.make_folder(folder.parent)
    with files.told_of_failure(folder):
        try:
            folder.mkdir(exist_ok=overwrite)
        except FileExistsError as error:
            if overwrite:  # it is no folder
                raise
            raise already_there(folder) from error


@contextmanager
def replacing(folder: Path) -> Iterator[None]:
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


def _check_is_of_a_run(folder: Path) -> None:
    """Refuse to write into a folder in which there is something, and no run."""
    if all(files.is_private(entry) for entry in folder.iterdir()):
        return
    try:
        stored_run(folder)
    except UserError as error:
        raise UserError(f"{folder} holds no training run, so it is not overwritten; choose another folder.") from error
