"""A run in several processes of one machine: each takes its rows of every batch, and gradients are averaged.

Lightning's distributed strategy does the averaging; this starts the processes, so that what is wrong in one of them is
said as in any run.
"""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from torch import multiprocessing

from dynlab.errors import UserError
from dynlab.numerics.threads import torch_threads
from dynlab.training.lightning_run import fit
from dynlab.training.prepare import Prepared

LOCALHOST = "127.0.0.1"


def fit_in_processes(making: Callable[[], Prepared], processes: int, resume_from: Path | None) -> None:
    """As `fit` of what `making` makes, anew in each of the processes: a parametrized network cannot be sent to them.

    Raises
    ------
    UserError
        What any of them raised.
    """
    with socket.socket() as free:
        free.bind((LOCALHOST, 0))
        port = free.getsockname()[1]
    # what the processes' torch warns of on the way: that a system happens to use all its parameters
    quiet = {"TORCH_CPP_LOG_LEVEL": "ERROR"} if "TORCH_CPP_LOG_LEVEL" not in os.environ else {}
    said = multiprocessing.get_context("spawn").SimpleQueue()
    os.environ |= quiet
    try:
        started = multiprocessing.spawn(_one, (making, resume_from, port, said), nprocs=processes, join=False)
        try:
            while not started.join():
                pass
        except KeyboardInterrupt:
            for process in started.processes:  # checkpoints are whole at any moment
                process.kill()
            Console(stderr=True).show_cursor()  # which the progress bar of one of them had hidden
            raise
    except multiprocessing.ProcessRaisedException as error:
        if said.empty():
            raise
        raise UserError(said.get()) from error
    finally:
        for name in quiet:
            del os.environ[name]


def _one(
    rank: int, making: Callable[[], Prepared], resume_from: Path | None, port: int, said: multiprocessing.SimpleQueue
) -> None:
    # the environment in which Lightning takes itself to be started by somebody else
    os.environ |= {"MASTER_ADDR": LOCALHOST, "MASTER_PORT": str(port), "NODE_RANK": "0", "LOCAL_RANK": str(rank)}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process of all hears it and ends these
    try:
        prepared = making()
        with torch_threads(prepared.settings.threads):
            fit(prepared, resume_from)
    except UserError as error:
        said.put(str(error))
        raise
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
