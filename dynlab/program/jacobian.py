"""Structured Jacobians: a short chain of row-scaled matrices, from `dynlab.program.linearise`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from dynlab.program.operator import Dense, Function, Operator, folded_product, shared_product

__all__ = ["Dense", "Jacobian", "Operator", "Term"]


@dataclass(frozen=True, eq=False)
class Term:
    """diag(scale) · matrix · entries of a knot.

    Attributes
    ----------
    scale : Tensor or float
        Shape (..., rows), or (..., 1); (rows,) where all states share it.
    matrix : Tensor or None
        Shape (rows, entries); None for the entries themselves.
    knot : int
        What it multiplies; 0 is the vector that the operator is applied to.
    entries : slice or Tensor
    """

    scale: Any
    matrix: Tensor | None
    knot: int
    entries: Any


Blocks = list[tuple[int, list[Term]]]  # rows of each block, and the terms that are added up in it


class Jacobian(Operator):
    """Knots one after the other, each a column of blocks of terms; the last one is the derivative.

    Parameters
    ----------
    knots : sequence of Blocks
    columns : int
    like : Tensor
        Of the dtype and device of the numbers.
    """

    def __init__(self, knots: Sequence[Blocks], columns: int, like: Tensor) -> None:
        self.knots, self.columns = knots, columns
        self._like = like
        self.rows = sum(size for size, _ in knots[-1])

    def apply(self, x: Tensor) -> Tensor:
        found = [x]
        for blocks in self.knots:
            parts = [_total([_forward(term, found[term.knot]) for term in terms], size, x) for size, terms in blocks]
            found.append(parts[0] if len(parts) == 1 else _cat(parts))
        return found[-1]

    def apply_transpose(self, x: Tensor) -> Tensor:
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
        found: list[Tensor] = []
        sizes = [self.columns, *(sum(size for size, _ in blocks) for blocks in self.knots)]
        for blocks in self.knots:
            parts = [self._block(size, terms, found, sizes) for size, terms in blocks]
            found.append(parts[0] if len(parts) == 1 else _cat(parts))
        return found[-1]

    def _block(self, size: int, terms: list[Term], found: list[Tensor], sizes: list[int]) -> Tensor:
        """The rows of one block: terms over all columns first, the others added into their columns."""
        whole = [t for t in terms if t.knot > 0 or (t.matrix is not None and _is_all(t.entries, self.columns))]
        rest = [t for t in terms if t not in whole] if len(whole) < len(terms) else []
        batch = np.broadcast_shapes(
            *(_batch(t.scale) for t in terms), *(found[t.knot - 1].shape[:-2] for t in whole if t.knot)
        )
        total: Tensor | None = None
        owned = False  # whether `total` may be written on
        for term in whole:
            matrix = _factor(term, found, sizes)
            if owned and total is not None and isinstance(term.scale, Tensor):
                total.addcmul_(term.scale.unsqueeze(-1), matrix)
                continue
            part = _times(term.scale, matrix)
            total = part if total is None else total + part
            owned = total.shape[:-2] == batch and total is not term.matrix and (total is not matrix or term.knot == 0)
        if not rest:
            return self._like.new_zeros(size, self.columns) if total is None else total
        if total is None:
            total = self._like.new_zeros(*batch, size, self.columns)
        elif not owned:
            total = total.expand(*batch, size, self.columns).clone()
        for term in sorted(rest, key=lambda t: t.matrix is None):
            scale = (
                term.scale if isinstance(term.scale, Tensor) else self._like.new_tensor(float(term.scale)).reshape(1)
            )
            if term.matrix is not None:
                columns = total[..., term.entries]
                if isinstance(term.entries, slice):
                    columns.addcmul_(scale.unsqueeze(-1), term.matrix)
                else:
                    total[..., term.entries] = columns + scale.unsqueeze(-1) * term.matrix
            elif isinstance(term.entries, slice):
                total[..., term.entries].diagonal(dim1=-2, dim2=-1).add_(scale)
            else:
                rows = torch.arange(size, device=total.device)
                total[..., rows, term.entries] += scale
        return total

    def block(self, rows: slice, columns: slice) -> Jacobian:
        """Return some rows and columns, where blocks of the last knot end there and no entries straddle the columns.

        Terms that do not depend on these columns are left out.
        """
        knots: list[Blocks] = []
        empty: set[int] = set()
        for number, blocks in enumerate(self.knots, start=1):
            start, kept = 0, []
            for size, terms in blocks:
                end = start + size
                inside = number < len(self.knots) or (rows.start <= start and end <= rows.stop)
                if inside:
                    moved = [_within(t, columns, self.columns) for t in terms if t.knot not in empty]
                    kept.append((size, [t for t in moved if t is not None]))
                start = end
            knots.append(kept)
            if not any(terms for _, terms in kept):
                empty.add(number)
        return Jacobian(knots, columns.stop - columns.start, self._like)

    def mapped(self, batched: Function, shared: Function) -> Jacobian:
        def scale(value: Any) -> Any:
            if isinstance(value, Tensor):
                return batched(value) if value.ndim > 1 else shared(value)
            return shared(value) if isinstance(value, float) else value

        def term(t: Term) -> Term:
            return Term(scale(t.scale), None if t.matrix is None else shared(t.matrix), t.knot, t.entries)

        knots = [[(size, [term(t) for t in terms]) for size, terms in blocks] for blocks in self.knots]
        return Jacobian(knots, self.columns, shared(self._like))

    def scaled_matrix(self) -> tuple[Tensor, Tensor] | None:
        """Return d and M of an operator diag(d) M; None where it is made otherwise."""
        terms = self.knots[0][0][1]
        if len(self.knots) > 1 or len(self.knots[0]) > 1 or len(terms) != 1:
            return None
        (term,) = terms
        if term.matrix is None or not _is_all(term.entries, self.columns):
            return None
        scale = term.scale if isinstance(term.scale, Tensor) else self._like.new_tensor(float(term.scale)).reshape(1)
        return scale.expand(*scale.shape[:-1], self.rows), term.matrix

    def log_abs_det(self) -> Tensor:
        """One matrix for all states is decomposed once."""
        found = self.scaled_matrix()
        if found is None or self.rows != self.columns:
            return super().log_abs_det()
        scale, matrix = found
        return scale.abs().log().sum(dim=-1) + torch.linalg.slogdet(matrix).logabsdet


def _factor(term: Term, found: list[Tensor], sizes: list[int]) -> Tensor:
    """What the scale multiplies, over all columns."""
    if not term.knot:
        return cast(Tensor, term.matrix)  # it has one
    below = found[term.knot - 1]
    below = below if _is_all(term.entries, sizes[term.knot]) else below[..., term.entries, :]
    return below if term.matrix is None else folded_product(term.matrix, below)


def _within(term: Term, columns: slice, size: int) -> Term | None:
    """The term of the identity's columns alone; None where it has none of them."""
    if term.knot:
        return term
    places = torch.arange(size)[term.entries]
    inside = (places >= columns.start) & (places < columns.stop)
    if not inside.any():
        return None
    if inside.all():
        return Term(term.scale, term.matrix, 0, _as_slice(places - columns.start))
    if term.matrix is None:
        raise ValueError("the block cuts through a term of the diagonal")
    return Term(term.scale, term.matrix[:, inside], 0, _as_slice(places[inside] - columns.start))


def _as_slice(places: Tensor) -> Any:
    first, count = int(places[0]), len(places)
    return slice(first, first + count) if torch.equal(places, torch.arange(first, first + count)) else places


def _is_all(entries: Any, size: int) -> bool:
    return entries == slice(0, size)


def _batch(scale: Any) -> torch.Size:
    return scale.shape[:-1] if isinstance(scale, Tensor) else torch.Size()


def _forward(term: Term, source: Tensor) -> Tensor:
    part = source if _is_all(term.entries, source.shape[-2]) else source[..., term.entries, :]
    moved = part if term.matrix is None else shared_product(term.matrix, part)
    return _times(term.scale, moved)


def _times(scale: Any, x: Tensor) -> Tensor:
    if isinstance(scale, Tensor):
        return scale.unsqueeze(-1) * x
    return x if scale == 1 else scale * x


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


def _total(parts: Sequence[Tensor], size: int, like: Tensor) -> Tensor:
    if not parts:
        return like.new_zeros(*like.shape[:-2], size, like.shape[-1])
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _cat(parts: Sequence[Tensor]) -> Tensor:
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    whole = [part.expand(*batch, *part.shape[-2:]) for part in parts]
    if all(
        part.stride(-2) == 1 < part.stride(-1) for part in parts
    ):  # column by column, as `shared_product` makes them
        return torch.cat([part.mT for part in whole], dim=-1).mT
    return torch.cat(whole, dim=-2)
