"""The arguments of a public function of a system, checked before it computes anything."""

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
import xarray as xr

from dynlab.arguments import bound, check_at_least, check_positive
from dynlab.errors import UserError
from dynlab.systems.autonomous import number_type
from dynlab.systems.base import System

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, that refuses misspelt arguments, and values of another kind, in one sentence."""
    takes = inspect.signature(function, eval_str=True).parameters
    checked_call: Callable[..., Any] = function

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        names = list(takes)[: len(args)]
        if len(names) < len(args) or kwargs.keys() & set(names):
            raise UserError(f"{function.__name__} takes {', '.join(takes)}, each once.")
        given = bound("diagnostic", function.__name__, function, dict(zip(names, args, strict=True)) | kwargs)
        if not isinstance(given["system"], System):
            raise UserError(
                f"{function.__name__} takes a system of dynlab's, got {type(given['system']).__name__}: dynlab.load, "
                f"from_module, from_function and create make one."
            )
        check_at_least(0, seed=given.get("seed", 0))
        check_positive(max_memory=given.get("max_memory"))
        dtype = number_type(given.get("dtype", "float64"))
        for system in (value for value in given.values() if isinstance(value, System)):
            _check_finite(system, dtype)
        # weights may be in training where derivatives are asked for, or the call in a place where they are off for good
        with torch.inference_mode(False), torch.no_grad():
            found = checked_call(**given)
        zero = isinstance(given.get("at"), str) and given["at"] == "zero"
        if isinstance(found, xr.Dataset) and zero and given["system"].part_of:  # the model may never feed it zero
            found.attrs["verdict"] += (
                f" Zero is the layer's own input inside {given['system'].part_of}: at='rest' (--at rest) holds what "
                f"the whole model feeds it."
            )
        return found

    return call


def _check_finite(system: System, dtype: torch.dtype) -> None:
    """Raise where a weight is NaN or infinite, as after a training that diverged, or too large for the type."""
    for name, values in itertools.chain(system.named_parameters(), system.named_buffers()):
        if not (values.is_floating_point() or values.is_complex()) or values.is_meta:
            continue
        wrong = int((~(values.detach() if values.is_complex() else values.detach().to(dtype)).isfinite()).sum())
        if wrong:
            raise UserError(
                f"{name} of {system.name!r} has {wrong:,} of {values.numel():,} entries that are no finite numbers "
                f"of {str(dtype).removeprefix('torch.')}: take a checkpoint from before the training diverged."
            )
