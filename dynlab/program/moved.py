"""Calls that only move numbers: run on the places of the numbers, they say where each result comes from."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from dynlab.program.trace import Recorder

# Calls that only move numbers.
MOVING = frozenset(
    [
        "_reshape_alias",
        "_to_copy",
        "_unsafe_view",
        "alias",
        "cat",
        "chunk",
        "clone",
        "constant_pad_nd",
        "contiguous",
        "copy",
        "detach",
        "diagonal",
        "expand",
        "flip",
        "gather",
        "index",
        "index_select",
        "lift_fresh",
        "movedim",
        "narrow",
        "permute",
        "repeat",
        "reshape",
        "roll",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "squeeze_",
        "stack",
        "t",
        "t_",
        "transpose",
        "transpose_",
        "tril",
        "triu",
        "unbind",
        "unfold",
        "unsafe_chunk",
        "unsafe_split",
        "unsqueeze",
        "unsqueeze_",
        "view",
    ]
)


def moved(r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[Tensor]) -> None:
    """The same call on the places of the numbers says where each of the results comes from."""
    parts: list[int] = [r.program.constant(0.0)]  # what is padded
    total = 1
    times = [leaf for leaf in tree_leaves((args[1:], kwargs)) if r.is_traced(leaf) and not leaf.is_floating_point()]
    if times and not r.is_traced(args[0]):
        _looked_up(r, function, args, kwargs, results)
        return

    def places(leaf: Any) -> Any:
        nonlocal total
        if not isinstance(leaf, Tensor) or not (r.is_traced(leaf) or leaf.is_floating_point()):
            return leaf
        node = r.node(leaf)
        size = r.program.operations[node.number].size
        found = (
            torch.arange(total, total + leaf.numel()) if size == leaf.numel() else torch.full((leaf.numel(),), total)
        )
        parts.append(node.number)
        total += size
        return found.reshape(leaf.shape)

    moved_args, moved_kwargs = tree_map(places, (args, kwargs))
    moved_kwargs.pop("dtype", None)
    moved = function(*moved_args, **moved_kwargs)
    indices = [leaf.reshape(-1).tolist() for leaf in tree_leaves(moved) if isinstance(leaf, Tensor)]
    padded = any(0 in index for index in indices)
    joint = r.program.join(parts if padded else parts[1:])
    for result, index in zip(results, indices, strict=True):
        r.mark(result, r.program.take(joint, index if padded else [i - 1 for i in index]))


def _looked_up(
    r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[Tensor]
) -> None:
    """Entries of a parameter at the step's number: a row of a table with one row a step."""
    held, rest = args[0], args[1:]
    places, rows = torch.arange(held.numel()).reshape(held.shape), []
    with contextlib.suppress(IndexError, RuntimeError):  # beyond the last step
        for step in range(max(held.shape, default=0)):
            moved = function(places, *tree_map(lambda leaf, t=step: _at(r, leaf, t), rest), **kwargs)
            rows.append(torch.stack([leaf.reshape(-1) for leaf in tree_leaves(moved)]).reshape(-1))
    table = r.fixed(
        torch.ops.aten.index.Tensor, r.fixed(torch.ops.aten.reshape.default, held, [-1]), [torch.stack(rows)]
    )
    time = next(leaf for leaf in tree_leaves((rest, kwargs)) if r.is_traced(leaf))
    slot = r.slot(table)
    number = r.program.append("lookup", r.nodes[id(time)].number, size=table.shape[1], constant=slot)
    start = 0
    for result in results:
        r.mark(result, r.program.take(number, range(start, start + result.numel())))
        start += result.numel()


def _at(r: Recorder, leaf: Any, step: int) -> Any:
    return torch.full_like(leaf, step) if isinstance(leaf, Tensor) and r.is_traced(leaf) else leaf
