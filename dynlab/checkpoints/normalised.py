"""Weights that a file holds as what they are computed from: of weight norm, of spectral norm, pruned, and dropped."""

import re
from collections.abc import Callable

import torch
from torch import Tensor

from dynlab.checkpoints.layers import is_parameter, is_real


def normalised(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, with each normalised weight in place of its parts.

    A weight of weight norm is g v/‖v‖, with the norm along all dimensions in which g has the length 1. Of spectral norm
    it is W/(uᵀ W v), with the vectors as the file has them: what the network computes with in evaluation mode. A pruned
    one is W times its mask. Of weight drop (``_raw``) it is W: nothing is dropped in evaluation mode.

    Weight drop wraps an RNN as its ``module``: a weight of a recurrent layer that stands above the only one below goes
    into it, in place of the copy there that the last step of the training left.

    Examples
    --------
    >>> parts = {"rnn.weight_hh_l0_g": torch.tensor([[2.0]]), "rnn.weight_hh_l0_v": torch.tensor([[3.0, 4.0]])}
    >>> {name: weight.tolist() for name, weight in normalised(parts).items()}
    {'rnn.weight_hh_l0': [[1.2000000476837158, 1.600000023841858]]}
    """
    found, homes = dict(tensors), {_above(name) for name in tensors if is_parameter(name)}
    for before, ends, compute in WAYS:
        first = re.compile(rf"((?:.*\.)?){re.escape(before)}([^.]+){re.escape(ends[0])}", re.DOTALL)
        for head, last in [matched.groups() for matched in map(first.fullmatch, tensors) if matched]:
            parts = [f"{head}{before}{last}{end}" for end in ends]
            below = {home for home in homes if home and _above(home) == head[:-1] and is_parameter(last)}
            places = below if below and head[:-1] not in homes else {head[:-1]}
            if len(places) == 1 and all(part in found and is_real(found[part]) for part in parts):
                weight = compute(*(found[part] for part in parts))
                if weight is not None:
                    found = {name: value for name, value in found.items() if name not in parts}
                    found[f"{places.pop()}.{last}".removeprefix(".")] = weight
    return found


def _above(name: str) -> str:
    return name.rpartition(".")[0]


def _by_weight_norm(g: Tensor, v: Tensor) -> Tensor | None:
    if g.dim() not in (0, v.dim()) or any(one not in (1, other) for one, other in zip(g.shape, v.shape, strict=False)):
        return None
    along = [axis for axis in range(v.dim()) if g.dim() == 0 or g.shape[axis] == 1]
    return g * v / (torch.linalg.vector_norm(v, dim=along, keepdim=True) if along else v.abs())


def _by_spectral_norm(weight: Tensor, u: Tensor, v: Tensor) -> Tensor | None:
    if weight.dim() != 2 or (u.shape, v.shape) != (weight.shape[:1], weight.shape[1:]):
        return None
    return weight / (u @ weight @ v)


def _pruned(weight: Tensor, mask: Tensor) -> Tensor | None:
    return weight * mask if mask.shape == weight.shape else None


def _dropped(weight: Tensor) -> Tensor | None:
    return weight


# The parts of a weight by what stands before and after its name, in torch's two spellings, and what makes it of them.
WAYS: tuple[tuple[str, tuple[str, ...], Callable[..., Tensor | None]], ...] = (
    ("parametrizations.", (".original0", ".original1"), _by_weight_norm),
    ("parametrizations.", (".original", ".0._u", ".0._v"), _by_spectral_norm),
    ("", ("_g", "_v"), _by_weight_norm),
    ("", ("_orig", "_u", "_v"), _by_spectral_norm),
    ("", ("_orig", "_mask"), _pruned),
    ("", ("_raw",), _dropped),
)
