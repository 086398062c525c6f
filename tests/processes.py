"""Commands in processes that have imported all that they need, so that many can be run, and killed."""

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

NEW_NAMESPACE, READ_ONLY, PRIVATE = 0x20000, 1, (1 << 18) | (1 << 14)  # of Linux: unshare(2), mount(2)
AGAIN = 20.0  # seconds until a signal is sent again
NOT_ALLOWED = 77  # the exit code where a file system cannot be mounted

# Copies of a process that has computed nothing: those of one that has would wait for threads that they have not.
COPIES = multiprocessing.get_context("forkserver")
COPIES.set_forkserver_preload(["dynlab.cli.main", "dynlab.io", "matplotlib.pyplot", "torch", "zarr", "lightning"])


def start(arguments, folder, *, times=1, mounted=None):
    """Run a command in that folder, again and again while it ends with 0.

    What it prints is in ``said`` and ``told`` beside the folder. With `mounted` the folder is a small file system of
    that many kibibytes, or where it is 0 one that nothing can be written to.
    """
    process = COPIES.Process(target=command, args=(arguments, folder, times, mounted))
    process.start()
    return process


def command(arguments, folder, times, mounted):
    from dynlab.cli import main

    for number, name in ((1, "said"), (2, "told")):
        os.dup2(os.open(folder.with_name(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    if mounted is not None and not mount(folder, mounted):
        os._exit(NOT_ALLOWED)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, main.end)
    code = 0
    try:
        folder.with_name("begun").touch()
        for _ in range(times):
            code = code or main.run(arguments)
    except KeyboardInterrupt:  # between two commands
        code = main.INTERRUPTED
    except SystemExit as end:
        code = end.code
    found = [] if mounted is None else Path().rglob("*")
    left = [each for each in found if each.is_file() or each.suffix == ".partial"]
    sys.stdout.write("".join(f"left {name}\n" for name in left))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def begun(folder):
    """Wait until a process that was started has begun with its command."""
    while not folder.with_name("begun").exists():
        time.sleep(0.01)
    folder.with_name("begun").unlink()


def end(process, number=None):
    """Wait for it; its exit code, or minus the number of the signal that ended it.

    With a `number` that signal is sent, and again: Python loses one that comes while an object is being put away.
    """
    while process.exitcode is None:
        if number is not None:
            os.kill(process.pid, number)
        process.join(AGAIN)
    return process.exitcode


def mount(folder, kibibytes):
    """A file system for this process alone; false where that is not allowed."""
    libc = ctypes.CDLL(None)
    options = f"size={kibibytes}k".encode() if kibibytes else b""
    return (
        libc.unshare(NEW_NAMESPACE) == 0
        and libc.mount(b"none", b"/", None, PRIVATE, None) == 0
        and libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0 if kibibytes else READ_ONLY, options) == 0
    )
