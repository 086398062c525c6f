"""What each ATen call on traced tensors becomes: operations on vectors, row by row.

Calls that only move numbers are run on their places (`_moved`); those of complex tensors that are linear in the state
become one matrix (`_stretch`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from dynlab.program.program import NoProgram
from dynlab.program.trace import Call, Node, Recorder

MOVING = {
    "view",
    "_unsafe_view",
    "reshape",
    "t",
    "transpose",
    "permute",
    "unsqueeze",
    "squeeze",
    "expand",
    "slice",
    "select",
    "split",
    "split_with_sizes",
    "unbind",
    "narrow",
    "flip",
    "roll",
    "repeat",
    "diagonal",
    "clone",
    "detach",
    "alias",
    "contiguous",
    "squeeze_",
    "unsqueeze_",
    "t_",
    "transpose_",
    "_to_copy",
    "index",
    "index_select",
    "cat",
    "stack",
    "lift_fresh",
    "constant_pad_nd",
    "unfold",
    "gather",
    "chunk",
    "movedim",
    "_reshape_alias",
    "copy",
    "tril",
    "triu",
}
FILLING = {"zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty"}
Lowering = Callable[..., int | Node]


def lower(r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Append what a call becomes, and return what the call returns, its tensors marked."""
    name = function.overloadpacket.__name__
    traced = [leaf for leaf in tree_leaves((args, kwargs)) if r.is_traced(leaf)]
    if name in ("_local_scalar_dense", "item", "is_nonzero", "equal"):
        raise NoProgram("it decides by the value of a tensor, or makes a Python number of one")
    found = function(*args, **kwargs)
    results = [leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor)]
    if any(tensor.is_complex() for tensor in (*results, *traced)):
        _complex(r, function, args, kwargs, results)
    elif name in FILLING:
        r.kept.extend(results)
    elif name in MOVING:
        _moved(r, function, args, kwargs, results)
    else:
        in_place = name.endswith("_")
        if in_place and args[0]._is_view():
            raise NoProgram("it writes into a part of a tensor")
        lowering = LOWERINGS.get(name.removesuffix("_") if in_place else name)
        if lowering is None:
            raise NoProgram(f"it uses {name}, which is not among dynlab's operations")
        number = lowering(r, *args, **kwargs)
        r.mark(results[0], number.number if isinstance(number, Node) else number)
    return found


def _moved(r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[Tensor]) -> None:
    """The same call on the places of the numbers says where each of the results comes from."""
    parts: list[int] = [r.program.constant(torch.zeros(1))]  # what is padded
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
    axes = range(held.ndim)
    lengths = set()
    for axis in axes:  # the step's number indexes one axis: the one whose length bounds it
        try:
            function(held, *tree_map(lambda leaf, n=held.shape[axis]: _at(r, leaf, n - 1), rest), **kwargs)
            lengths.add(held.shape[axis])
        except IndexError:
            continue
    length = max(lengths)
    places = torch.arange(held.numel()).reshape(held.shape)
    rows = []
    for step in range(length):
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


# Arithmetic


def _spread(r: Recorder, node: Node, shape: tuple[int, ...]) -> int:
    """The node's numbers broadcast to `shape`; one number stays one."""
    if node.shape == shape or r.program.operations[node.number].size == 1:
        return node.number
    size = math.prod(node.shape)
    places = torch.arange(size).reshape(node.shape).expand(shape)
    return r.program.take(node.number, places.reshape(-1).tolist())


def _full(r: Recorder, node: Node) -> int:
    """A number that stands for a whole tensor, repeated."""
    size = math.prod(node.shape)
    operation = r.program.operations[node.number]
    if operation.size == size:
        return node.number
    return r.program.append("take", node.number, size=size, index=(0,) * size)


def _binary(name: str) -> Lowering:
    def lowering(r: Recorder, a: Any, b: Any, *, alpha: float = 1) -> int:
        x, y = r.node(a), r.node(b)
        shape = np.broadcast_shapes(x.shape, y.shape)
        first, second = _spread(r, x, shape), _spread(r, y, shape)
        if alpha != 1:
            second = r.program.multiply(r.program.constant(alpha), second)
        return _arithmetic(r, name, first, second)

    return lowering


def _arithmetic(r: Recorder, name: str, a: int, b: int) -> int:
    p = r.program
    if name == "multiply":
        return _modrelu(r, a, b) or _modrelu(r, b, a) or p.multiply(a, b)
    return {"add": p.add, "subtract": p.subtract, "divide": p.divide}[name](a, b)


def _modrelu(r: Recorder, a: int, b: int) -> int | None:
    """sign(p) · relu(|p| + b) is one function: at a dead unit the slope of the product would be 0 · unbounded."""
    sign, rectified = r.program.operations[a], r.program.operations[b]
    if sign.name != "sign" or rectified.name != "relu":
        return None
    total = r.program.operations[rectified.reads[0]]
    if total.name != "add":
        return None
    for one, other in (total.reads, total.reads[::-1]):
        modulus, bias = r.program.operations[one], r.program.operations[other]
        if modulus.name == "abs" and modulus.reads == sign.reads and bias.name == "constant":
            return r.program.append("modrelu", sign.reads[0], constant=bias.constant)
    return None


def _reversed_subtract(r: Recorder, a: Any, b: Any, alpha: float = 1) -> int:
    return _binary("subtract")(r, b, a, alpha=alpha)


def _unary(name: str) -> Lowering:
    def lowering(r: Recorder, a: Tensor, *_: Any, **__: Any) -> int:
        return r.program.unary(name, r.node(a).number)

    return lowering


def _composed(build: Callable[..., int]) -> Lowering:
    """A function of one tensor written in operations: build(program, a, *numbers)."""

    def lowering(r: Recorder, a: Tensor, *numbers: Any, **named: Any) -> int:
        return build(r.program, r.node(a).number, *numbers, **named)

    return lowering


def _abs(p: Any, a: int) -> int:
    return p.append("abs", a)


def _power(p: Any, a: int, k: float) -> int:
    if isinstance(k, Tensor):
        raise NoProgram("it takes a power that is not a fixed number")
    if k == 2:
        return p.multiply(a, a)
    if k == -1:
        return p.divide(p.constant(1.0), a)
    if k in (0.5, -0.5):
        root = p.unary("sqrt", a)
        return root if k > 0 else p.divide(p.constant(1.0), root)
    return p.unary("power", a, number=float(k)) if k != 1 else a


def _clamp(p: Any, a: int, low: float | None = None, high: float | None = None, **named: Any) -> int:
    low, high = named.get("min", named.get("min_val", low)), named.get("max", named.get("max_val", high))
    if low is not None and high is not None:
        over = p.unary("relu", p.subtract(a, p.constant(high)))
        return p.subtract(p.add(p.constant(low), p.unary("relu", p.subtract(a, p.constant(low)))), over)
    if low is not None:
        return p.add(p.constant(low), p.unary("relu", p.subtract(a, p.constant(low))))
    return p.subtract(p.constant(high), p.unary("relu", p.subtract(p.constant(high), a)))


def _leaky(p: Any, a: int, slope: float = 0.01, *_: Any) -> int:
    down = p.unary("relu", p.negate(a))
    return p.subtract(p.unary("relu", a), p.multiply(p.constant(slope), down))


def _elu(p: Any, a: int, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> int:
    negative = p.negate(p.unary("relu", p.negate(a)))
    inner = negative if input_scale == 1 else p.multiply(p.constant(input_scale), negative)
    down = p.multiply(p.constant(alpha * scale), p.unary("expm1", inner))
    return p.add(p.multiply(p.constant(scale), p.unary("relu", a)), down)


def _gelu(p: Any, a: int, approximate: str = "none") -> int:
    half = p.multiply(p.constant(0.5), a)
    if approximate == "tanh":
        inner = p.add(a, p.multiply(p.constant(0.044715), p.unary("power", a, number=3.0)))
        bent = p.unary("tanh", p.multiply(p.constant(math.sqrt(2 / math.pi)), inner))
    else:
        bent = p.unary("erf", p.multiply(p.constant(math.sqrt(0.5)), a))
    return p.multiply(half, p.add(p.constant(1.0), bent))


def _softplus(p: Any, a: int, beta: float = 1, threshold: float = 20) -> int:
    if beta == 1:
        return p.unary("softplus", a)
    return p.divide(p.unary("softplus", p.multiply(p.constant(beta), a)), p.constant(beta))


def _hard_sigmoid(p: Any, a: int) -> int:
    return _clamp(p, p.add(p.divide(a, p.constant(6.0)), p.constant(0.5)), 0.0, 1.0)


def _of_exponentials(sign: float) -> Callable[[Any, int], int]:
    def build(p: Any, a: int) -> int:
        back = p.unary("exp", p.negate(a))
        both = p.add if sign > 0 else p.subtract
        return p.multiply(p.constant(0.5), both(p.unary("exp", a), back))

    return build


def _larger(sign: int) -> Lowering:
    """max(a, b) = b + relu(a − b), min(a, b) = b − relu(b − a)."""

    def lowering(r: Recorder, a: Any, b: Any) -> int:
        x, y = r.node(a), r.node(b)
        shape = np.broadcast_shapes(x.shape, y.shape)
        first, second = _spread(r, x, shape), _spread(r, y, shape)
        p = r.program
        if sign > 0:
            return p.add(second, p.unary("relu", p.subtract(first, second)))
        return p.subtract(second, p.unary("relu", p.subtract(second, first)))

    return lowering


def _lerp(r: Recorder, a: Tensor, b: Tensor, weight: Any) -> int:
    """A + w (b − a), which is a σ(−p) + b σ(p) for a gate w = σ(p): nothing cancels where the gate is closed."""
    shape = np.broadcast_shapes(*(r.node(each).shape for each in (a, b, weight)))
    first, second, share = (_spread(r, r.node(each), shape) for each in (a, b, weight))
    p = r.program
    rest = p.subtract(p.constant(1.0), share)
    return p.add(p.multiply(rest, first), p.multiply(share, second))


def _add(r: Recorder, a: Any, b: Any, *, alpha: float = 1) -> int:
    """A sum; c + z (h − c) with a gate z = σ(p) becomes σ(−p) c + z h, so that 1 − z does not cancel in its slope."""
    p, x, y = r.program, r.node(a), r.node(b)
    if alpha == 1 and x.shape == y.shape:
        for base, product in ((x.number, y.number), (y.number, x.number)):
            if p.operations[product].name != "multiply":
                continue
            for gate, apart in (p.operations[product].reads, p.operations[product].reads[::-1]):
                inner = p.operations[apart]
                if p.operations[gate].name == "sigmoid" and inner.name == "subtract" and inner.reads[1] == base:
                    closed = p.subtract(p.constant(1.0), gate)
                    return p.add(p.multiply(closed, base), p.multiply(gate, inner.reads[0]))
    return _binary("add")(r, a, b, alpha=alpha)


def _addcmul(r: Recorder, a: Tensor, b: Tensor, c: Tensor, *, value: float = 1) -> int:
    shape = np.broadcast_shapes(*(r.node(each).shape for each in (a, b, c)))
    first, second, third = (_spread(r, r.node(each), shape) for each in (a, b, c))
    both = r.program.multiply(second, third)
    return r.program.add(first, both if value == 1 else r.program.multiply(r.program.constant(value), both))


# Products with matrices


def _matmul(r: Recorder, a: Tensor, b: Tensor) -> Node:
    """The product of two stacks of matrices (k, n, m) and (k, m, l), of which parameters make a stored matrix."""
    k, n, m, length = *a.shape, b.shape[-1]
    if not r.is_traced(b) and not a.is_floating_point():
        raise NoProgram("it multiplies integers")
    if not r.is_traced(a):
        parts = [_kron(r, r.fixed(torch.ops.aten.select.int, a, 0, i), length, True) for i in range(k)]
        return Node(_linear(r, parts, _full(r, r.node(b))), (k, n, length))
    if not r.is_traced(b):
        right = [r.fixed(torch.ops.aten.t.default, r.fixed(torch.ops.aten.select.int, b, 0, i)) for i in range(k)]
        return Node(_linear(r, [_kron(r, part, n, False) for part in right], _full(r, r.node(a))), (k, n, length))
    rows, columns = torch.arange(a.numel()).reshape(k, n, 1, m), torch.arange(b.numel()).reshape(k, m, length)
    shape = (k, n, length, m)
    p = r.program
    first = p.take(_full(r, r.node(a)), rows.expand(shape).reshape(-1).tolist())
    second = p.take(_full(r, r.node(b)), columns.mT.unsqueeze(1).expand(shape).reshape(-1).tolist())
    return Node(p.sum(p.multiply(first, second), m), (k, n, length))


def _kron(r: Recorder, matrix: Tensor, times: int, before: bool) -> Tensor:
    """Matrix ⊗ I or I ⊗ matrix, of that many copies."""
    if times == 1:
        return matrix
    return r.fixed(kron_identity, matrix, times, before)


def kron_identity(matrix: Tensor, times: int, before: bool) -> Tensor:
    """The Kronecker product of a matrix with the identity of size `times`, the matrix first if `before`."""
    identity = torch.eye(times, dtype=matrix.dtype, device=matrix.device)
    return torch.kron(matrix, identity) if before else torch.kron(identity, matrix)


def _linear(r: Recorder, matrices: Sequence[Tensor], a: int) -> int:
    matrix = matrices[0] if len(matrices) == 1 else r.fixed(torch.block_diag, *matrices)
    return r.program.linear(r.slot(matrix), a)


def _viewed(r: Recorder, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor in another shape, marked as the same numbers."""
    if tuple(tensor.shape) == shape:
        return tensor
    if not r.is_traced(tensor):
        return r.fixed(torch.ops.aten.reshape.default, tensor, list(shape))
    seen = tensor.reshape(shape)
    if r.program.operations[r.node(tensor).number].size != tensor.numel():
        r.mark(seen, _full(r, r.node(tensor)))
    else:
        r.mark(seen, r.node(tensor).number)
    return seen


def _mm(r: Recorder, a: Tensor, b: Tensor) -> int:
    left = (1, *a.shape) if a.ndim == 2 else (1, 1, *a.shape)
    right = (1, *b.shape) if b.ndim == 2 else (1, *b.shape, 1)
    return _matmul(r, _viewed(r, a, left), _viewed(r, b, right)).number


def _bmm(r: Recorder, a: Tensor, b: Tensor) -> int:
    return _matmul(r, a, b).number


def _linear_layer(r: Recorder, a: Tensor, weight: Tensor, bias: Tensor | None = None) -> int:
    if r.is_traced(weight):
        raise NoProgram("its weights depend on the state")
    rows = _viewed(r, a, (1, math.prod(a.shape[:-1]), a.shape[-1]))
    turned = r.fixed(torch.ops.aten.t.default, weight)
    found = _matmul(r, rows, r.fixed(torch.ops.aten.unsqueeze.default, turned, 0))
    if bias is None:
        return found.number
    return r.program.add(found.number, _spread(r, r.node(bias), (*a.shape[:-1], weight.shape[0])))


def _added(product: Callable[[Recorder, Tensor, Tensor], int]) -> Lowering:
    def lowering(r: Recorder, c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> int:
        found, p = product(r, a, b), r.program
        if alpha != 1:
            found = p.multiply(p.constant(alpha), found)
        shape = tuple((a @ b).shape) if a.ndim > 1 else (a.shape[0],)
        first = _spread(r, r.node(c), shape)
        return p.add(first if beta == 1 else p.multiply(p.constant(beta), first), found)

    return lowering


# Sums, norms, normalisations


def _grouped(r: Recorder, a: Tensor, dims: Any) -> tuple[int, int]:
    """The numbers with those of `dims` behind one another, and how many those are."""
    axes = list(range(a.ndim)) if dims is None or dims == [] else [dims] if isinstance(dims, int) else list(dims)
    axes = [axis % max(a.ndim, 1) for axis in axes]
    others = [axis for axis in range(a.ndim) if axis not in axes]
    places = torch.arange(a.numel()).reshape(a.shape).permute(*others, *axes).reshape(-1)
    length = math.prod(a.shape[axis] for axis in axes)
    return r.program.take(_full(r, r.node(a)), places.tolist()), length


def _sum(r: Recorder, a: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    return r.program.sum(*_grouped(r, a, dim))


def _mean(r: Recorder, a: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    number, length = _grouped(r, a, dim)
    return r.program.divide(r.program.sum(number, length), r.program.constant(float(length)))


def _norm(r: Recorder, a: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    if ord != 2:
        raise NoProgram("it uses a norm that is not Euclidean")
    number, length = _grouped(r, a, dim)
    return r.program.unary("sqrt", r.program.sum(r.program.multiply(number, number), length))


def _deviations(r: Recorder, a: Tensor, dim: Any) -> tuple[int, int, int]:
    """Numbers less their mean, in groups; the variance of each group; the groups' length."""
    p = r.program
    number, length = _grouped(r, a, dim)
    mean = p.divide(p.sum(number, length), p.constant(float(length)))
    count = a.numel() // length
    apart = p.subtract(number, mean if count == 1 else p.take(mean, [i for i in range(count) for _ in range(length)]))
    return apart, p.divide(p.sum(p.multiply(apart, apart), length), p.constant(float(length))), length


def _variance(
    r: Recorder, a: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> int:
    _, variance, length = _deviations(r, a, dim)
    lost = 1.0 if correction is None else float(correction)
    return r.program.multiply(r.program.constant(length / (length - lost)), variance)


def _layer_norm(r: Recorder, a: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> int:
    p = r.program
    apart, variance, length = _deviations(r, a, list(range(a.ndim - len(shape), a.ndim)))
    root = p.unary("sqrt", p.add(variance, p.constant(eps)))
    count = a.numel() // length
    found = p.divide(apart, root if count == 1 else p.take(root, [i for i in range(count) for _ in range(length)]))
    if weight is not None:
        found = p.multiply(found, _spread(r, r.node(weight), tuple(a.shape)))
    return found if bias is None else p.add(found, _spread(r, r.node(bias), tuple(a.shape)))


def _softmax(r: Recorder, a: Tensor, dim: int, *_: Any) -> int:
    """1/Σ_j exp(a_j − a_i), which no maximum has to be taken out of."""
    n = a.shape[dim]
    places = torch.arange(a.numel()).reshape(a.shape).movedim(dim, -1)
    number, p = _full(r, r.node(a)), r.program
    shape = (*places.shape, n)
    others = p.take(number, places.unsqueeze(-2).expand(shape).reshape(-1).tolist())
    own = p.take(number, places.unsqueeze(-1).expand(shape).reshape(-1).tolist())
    found = p.divide(p.constant(1.0), p.sum(p.unary("exp", p.subtract(others, own)), n))
    back = torch.arange(a.numel()).reshape(places.shape).movedim(-1, dim)
    return p.take(found, back.reshape(-1).tolist())


# Complex numbers


def _complex(r: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[Tensor]) -> None:
    call = Call(function, args, kwargs, results)
    for result in results:
        r.kept.append(result)
        if result.is_complex():
            r.complex[id(result)] = call
        else:
            r.mark(result, _stretch(r, call, result))


def _stretch(r: Recorder, last: Call, result: Tensor) -> int:
    """A real result of complex calls that are affine in the real numbers they began with: one matrix and an offset."""
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
    place = last.results.index(result)

    def affine(*parameters: Tensor) -> Tensor:
        """Columns of the matrix, then the offset."""
        base = dict(zip(map(id, fixed), parameters, strict=True))

        def at(point: Tensor) -> Tensor:
            parts = point.split([source.numel() for source in given])
            values = base | {i: part.reshape(s.shape) for (i, s), part in zip(sources.items(), parts, strict=True)}
            for call in calls:
                args, kwargs = tree_map(
                    lambda leaf: values.get(id(leaf), leaf) if isinstance(leaf, Tensor) else leaf,
                    (call.args, call.kwargs),
                )
                found = [leaf for leaf in tree_leaves(call.function(*args, **kwargs)) if isinstance(leaf, Tensor)]
                values.update((id(old), new) for old, new in zip(call.results, found, strict=True))
            return found[place].reshape(-1)

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
    joint = r.program.join([_full(r, r.node(source)) for source in given])
    found = r.program.linear(r.slot(matrix), joint)
    if not whole[:, n].any():
        return found
    return r.program.add(found, r.node(r.fixed(torch.ops.aten.select.int, whole, 1, n)).number)


LOWERINGS: dict[str, Lowering] = {
    "add": _add,
    "sub": _binary("subtract"),
    "rsub": _reversed_subtract,
    "mul": _binary("multiply"),
    "div": lambda r, a, b, **_: _binary("divide")(r, a, b),
    **{
        name: _unary(name)
        for name in ("tanh", "sigmoid", "relu", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "atan", "erf")
    },
    "neg": _composed(lambda p, a: p.negate(a)),
    "abs": _composed(_abs),
    "sign": _composed(lambda p, a: p.append("sign", a)),
    "sgn": _composed(lambda p, a: p.append("sign", a)),
    "pow": _composed(_power),
    "square": _composed(lambda p, a: p.multiply(a, a)),
    "rsqrt": _composed(lambda p, a: _power(p, a, -0.5)),
    "reciprocal": _composed(lambda p, a: _power(p, a, -1)),
    "sinh": _composed(_of_exponentials(-1)),
    "cosh": _composed(_of_exponentials(1)),
    "silu": _composed(lambda p, a: p.multiply(a, p.unary("sigmoid", a))),
    "mish": _composed(lambda p, a: p.multiply(a, p.unary("tanh", p.unary("softplus", a)))),
    "log_sigmoid_forward": _composed(lambda p, a: p.negate(p.unary("softplus", p.negate(a)))),
    "gelu": _composed(_gelu),
    "softplus": _composed(_softplus),
    "elu": _composed(_elu),
    "leaky_relu": _composed(_leaky),
    "hardtanh": _composed(lambda p, a, low=-1.0, high=1.0: _clamp(p, a, low, high)),
    "hardsigmoid": _composed(_hard_sigmoid),
    "hardswish": _composed(lambda p, a: p.multiply(a, _hard_sigmoid(p, a))),
    "clamp": _composed(_clamp),
    "clamp_min": _composed(lambda p, a, low: _clamp(p, a, low)),
    "clamp_max": _composed(lambda p, a, high: _clamp(p, a, None, high)),
    "maximum": _larger(1),
    "minimum": _larger(-1),
    "lerp": _lerp,
    "addcmul": _addcmul,
    "mm": _mm,
    "mv": _mm,
    "dot": lambda r, a, b: _mm(r, _viewed(r, a, (1, a.numel())), b),
    "bmm": _bmm,
    "linear": _linear_layer,
    "addmm": _added(_mm),
    "addmv": _added(_mm),
    "baddbmm": _added(_bmm),
    "sum": _sum,
    "mean": _mean,
    "var": _variance,
    "linalg_vector_norm": _norm,
    "norm": lambda r, a, *rest, **named: _norm(r, a, *rest, **named),
    "native_layer_norm": _layer_norm,
    "_softmax": _softmax,
}
