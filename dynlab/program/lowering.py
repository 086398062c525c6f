"""Lowering of each ATen call on traced tensors: operations on vectors, row by row.

Calls that only move numbers are run on the places of the numbers, which says where each result comes from. A stretch of
complex calls that is linear in the state, such as a Fourier transform, becomes one matrix.
"""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from dynlab.program.decompositions import DECOMPOSITIONS
from dynlab.program.program import NoProgram
from dynlab.program.trace import MOVING, Call, Node, Preamble, Recorder

Lowering = Callable[..., int]
# Calls whose result does not depend on the numbers of what they are given.
FILLING = frozenset(
    ["zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty"]
)


def spread(r: Recorder, node: Node, shape: tuple[int, ...]) -> int:
    """The node's numbers broadcast to `shape`; one number stays one."""
    if node.shape == shape or r.program.operations[node.number].size == 1:
        return node.number
    places = np.arange(math.prod(node.shape)).reshape(node.shape)
    return r.program.take(node.number, np.broadcast_to(places, shape).ravel())


def full(r: Recorder, node: Node) -> int:
    """A number that stands for a whole tensor, repeated."""
    size = math.prod(node.shape)
    if r.program.operations[node.number].size == size:
        return node.number
    return r.program.append("take", node.number, size=size, index=(0,) * size)


def _binary(name: str) -> Lowering:
    def lowering(r: Recorder, a: Any, b: Any, *, alpha: float = 1, **_: Any) -> int:
        x, y = r.node(a), r.node(b)
        shape = np.broadcast_shapes(x.shape, y.shape)
        second = r.program.multiply(r.program.constant(alpha), spread(r, y, shape))
        return getattr(r.program, name)(spread(r, x, shape), second)

    return lowering


def _unary(name: str) -> Lowering:
    return lambda r, a, *_, **__: r.program.append(name, r.node(a).number)


def _power(r: Recorder, a: Any, k: Any) -> int:
    if isinstance(k, Tensor):
        raise NoProgram("it takes a power that is not a fixed number")
    p, number = r.program, r.node(a).number
    if abs(k) == 0.5:
        root = p.append("sqrt", number)
        return root if k > 0 else p.divide(p.constant(1.0), root)
    if k == 2:
        return p.multiply(number, number)
    if k == -1:
        return p.divide(p.constant(1.0), number)
    return p.append("power", number, number=float(k)) if k != 1 else number


def _softplus(r: Recorder, a: Tensor, beta: float = 1, threshold: float = 20) -> int:
    p, by = r.program, r.program.constant(beta)
    return p.divide(p.append("softplus", p.multiply(by, r.node(a).number)), by)


def _sum(r: Recorder, a: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    axes = [dim] if isinstance(dim, int) else list(dim or range(a.ndim))
    places = np.arange(a.numel()).reshape(tuple(a.shape))
    grouped = np.moveaxis(places, axes, range(-len(axes), 0)) if a.ndim else places
    length = math.prod(a.shape[axis] for axis in axes) if a.ndim else 1
    return r.program.sum(r.program.take(full(r, r.node(a)), grouped.ravel()), length)


def _products(r: Recorder, a: Tensor, b: Tensor) -> int:
    """The product of two stacks of matrices (k, n, m) and (k, m, l), of which parameters make a stored matrix."""
    (k, n, m), length, p = a.shape, b.shape[-1], r.program
    if not r.is_traced(a):
        return r.node(torch.bmm(b.mT, a.mT).mT).number
    if not r.is_traced(b):
        matrices = [part.t() for part in b.unbind() for _ in range(n)]
        matrix = matrices[0] if len(matrices) == 1 else torch.block_diag(*matrices)
        return p.linear(r.slot(matrix), full(r, r.node(a)))
    rows, columns = np.arange(k * n * m).reshape(k, n, 1, m), np.arange(k * m * length).reshape(k, m, length)
    first, second = (
        p.take(full(r, r.node(each)), np.broadcast_to(places, (k, n, length, m)).ravel())
        for each, places in ((a, rows), (b, columns.swapaxes(1, 2)[:, None]))
    )
    return p.sum(p.multiply(first, second), m)


UNARY = ["tanh", "sigmoid", "relu", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "atan", "erf", "abs", "sign"]
ELEMENTARY: dict[str, Lowering] = {
    "add": _binary("add"),
    "sub": _binary("subtract"),
    "rsub": lambda r, a, b, alpha=1: _binary("subtract")(r, b, a, alpha=alpha),
    "mul": _binary("multiply"),
    "div": _binary("divide"),
    **{name: _unary(name) for name in UNARY},
    "sgn": _unary("sign"),
    "neg": lambda r, a: r.program.negate(r.node(a).number),
    "pow": _power,
    "reciprocal": lambda r, a: _power(r, a, -1),
    "softplus": _softplus,
    "sum": _sum,
    "bmm": _products,
}


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
            at = tree_map(lambda leaf, t=step: torch.full_like(leaf, t) if r.is_traced(leaf) else leaf, rest)
            moved = function(places, *at, **kwargs)
            rows.append(torch.stack([leaf.reshape(-1) for leaf in tree_leaves(moved)]).reshape(-1))
    table = r.fixed(
        torch.ops.aten.index.Tensor, r.fixed(torch.ops.aten.reshape.default, held, [-1]), [torch.stack(rows)]
    )
    time = next(leaf for leaf in tree_leaves((rest, kwargs)) if r.is_traced(leaf))
    number = r.program.append("lookup", r.nodes[id(time)].number, size=table.shape[1], constant=r.slot(table))
    start = 0
    for result in results:
        r.mark(result, r.program.take(number, range(start, start + result.numel())))
        start += result.numel()


def complex_call(
    r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[Tensor]
) -> None:
    """Keep a call of complex tensors; where its result is real, the stretch that led there becomes a matrix."""
    calls: dict[int, Call] = {}
    sources: dict[int, Tensor] = {}
    for leaf in tree_leaves((args, kwargs)):
        if id(leaf) in r.complex:
            before, given = r.complex[id(leaf)]
            calls |= before
            sources |= given
        elif id(leaf) in r.nodes:
            sources[id(leaf)] = leaf
    call = Call(function, args, kwargs, results)
    calls[id(call)] = call
    for result in results:
        r.kept.append(result)
        if result.is_complex():
            r.complex[id(result)] = calls, sources
        else:
            r.mark(result, _stretch(r, list(calls.values()), list(sources.values()), result))


def _stretch(r: Recorder, calls: list[Call], given: list[Tensor], result: Tensor) -> int:
    """A real result of complex calls that are affine in the real numbers they began with: one matrix and an offset."""
    if not r.stretches:
        raise NoProgram("it computes with complex numbers")
    leaves = [leaf for call in calls for leaf in tree_leaves((call.args, call.kwargs)) if isinstance(leaf, Tensor)]
    fixed = [leaf for leaf in leaves if not r.is_traced(leaf)]

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
    found = r.program.linear(r.slot(matrix), r.program.join([full(r, r.node(source)) for source in given]))
    if not whole[:, n].any():
        return found
    return r.program.add(found, r.node(r.fixed(torch.ops.aten.select.int, whole, 1, n)).number)


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
        if name.endswith("_") and args[0]._is_view():
            raise NoProgram("it writes into a part of a tensor")
        name = name.removesuffix("_")
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
