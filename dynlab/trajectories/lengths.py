"""Sequences of different lengths: as one array with their lengths, and in the words of a result."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence, pad_sequence

from dynlab import schema
from dynlab.errors import UserError

LENGTH = ((schema.SAMPLE,), "steps of the sequence", schema.STEP)  # of a variable


def within(ds: xr.Dataset) -> NDArray[np.bool_]:
    """Return which times of a Dataset lie within each sequence, shape (sample, time)."""
    times = np.broadcast_to(ds[schema.TIME].values, (ds.sizes[schema.SAMPLE], ds.sizes[schema.TIME]))
    return times <= (ds["length"].values[:, None] if "length" in ds else np.inf)


def reasons_with(reasons: Mapping[str, str], *more: str) -> dict[str, str]:
    """Return reasons why values are not finite with others behind each; empty ones do not count."""
    return {name: "; ".join(filter(None, (reason, *more))) for name, reason in reasons.items()}


def of_lengths(ds: xr.Dataset) -> str:
    """Return the sentence on sequences of different lengths, or nothing."""
    if "length" not in ds:
        return ""
    shortest, longest = int(ds["length"].min()), int(ds["length"].max())
    return f" Sequences have {shortest:,} to {longest:,} steps, and each is counted for its own."


def padded(inputs: Any) -> tuple[Any, NDArray[np.int64] | None]:
    """Return sequences of different lengths as one array with zeros after their ends, and their lengths.

    Parameters
    ----------
    inputs
        A list of arrays (time, input), a torch PackedSequence, or an array ([sample,] time, input) with NaN after each
        sequence's end. Anything else is returned as it is, with None.
    """
    if isinstance(inputs, PackedSequence):
        whole, lengths = pad_packed_sequence(inputs, batch_first=True)
        return whole, lengths.numpy()
    if isinstance(inputs, list | tuple) and len({np.shape(each)[:1] for each in inputs}) > 1:
        arrays = [_numbers(each) for each in inputs]
        if {each.ndim for each in arrays} != {2} or len({each.shape[1] for each in arrays}) > 1:
            raise UserError("Sequences of different lengths are arrays (time, input) of one width, in a list.")
        return pad_sequence(arrays, batch_first=True), np.array([len(each) for each in arrays])
    whole = _numbers(inputs)
    if whole.ndim not in (2, 3) or not whole.numel():
        return inputs, None
    there = ~whole.isnan().all(dim=-1)
    if not there.any(dim=-1).all() or there[..., -1].all():
        return inputs, None
    steps = torch.arange(1, there.shape[-1] + 1)
    lengths = (there * steps).amax(dim=-1, keepdim=True)
    whole = whole.masked_fill((steps > lengths).unsqueeze(-1), 0.0)
    return whole[..., : int(lengths.max()), :], lengths.reshape(-1).numpy()


def _numbers(values: Any) -> Tensor:
    """Return values as a tensor in float64; of what is no array of numbers one without dimensions."""
    if isinstance(values, Tensor):
        return values.detach().double().cpu()
    try:
        return torch.from_numpy(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        return torch.zeros((), dtype=torch.float64)
