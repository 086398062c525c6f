"""Work on many rows: in chunks that fit the memory, in a pool of threads, one BLAS and one torch thread each."""

import contextvars
import functools
import itertools
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController

from dynlab.progress import through

CHUNKS_PER_THREAD = 4  # so that a thread whose rows are done early does not wait long for the others
LITTLE = 2**16  # bytes that all rows take together: work on fewer takes less time than threads take to start
CHUNK_BYTES = 2**25  # that the arrays of one chunk take, unless a single row takes more

# The system's allocator (glibc's) keeps as much freed memory at hand as the largest array that it has given back, up to
# this size: without it every temporary array of 128 KiB is asked for anew, and a pass over it takes ten times as long.
np.empty(2**25 - 2**16, np.uint8)

_here = threading.local()  # whether this thread is one of a pool
_given = 0  # torch's threads before `one_torch_thread`, 0 outside of it


def slices(count: int, at_once: float) -> list[slice]:
    """Return 0 … count − 1 in slices of `at_once` rows, of one row at least."""
    size = max(1, int(min(at_once, count)))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def in_threads(
    work: Callable[[slice], tuple[Any, ...]], count: int, each: float = 0.0, chunks_per_thread: int = CHUNKS_PER_THREAD
) -> tuple[Any, ...]:
    """Return what ``work(rows)`` returns for slices of 0 … count − 1, joined along the first dimension.

    Parameters
    ----------
    work : callable
        From a slice to a tuple of arrays, tensors or lists with as many rows.
    count : int
    each : float
        Bytes that `work` holds of each row; where they are known and few, the call starts no threads.
    chunks_per_thread : int
        1 where rows together are worth more than threads that end together.

    Notes
    -----
    BLAS and torch have one thread during the call: several would fight over matrices this small. A call from inside
    another one's `work` starts no threads of its own. There are as many as torch has been given outside
    `one_torch_thread`: what ``OMP_NUM_THREADS`` says, and fewer in a process that shares its machine with others.
    """
    inside = getattr(_here, "inside", False)
    threads = 1 if inside or 0 < count * each <= LITTLE else cores()
    at_once = CHUNK_BYTES / each if each else count
    chunks = slices(count, min(at_once, math.ceil(count / (threads * chunks_per_thread)) if threads > 1 else count))
    with nullcontext() if inside else one_thread_each():
        if threads == 1 or len(chunks) <= 1:
            found = [work(rows) for rows in through(chunks or [slice(0, 0)])]
        else:
            with ThreadPoolExecutor(threads, initializer=_enter, initargs=(torch.is_grad_enabled(),)) as pool:
                few, here = len(chunks) <= threads, contextvars.copy_context()
                # of as many chunks as threads, the loops inside the first tell how far all are
                jobs = [pool.submit(here.run, work, chunks[0])] if few else []
                jobs += [pool.submit(work, rows) for rows in chunks[len(jobs) :]]
                found = [job.result() for job in (jobs if few else through(jobs))]
    return tuple(_joined(parts) for parts in zip(*found, strict=True))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch compute in one thread inside the block: on small matrices its threads cost ten times what they save."""
    global _given
    outside = _given
    _given = outside or torch.get_num_threads()
    try:
        with torch_threads(1):
            yield
    finally:
        _given = outside


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch compute in so many threads inside the block, as far as this thread calls it.

    `torch.set_num_threads` would also tell MKL, for good, to take as many threads inside of each of torch's own:
    then factorisations of several matrices of 256 rows take a hundred times as long, or never end.
    """
    torch.get_num_threads()  # a thread's first call of torch sets what is set here
    with _controller().limit(limits=count, user_api="openmp"):
        yield


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let torch and BLAS compute in one thread inside the block."""
    with one_torch_thread(), _controller().limit(limits=1, user_api="blas"):
        yield


def _enter(grad_enabled: bool) -> None:
    _here.inside = True
    torch.set_grad_enabled(grad_enabled)  # as in the thread that asks: torch keeps it for each
    torch.get_num_threads()  # as in `torch_threads`, but to the thread's end
    _controller().limit(limits=1, user_api="openmp")


def _joined(parts: tuple[Any, ...]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        return list(itertools.chain.from_iterable(parts))
    return torch.cat(parts) if isinstance(parts[0], torch.Tensor) else np.concatenate(parts)


def cores() -> int:
    """Return the number of threads: the processor's cores, or as many as torch has been given where that is fewer."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(there, _given or torch.get_num_threads()))


def _controller() -> ThreadpoolController:
    return _libraries("scipy.linalg" in sys.modules)


@functools.cache
def _libraries(of_scipy: bool) -> ThreadpoolController:
    """Found once, as a search of the loaded libraries takes milliseconds, and again once SciPy has brought its own."""
    return ThreadpoolController()
