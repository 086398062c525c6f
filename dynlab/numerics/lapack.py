"""LAPACK for many small matrices: without Python's lock, in a pool of threads, one BLAS thread each.

SciPy's own wrappers of ``geev`` and ``gejsv`` hold Python's lock, so that threads would wait for each other; the same
routines are called here through the pointers that `scipy.linalg.cython_lapack` publishes.
"""

import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import cython_lapack
from threadpoolctl import threadpool_limits

CHUNKS_PER_THREAD = 4  # so that a thread whose matrices converge early does not wait long for the others


def in_threads(compute: Callable[..., tuple[NDArray[Any], ...]], *stacks: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Call ``compute(*chunks)`` on chunks of `stacks` along their first dimension, and put the results together.

    BLAS has one thread during the call: several would fight over matrices this small.
    """
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = max(1, min(len(stacks[0]), threads * CHUNKS_PER_THREAD))
    chunks = zip(*(np.array_split(stack, count) for stack in stacks), strict=True)
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda chunk: compute(*chunk), chunks))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Torch computes in one thread inside the block: on small matrices its threads cost ten times what they save."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def geev(matrix: NDArray[np.float64]) -> tuple[NDArray[np.complex128], NDArray[np.float64], bool]:
    """Eigenvalues of a real matrix, abs(yᴴx) of their unit left and right eigenvectors, and whether they converged.

    A complex pair is adjacent, the positive imaginary part first.
    """
    n = len(matrix)
    a = np.array(matrix, dtype=np.float64, order="F")
    real, imaginary = np.empty(n), np.empty(n)
    left, right = np.empty((n, n), order="F"), np.empty((n, n), order="F")
    work = np.empty(max(1, 34 * n))  # 4 n are needed, 32 more columns let the reduction work in blocks
    info = _call("dgeev", b"V", b"V", n, a, n, real, imaginary, left, n, right, n, work, len(work))
    overlap = np.einsum("ij,ij->j", left, right)
    (pairs,) = np.nonzero(imaginary > 0)
    # x = r + i r' and y = l + i l' of two columns each, so that yᴴx = (l·r + l'·r') + i (l·r' − l'·r)
    same = overlap[pairs] + overlap[pairs + 1]
    cross = np.einsum("ij,ij->j", left[:, pairs], right[:, pairs + 1])
    cross -= np.einsum("ij,ij->j", left[:, pairs + 1], right[:, pairs])
    overlap[pairs] = overlap[pairs + 1] = np.hypot(same, cross)
    return real + 1j * imaginary, np.abs(overlap), info == 0


def gejsv(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Logarithms of the singular values, decreasing, accurate however small one is, and whether they converged.

    One-sided Jacobi, preconditioned by QR with column pivoting: accurate for B·D with D diagonal, however graded, and B
    well conditioned.

    References
    ----------
    Drmač and Veselić, "New fast and accurate Jacobi SVD algorithm", SIAM J. Matrix Anal. Appl. 29 (2008), parts I, II.
    """
    n = len(matrix)
    a = np.array(matrix, dtype=np.float64, order="F")
    values, unused = np.empty(n), np.empty((1, 1))
    work, integers = np.empty(max(7, 2 * n * n + 6 * n)), np.empty(max(3, 4 * n), dtype=np.int32)
    # accuracy for B·D, no vectors, no small column is dropped, not transposed, no perturbation of denormal numbers
    jobs = (b"C", b"N", b"N", b"N", b"N", b"N")
    info = _call("dgejsv", *jobs, n, n, a, n, values, unused, 1, unused, 1, work, len(work), integers)
    with np.errstate(divide="ignore"):
        return np.log(values) + np.log(work[0] / work[1]), info == 0


def _call(name: str, *arguments: Any) -> int:
    """Call a routine whose last argument is INFO, and return that."""
    info = ctypes.c_int()
    holders = [ctypes.c_int(value) if isinstance(value, int) else value for value in arguments]
    _routine(name, len(arguments) + 1)(*(_pointer(holder) for holder in holders), ctypes.byref(info))
    if info.value < 0:
        raise ValueError(f"argument {-info.value} of {name} is wrong")
    return info.value


def _pointer(holder: Any) -> Any:
    if isinstance(holder, bytes):
        return ctypes.c_char_p(holder)
    if isinstance(holder, np.ndarray):
        return holder.ctypes.data_as(ctypes.c_void_p)
    return ctypes.byref(holder)


@functools.cache
def _routine(name: str, arguments: int) -> Any:
    """The routine that SciPy was built with; a call through ctypes releases Python's lock."""
    capsule = cython_lapack.__pyx_capi__[name]
    named = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    pointed = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(pointed(capsule, named(capsule)))
