"""Structured Jacobians: a short chain of row-scaled matrices, from `dynlab.program.linearise`."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Function = Callable[[Any], Any]
FEW = 4  # vectors are few where so many times their number is at most that of the columns they are multiplied by


@dataclass(frozen=True, eq=False)
class Term:
    """diag(scale) · matrix · entries of a knot.

    Attributes
    ----------
    scale : Tensor or None
        Shape (..., rows), or (..., 1); (rows,) or (1,) where all states share it; None for 1.
    matrix : Tensor or None
        Shape (rows, entries), or (..., rows, entries); None for the entries themselves.
    knot : int
        Number of what it multiplies; 0 is the vector that the operator is applied to.
    entries : slice or Tensor
    """

    scale: Tensor | None
    matrix: Tensor | None
    knot: int
    entries: Any


Blocks = list[tuple[int, list[Term]]]  # rows of each block, and the terms that are added up in it


class Operator:
    """A batch of linear maps that need not be matrices; ``a[index]`` selects along the batch.

    Knots one after the other, each a column of blocks of terms; the last one is the map.

    Parameters
    ----------
    knots : sequence of Blocks
    columns : int
    like : Tensor
        A tensor of the dtype and device of the numbers.
    """

    def __init__(self, knots: Sequence[Blocks], columns: int, like: Tensor) -> None:
        self.knots, self.columns = knots, columns
        self._like = like
        self.rows = sum(size for size, _ in knots[-1])

    def apply(self, x: Tensor) -> Tensor:
        """Return J x, for `x` of shape (..., columns, k); the result has shape (..., rows, k)."""
        found = [x]
        for blocks in self.knots:
            parts = [
                functools.reduce(torch.add, [_forward(term, found[term.knot]) for term in terms])
                if terms
                else x.new_zeros(*x.shape[:-2], size, x.shape[-1])
                for size, terms in blocks
            ]
            found.append(parts[0] if len(parts) == 1 else _cat(parts))
        return found[-1]

    def apply_transpose(self, x: Tensor) -> Tensor:
        """Return Jᵀ x, for `x` of shape (..., rows, k); the result has shape (..., columns, k)."""
        pulled: list[Tensor | None] = [None] * len(self.knots) + [x]
        sizes = [self.columns, *(sum(size for size, _ in blocks) for blocks in self.knots)]
        for number in range(len(self.knots), 0, -1):
            whole = pulled[number]
            if whole is None:
                continue
            start = 0
            for size, terms in self.knots[number - 1]:
                part = whole[..., start : start + size, :] if len(self.knots[number - 1]) > 1 else whole
                start += size
                for term in terms:
                    back = _backward(term, part, sizes[term.knot])
                    before = pulled[term.knot]
                    pulled[term.knot] = back if before is None else before + back
        first = pulled[0]
        return x.new_zeros(*x.shape[:-2], self.columns, x.shape[-1]) if first is None else first

    def dense(self) -> Tensor:
        """Return the matrices, shape (..., rows, columns); without leading dimensions where all states share them."""
        return self.apply(torch.eye(self.columns, dtype=self._like.dtype, device=self._like.device))

    def mapped(self, batched: Function, shared: Function) -> "Operator":
        """Return the same operator of other numbers: those that carry the batch, and those that all of it shares."""

        def each(value: Tensor | None, own: int) -> Tensor | None:
            return None if value is None else batched(value) if value.ndim > own else shared(value)

        knots = [
            [
                (size, [Term(each(t.scale, 1), each(t.matrix, 2), t.knot, t.entries) for t in terms])
                for size, terms in blocks
            ]
            for blocks in self.knots
        ]
        return Operator(knots, self.columns, shared(self._like))

    def absolute(self) -> "Operator":
        """Return the same sums and products of the moduli: entry by entry no smaller than abs(J)."""
        return self.mapped(abs, abs)

    def __getitem__(self, index: Any) -> "Operator":
        return self.mapped(lambda numbers: numbers[index], lambda numbers: numbers)

    def scaled_matrix(self) -> tuple[Tensor, Tensor] | None:
        """Return d and M of an operator diag(d) M; None where it is made otherwise."""
        terms = self.knots[0][0][1]
        if len(self.knots) > 1 or len(self.knots[0]) > 1 or len(terms) != 1:
            return None
        (term,) = terms
        if term.matrix is None or term.matrix.ndim > 2 or not _is_all(term.entries, self.columns):
            return None
        scale = self._like.new_ones(1) if term.scale is None else term.scale
        return scale.expand(*scale.shape[:-1], self.rows), term.matrix

    def log_abs_det(self) -> Tensor:
        """Return ln abs(det J), with the leading dimensions of `dense`; −inf of a singular one.

        One matrix for all states is decomposed once.
        """
        scale, matrix = self.scaled_matrix() or (self._like.new_ones(1), self.dense())
        return (
            scale.abs().log().expand(*scale.shape[:-1], self.rows).sum(dim=-1) + torch.linalg.slogdet(matrix).logabsdet
        )


def of_matrix(matrix: Tensor) -> Operator:
    """The operator of full matrices, shape (..., rows, columns)."""
    rows, columns = matrix.shape[-2:]
    return Operator([[(rows, [Term(None, matrix, 0, slice(0, columns))])]], columns, matrix)


def _is_all(entries: Any, size: int) -> bool:
    return entries == slice(0, size)


def _forward(term: Term, source: Tensor) -> Tensor:
    part = source if _is_all(term.entries, source.shape[-2]) else source[..., term.entries, :]
    return _times(term.scale, part if term.matrix is None else shared_product(term.matrix, part))


def _times(scale: Tensor | None, x: Tensor) -> Tensor:
    return x if scale is None else scale.unsqueeze(-1) * x


def _backward(term: Term, x: Tensor, size: int) -> Tensor:
    moved = _times(term.scale, x)
    if term.matrix is not None:
        moved = shared_product(term.matrix.mT, moved)
    if _is_all(term.entries, size):
        return moved
    found = moved.new_zeros(*moved.shape[:-2], size, moved.shape[-1])
    if isinstance(term.entries, slice):
        found[..., term.entries, :] = moved
        return found
    return found.index_add(-2, term.entries, moved)


def _cat(parts: Sequence[Tensor]) -> Tensor:
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    whole = [part.expand(*batch, *part.shape[-2:]) for part in parts]
    if all(
        part.stride(-2) == 1 < part.stride(-1) for part in parts
    ):  # column by column, as `shared_product` makes them
        return torch.cat([part.mT for part in whole], dim=-1).mT
    return torch.cat(whole, dim=-2)


def shared_product(matrix: Tensor, x: Tensor) -> Tensor:
    """One matrix (rows, columns), or one for each, times a few vectors (..., columns, k) of each element of a batch.

    Those of one matrix are columns of one product, which lies column by column: torch would read the matrix once for
    each element.
    """
    if matrix.ndim > 2 or x.shape[:-2].numel() == 1 or FEW * x.shape[-1] > matrix.shape[-1]:
        return matrix @ x
    rows = x.mT.reshape(-1, matrix.shape[-1]) @ matrix.mT
    return rows.reshape(*x.shape[:-2], x.shape[-1], matrix.shape[0]).mT
