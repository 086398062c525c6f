"""How much time and memory a file may take to be read, whatever it claims; a file of anybody's is read within these.

Each reader refuses first what it can see to be too much. This is what holds where it cannot.
"""

import contextlib
import math
import os
import signal
import stat
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from dynlab.errors import Stopped, UserError

SECONDS, GIBIBYTES = "DYNLAB_READ_SECONDS", "DYNLAB_READ_GIB"
DEFAULTS = {SECONDS: 60.0, GIBIBYTES: 2.0}
MORE = f"{SECONDS} and {GIBIBYTES} in the environment allow more"
BEYOND_COUNTING = ("size calculation overflowed", "integer multiplication overflow")  # more bytes, as torch says it
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", *BEYOND_COUNTING)
OWN = "an error of dynlab's own, "


class Limits(NamedTuple):
    """What reading one file may take."""

    seconds: float
    bytes: int


class TooLong(BaseException):
    """A file takes too long. No handler of `Exception` on the way keeps it."""


def limits() -> Limits:
    """Those that the environment sets, else 60 seconds and 2 GiB.

    Raises
    ------
    UserError
        Where what it sets is no positive number.
    """
    found = {}
    for name, default in DEFAULTS.items():
        try:
            found[name] = float(os.environ.get(name) or default)
        except ValueError:
            found[name] = math.nan
        if not 0 < found[name] < math.inf:
            raise UserError(f"{name} must be a positive number, got {os.environ[name]!r}.")
    return Limits(found[SECONDS], int(found[GIBIBYTES] * 2**30))


# Errors that speak of a reader's objects, what else does, and how long a library's sentence is at most.
OF_CODE = (
    LookupError,
    AttributeError,
    TypeError,
    NameError,
    AssertionError,
    ArithmeticError,
    RecursionError,
    SyntaxError,
)
CODE = (" object at 0x", "<", "torch.", "dynlab.", "b'", 'b"', "()", "got (", "invalid literal", "Errno", "__", "%ld")
LONGEST_REASON = 200


def check_readable(path: Path, *, whole: bool = True) -> int:
    """The size in bytes of an ordinary file that can be read, and is not too large for that where it is read `whole`.

    Raises
    ------
    UserError
        Where there is none, or it is a folder, a pipe or a device, or too large.
    """
    try:
        found = os.stat(path)
        if stat.S_ISREG(found.st_mode):
            with path.open("rb"):
                pass
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}; check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: of a name that no file can have
        raise UserError(f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}.") from error
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
        raise UserError(f"{path} is {kind}: name a file.")
    if whole:
        check_size(path, found.st_size)
    return found.st_size


def check_size(path: Path, needed: float) -> None:
    """Refuse what needs more bytes than reading may take."""
    if needed > limits().bytes:
        raise too_much(path)


def too_much(path: object) -> UserError:
    """The error for a file that needs too much memory."""
    return UserError(f"To read {path} takes more memory than {limits().bytes / 2**30:.3g} GiB: {MORE}.")


def too_long(path: object) -> UserError:
    """The error for a file that takes too long."""
    return UserError(f"To read {path} takes longer than {limits().seconds:g} s: it may be damaged; {MORE}.")


@contextmanager
def bounded(path: object) -> Iterator[None]:
    """Read inside of this block: what takes too much time or memory ends with a sentence.

    Parameters
    ----------
    path : object
        What is read, as the sentence names it.

    Notes
    -----
    Time ends what Python does in the main thread, by a signal; elsewhere it is not looked at. Memory is what the system
    gives the process beyond what it has, where the system tells how much that is.
    """
    try:
        with _memory(limits().bytes), _time(limits().seconds):
            yield
    except TooLong as error:
        raise too_long(path) from error
    except Exception as error:
        if TooLong in _raised:
            raise too_long(path) from error
        if out_of_memory(error):
            raise too_much(path) from error
        raise
    finally:
        forget_raised(TooLong)


@contextmanager
def damage_refused(path: object, kind: str) -> Iterator[None]:
    """Read inside of this block: a damaged file may drive a library's reader into any error, and each is a sentence.

    Parameters
    ----------
    path : object
        What is read, as the sentence names it.
    kind : str
        What it is read as: ``"an array of inputs"``.
    """
    try:
        yield
    except UserError:
        raise
    # whatever a library makes of a damaged file
    except Exception as error:
        if out_of_memory(error):
            raise
        raise UserError(f"{path} cannot be read as {kind}: {damage(error)}.") from error


def damage(error: BaseException) -> str:
    """What is wrong with a file, by what a library raised while it read it: its own words where these are a sentence.

    What Python says of its own objects tells a reader nothing of the file.
    """
    said = (str(error).strip().splitlines() or [""])[0].strip().rstrip(".:;")
    if not said or len(said) > LONGEST_REASON or isinstance(error, OF_CODE) or any(each in said for each in CODE):
        return "it is cut short or damaged; copy it again"
    return f"{said}; copy it again"


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory left."""
    return isinstance(error, MemoryError) or any(words in str(error)[:10_000] for words in OUT_OF_MEMORY)


_raised: list[type[BaseException]] = []  # by handlers of signals; what is here may have become another error


def raise_from_signal(kind: type[BaseException]) -> NoReturn:
    """Raise it in a handler. Code in C that is running then may make any other error of it, without a trace of it."""
    _raised.append(kind)
    raise kind


def forget_raised(kind: type[BaseException] = BaseException) -> None:
    """What has been raised of that kind has done its work."""
    _raised[:] = [each for each in _raised if not issubclass(each, kind)]


def interruption(error: BaseException | None) -> type[BaseException] | None:
    """What stopped the program, such as Ctrl-C, where Python or a library made this error of it."""
    while isinstance(error, Exception):
        error = error.__cause__ or error.__context__
    stopped = [*_raised, *([] if error is None else [type(error)])]
    return next((kind for kind in reversed(stopped) if issubclass(kind, KeyboardInterrupt | Stopped)), None)


def in_words(error: Exception) -> str:
    """What is said of an error that ends a command or a part of one; it begins with `OWN` where dynlab is at fault.

    What stopped the program is no error of that part, and is raised.
    """
    if (stopped := interruption(error)) is not None:
        raise stopped from error
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):  # of a disk, a folder or a pipe; dynlab's own files are checked when it is made
        named = f"{error.filename} " if error.filename else ""
        return f"{named}could not be read or written: {error.strerror or error}."
    if out_of_memory(error):
        return "This needs more memory than there is: ask for fewer steps, samples or points."
    return f"{OWN}{type(error).__name__}: {error}"


_alone = threading.RLock()  # the limits are the whole process's


@contextmanager
def _memory(most: int) -> Iterator[None]:
    used = data_bytes()
    if used is None:
        yield
        return
    import resource

    with _alone:
        before, hard = resource.getrlimit(resource.RLIMIT_DATA)
        allowed = used + most if hard == resource.RLIM_INFINITY else min(hard, used + most)
        inner = allowed if before == resource.RLIM_INFINITY else min(before, allowed)
        resource.setrlimit(resource.RLIMIT_DATA, (inner, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def data_bytes() -> int | None:
    """How many bytes of its own this process has; None where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


@contextmanager
def _time(most: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: types.FrameType | None) -> Any:
        raise_from_signal(TooLong)

    if signal.getitimer(signal.ITIMER_REAL)[0]:  # somebody's clock is running, such as that of an outer block
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with contextlib.suppress(TypeError):  # of a handler that Python did not set
            signal.signal(signal.SIGALRM, before)
