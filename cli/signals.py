"""What a command does when it is told to stop: it ends by an exception, so that nothing half done is left."""

import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any, NoReturn

from dynlab.errors import Stopped

INTERRUPTED, TERMINATED = 130, 143
GRACE = 5.0  # seconds in which a terminated command puts away what is not whole, unless a library does not let it
# An exception in the middle of an import leaves half a module, which is never whole again, and some imports swallow it.
IMPORTING = "<frozen importlib._bootstrap"
SOON = 0.05  # seconds after which a signal comes again that came in one, or that was lost
PATIENCE = 5.0  # seconds for which it does: a module of the user's own may compute for hours while it is imported


class Terminated(Stopped):
    """The process was told to end."""


_raised: list[type[BaseException]] = []  # by handlers of signals


def raise_from_signal(kind: type[BaseException]) -> NoReturn:
    """Raise it in a handler, and remember it: C code that is running may turn it into any other error."""
    _raised.append(kind)
    raise kind


def forget_raised(kind: type[BaseException] = BaseException) -> None:
    """Forget what was raised of that kind: it has done its work."""
    _raised[:] = [each for each in _raised if not issubclass(each, kind)]


def interruption(error: BaseException | None) -> type[BaseException] | None:
    """Return what stopped the program, such as Ctrl-C, if Python or a library made this error of it."""
    while isinstance(error, Exception):
        error = error.__cause__ or error.__context__
    stopped = [*_raised, *([] if error is None else [type(error)])]
    return next((kind for kind in reversed(stopped) if issubclass(kind, KeyboardInterrupt | Stopped)), None)


def hear() -> None:
    """Make Ctrl-C and the signal to terminate exceptions of the main thread, and an end where none is heard."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        hear_terminate()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        hear_interrupt()


def hear_interrupt() -> None:
    """Make Ctrl-C a `KeyboardInterrupt`, once what is being imported is whole."""
    signal.signal(signal.SIGINT, _raising(KeyboardInterrupt))
    sys.unraisablehook = _again_where_lost(sys.unraisablehook)


def _again_where_lost(tell: Callable[["sys.UnraisableHookArgs"], Any]) -> Callable[["sys.UnraisableHookArgs"], None]:
    """Ctrl-C comes again where Python drops its exception: in a callback of C, or where an object is put away."""

    def hook(lost: "sys.UnraisableHookArgs") -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            _send_soon(signal.SIGINT)
        else:
            tell(lost)

    return hook


def _send_soon(number: int) -> None:
    again = threading.Timer(SOON, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def hear_terminate() -> None:
    """Make the signal to terminate a `Terminated`, and end all the same where a library does not let it through."""

    def watch() -> None:
        while os.read(heard, 1)[0] != signal.SIGTERM:
            pass
        time.sleep(GRACE)
        os._exit(TERMINATED)

    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, _raising(Terminated))
    threading.Thread(target=watch, daemon=True).start()


def importing(frame: types.FrameType | None) -> bool:
    """Whether a module is being imported there."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTING):
            return True
        frame = frame.f_back
    return False


def _raising(exception: type[BaseException]) -> Callable[[int, types.FrameType | None], None]:
    """A handler that raises it, in an import after that for `PATIENCE` at most."""
    first: list[float] = []

    def stop(number: int, frame: types.FrameType | None) -> None:
        first.append(time.monotonic())
        if importing(frame) and first[-1] - first[0] < PATIENCE:
            _send_soon(number)
            return
        first.clear()
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)
        raise_from_signal(exception)

    return stop
