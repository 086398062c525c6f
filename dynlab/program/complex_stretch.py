"""Stretches of complex calls that are linear in the state, such as Fourier transforms: each becomes one matrix."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from dynlab.program.entrywise import full
from dynlab.program.program import NoProgram
from dynlab.program.trace import Call, Preamble, Recorder


def complex_call(
    r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[Tensor]
) -> None:
    """Keep a call of complex tensors; where its result is real, the stretch that led there becomes a matrix."""
    call = Call(function, args, kwargs, results)
    for result in results:
        r.kept.append(result)
        if result.is_complex():
            r.complex[id(result)] = call
        else:
            r.mark(result, _stretch(r, call, result))


def _stretch(r: Recorder, last: Call, result: Tensor) -> int:
    """A real result of complex calls that are affine in the real numbers they began with: one matrix and an offset."""
    if not r.stretches:
        raise NoProgram("it computes with complex numbers")
    calls: list[Call] = []
    sources: dict[int, Tensor] = {}

    def visit(call: Call) -> None:
        if call in calls:
            return
        for leaf in tree_leaves((call.args, call.kwargs)):
            if isinstance(leaf, Tensor) and id(leaf) in r.complex:
                visit(r.complex[id(leaf)])
            elif isinstance(leaf, Tensor) and id(leaf) in r.nodes:
                sources[id(leaf)] = leaf
        calls.append(call)

    visit(last)
    given = list(sources.values())
    fixed = [
        leaf
        for call in calls
        for leaf in tree_leaves((call.args, call.kwargs))
        if isinstance(leaf, Tensor) and not r.is_traced(leaf)
    ]

    def affine(*parameters: Tensor) -> Tensor:
        """Columns of the matrix, then the offset."""
        base = dict(zip(map(id, fixed), parameters, strict=True))

        def at(point: Tensor) -> Tensor:
            parts = point.split([source.numel() for source in given])
            own = {id(source): part.reshape(source.shape) for source, part in zip(given, parts, strict=True)}
            return Preamble(calls, [result]).run(base | own)[0].reshape(-1)

        points = torch.eye(sum(source.numel() for source in given)).to(given[0])
        offset = at(torch.zeros_like(points[0]))
        columns = torch.stack([at(point) - offset for point in points], dim=1)
        there = points.sum(dim=0) * math.pi
        if not torch.allclose(at(there), columns @ there + offset, rtol=1e-6, atol=1e-6):
            raise NoProgram("it computes with complex numbers in a way that is not linear in the state")
        return torch.cat([columns, offset.unsqueeze(1)], dim=1)

    whole = r.fixed(affine, *fixed)
    n = whole.shape[1] - 1
    matrix = r.fixed(torch.ops.aten.slice.Tensor, whole, 1, 0, n)
    joint = r.program.join([full(r, r.node(source)) for source in given])
    found = r.program.linear(r.slot(matrix), joint)
    if not whole[:, n].any():
        return found
    return r.program.add(found, r.node(r.fixed(torch.ops.aten.select.int, whole, 1, n)).number)
