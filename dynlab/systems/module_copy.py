"""A copy of a module, whatever its last call has left in it."""

import copy
from typing import TypeVar

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

M = TypeVar("M", bound=nn.Module)


def copied(module: M) -> M:
    """The module's deep copy; results that it keeps, as of ``self.last = h``, lose their history."""
    kept = [each for part in module.modules() for each in tree_leaves(vars(part)) if isinstance(each, Tensor)]
    return copy.deepcopy(module, {id(each): each.detach().clone() for each in kept if not each.is_leaf})
