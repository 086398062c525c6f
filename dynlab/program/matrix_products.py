"""What ATen's products of matrices and vectors become: stored matrices, or sums of products of entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dynlab.program.entrywise import Lowering, full, spread
from dynlab.program.program import NoProgram
from dynlab.program.trace import Node, Recorder


def _matmul(r: Recorder, a: Tensor, b: Tensor) -> Node:
    """The product of two stacks of matrices (k, n, m) and (k, m, l), of which parameters make a stored matrix."""
    k, n, m, length = *a.shape, b.shape[-1]
    if not r.is_traced(b) and not a.is_floating_point():
        raise NoProgram("it multiplies integers")
    if not r.is_traced(a):
        parts = [_kron(r, r.fixed(torch.ops.aten.select.int, a, 0, i), length, True) for i in range(k)]
        return Node(_linear(r, parts, full(r, r.node(b))), (k, n, length))
    if not r.is_traced(b):
        right = [r.fixed(torch.ops.aten.t.default, r.fixed(torch.ops.aten.select.int, b, 0, i)) for i in range(k)]
        return Node(_linear(r, [_kron(r, part, n, False) for part in right], full(r, r.node(a))), (k, n, length))
    rows, columns = torch.arange(a.numel()).reshape(k, n, 1, m), torch.arange(b.numel()).reshape(k, m, length)
    shape = (k, n, length, m)
    p = r.program
    first = p.take(full(r, r.node(a)), rows.expand(shape).reshape(-1).tolist())
    second = p.take(full(r, r.node(b)), columns.mT.unsqueeze(1).expand(shape).reshape(-1).tolist())
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
        r.mark(seen, full(r, r.node(tensor)))
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
    return r.program.add(found.number, spread(r, r.node(bias), (*a.shape[:-1], weight.shape[0])))


def _added(product: Callable[[Recorder, Tensor, Tensor], int]) -> Lowering:
    def lowering(r: Recorder, c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> int:
        found, p = product(r, a, b), r.program
        if alpha != 1:
            found = p.multiply(p.constant(alpha), found)
        shape = tuple((a @ b).shape) if a.ndim > 1 else (a.shape[0],)
        first = spread(r, r.node(c), shape)
        return p.add(first if beta == 1 else p.multiply(p.constant(beta), first), found)

    return lowering


PRODUCTS: dict[str, Lowering] = {
    "mm": _mm,
    "mv": _mm,
    "dot": lambda r, a, b: _mm(r, _viewed(r, a, (1, a.numel())), b),
    "bmm": _bmm,
    "linear": _linear_layer,
    "addmm": _added(_mm),
    "addmv": _added(_mm),
    "baddbmm": _added(_bmm),
}
