"""Calls of LAPACK's routines without Python's lock, so that threads do not wait for each other.

SciPy's own wrappers hold that lock; the same routines are called here through the pointers that
`scipy.linalg.cython_lapack` publishes.
"""

import ctypes
import functools
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack


def call(name: str, *arguments: Any) -> int:
    """Call a routine whose last argument is INFO, and return that."""
    info = run(name, *arguments, 0)[-1]
    if info < 0:
        raise ValueError(f"argument {-info} of {name} is wrong")
    return info


def run(name: str, *arguments: Any) -> list[int]:
    """Call a routine with letters, arrays and integers, and return the integers as it has left them."""
    holders = [ctypes.c_int(value) if isinstance(value, int) else value for value in arguments]
    _routine(name, len(arguments))(*(_pointer(holder) for holder in holders))
    return [holder.value for holder in holders if isinstance(holder, ctypes.c_int)]


def _pointer(holder: Any) -> Any:
    if isinstance(holder, bytes):
        return ctypes.c_char_p(holder)
    if isinstance(holder, np.ndarray):
        return holder.ctypes.data  # the caller holds the array
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
