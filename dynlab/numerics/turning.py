"""Where a field turns round between two points: from towards the one to towards the other.

Of a field of one number a root lies there, however steep it is; between two stable nodes of a line there is a saddle.
"""

from collections.abc import Callable

import torch
from torch import Tensor

HALVINGS = 60


def turns(value: Callable[[Tensor], Tensor], begins: Tensor, ends: Tensor, parts: Tensor) -> Tensor:
    """The states where the field along a straight way changes its sign, (state, n), on the side of its beginning.

    Parameters
    ----------
    value : callable
        The field at states (k, n), shape (k, n).
    begins, ends : Tensor, shape (way, n)
    parts : Tensor, shape (m,)
        Of each way, increasing, between 0 and 1: where its sign is looked at. Two changes between two of them are none.
    """
    ways = ends - begins

    def ahead(starts: Tensor, ways: Tensor, part: Tensor) -> Tensor:
        return (value(starts + part.unsqueeze(-1) * ways) * ways).sum(-1) > 0

    signs = torch.stack([ahead(begins, ways, part.expand(len(ways))) for part in parts])
    places, rows = (signs[1:] != signs[:-1]).nonzero(as_tuple=True)
    starts, ways, sign = begins[rows], ways[rows], signs[places, rows]
    low, high = parts[places], parts[places + 1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = ahead(starts, ways, middle) == sign
        low, high = torch.where(same, middle, low), torch.where(same, high, middle)
    return starts + low.unsqueeze(-1) * ways
