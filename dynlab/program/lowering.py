"""Lowering of each ATen call on traced tensors: operations on vectors, row by row."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from dynlab.program.complex_stretch import complex_call
from dynlab.program.decompositions import DECOMPOSITIONS
from dynlab.program.entrywise import ELEMENTARY
from dynlab.program.moved import MOVING, moved
from dynlab.program.program import NoProgram
from dynlab.program.trace import Recorder

# Calls whose result does not depend on the numbers of what they are given.
FILLING = frozenset(
    ["zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty"]
)


def lower(r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Append what a call becomes, and return what the call returns, its tensors marked."""
    name = function.overloadpacket.__name__
    traced = [leaf for leaf in tree_leaves((args, kwargs)) if r.is_traced(leaf)]
    if name in ("_local_scalar_dense", "item", "is_nonzero", "equal"):
        raise NoProgram("it decides by the value of a tensor, or makes a Python number of one")
    found = function(*args, **kwargs)
    results = [leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor)]
    if any(tensor.is_complex() for tensor in (*results, *traced)):
        complex_call(r, function, args, kwargs, results)
    elif name in FILLING:
        r.kept.extend(results)
    elif name in MOVING:
        moved(r, function, args, kwargs, results)
    else:
        in_place = name.endswith("_")
        if in_place and args[0]._is_view():
            raise NoProgram("it writes into a part of a tensor")
        name = name.removesuffix("_") if in_place else name
        with r:
            if name in ELEMENTARY:
                number = ELEMENTARY[name](r, *args, **kwargs)
            elif name in DECOMPOSITIONS:
                number = r.node(DECOMPOSITIONS[name](*args, **kwargs)).number
            elif function.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
                return function.decompose(*args, **kwargs)
            else:
                raise NoProgram(f"it uses {name}, which is not among dynlab's operations")
        r.mark(results[0], number)
    return found
