"""Weights that a file holds as what they are computed from: of weight norm, of spectral norm, pruned, and dropped."""

import re
from collections.abc import Callable

import torch
from torch import Tensor

from dynlab.checkpoints.layers import is_parameter, is_real
from dynlab.errors import UserError

# The first part of a weight: of `torch.nn.utils.parametrizations`, or of the older `torch.nn.utils`, prune among them.
FIRST = re.compile(r"((?:.*\.)?)(?:parametrizations\.([^.]+)\.original0?|([^.]+)_(?:g|orig|raw))", re.DOTALL)


def normalised(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, with each normalised weight in place of its parts.

    A weight of weight norm is g v/‖v‖, with the norm along all dimensions in which g has the length 1. Of spectral norm
    it is W/(uᵀ W v), with the vectors as the file has them: what the network computes with in evaluation mode. A pruned
    one is W times its mask. Of weight drop (``_raw``) it is W: nothing is dropped in evaluation mode.

    Examples
    --------
    >>> parts = {"rnn.weight_hh_l0_g": torch.tensor([[2.0]]), "rnn.weight_hh_l0_v": torch.tensor([[3.0, 4.0]])}
    >>> {name: weight.tolist() for name, weight in normalised(parts).items()}
    {'rnn.weight_hh_l0': [[1.2000000476837158, 1.600000023841858]]}
    """
    found, made = dict(tensors), list[str]()
    for name in tensors:
        matched = FIRST.fullmatch(name)
        if matched is None:
            continue
        head, new, old = matched.groups()
        base = f"{head}parametrizations.{new}." if new else f"{head}{old}_"
        for parts, compute in NEW if new else OLD:
            names = [base + part for part in parts]
            if name != names[0] or not all(each in found and is_real(found[each]) for each in names):
                continue
            weight = compute(*(found[each] for each in names))
            if weight is not None:
                found = {each: value for each, value in found.items() if each not in names}
                made.append(head + (new or old))
                found[made[-1]] = weight
    return _lowered(found, made)


def _lowered(tensors: dict[str, Tensor], made: list[str]) -> dict[str, Tensor]:
    """Put computed weights into the layer just below that they are of, as `WeightDrop` wraps an RNN as its ``module``.

    What stands there is a copy that the last step of the training left.
    """
    found, others = dict(tensors), set(map(_split, tensors.keys() - {*made}))
    for name in filter(is_parameter, made):
        head, last = _split(name)
        below = {inner for inner, other in others if is_parameter(other) and inner and _split(inner)[0] == head}
        if any(inner == head and is_parameter(other) for inner, other in others) or not below:
            continue
        if len(below) > 1:
            raise UserError(
                f"{name} is computed of its parts, and belongs to {' or '.join(sorted(below))}: which, the file does "
                f"not tell. Save the state_dict of that part alone."
            )
        found[f"{below.pop()}.{last}"] = found.pop(name)
    return found


def _split(name: str) -> tuple[str, str]:
    head, _, last = name.rpartition(".")
    return head, last


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


# The parts of a weight in torch's two spellings, and what makes it of them.
Ways = tuple[tuple[tuple[str, ...], Callable[..., Tensor | None]], ...]
NEW: Ways = ((("original0", "original1"), _by_weight_norm), (("original", "0._u", "0._v"), _by_spectral_norm))
OLD: Ways = (
    (("g", "v"), _by_weight_norm),
    (("orig", "u", "v"), _by_spectral_norm),
    (("orig", "mask"), _pruned),
    (("raw",), _dropped),
)
