"""Where a system computes, and the copy of it that is analysed there."""

import copy
from typing import TypeVar

import torch

from dynlab.errors import UserError
from dynlab.systems.base import System


def check_device(device: str) -> None:
    """Raise the error for a device that is unknown or not there: ``cpu``, ``cuda``, ``cuda:1``, ``mps``."""
    kind, colon, index = device.partition(":")
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if kind not in counts or (colon and not index.isdigit()):
        raise UserError(f"The device must be cpu, cuda, cuda:1 or mps, got {device!r}.")
    if int(index or 0) >= counts[kind]:
        raise UserError(f"There is no device {device!r} on this machine; use --device cpu.")


SystemType = TypeVar("SystemType", bound=System)


def frozen(system: SystemType, dtype: torch.dtype = torch.float64, device: str = "cpu") -> SystemType:
    """A copy for analysis: in eval mode, in `dtype`, on `device`, without gradients; the original is not changed.

    Raises
    ------
    UserError
        For a device that this machine lacks, and one that has no numbers of that dtype.
    """
    check_device(device)
    if device.startswith("mps") and dtype == torch.float64:
        raise UserError("mps has no float64: add --dtype float32 (dtype='float32'), or compute on cpu.")
    return copy.deepcopy(system).eval().requires_grad_(False).to(device=device, dtype=dtype)
