"""Structured Jacobians: sums and products of diagonal, shared and dense factors, and blocks of them.

A cell's Jacobian is rarely a full matrix: ``diag(d) W`` has one matrix `W` for every state of a batch and one
diagonal for each. An `Operator` keeps that structure, so that a product along a trajectory is GEMMs with the shared
matrix, and gives the dense matrices where they are asked for.

Leading dimensions are the batch: `Diagonal` and `Dense` carry all of them, `Identity`, `Leading` and `Shared` none.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

FEW = 4  # vectors are few where so many times their number is at most that of the columns that they are multiplied by
Function = Callable[[Any], Any]  # of the numbers of an operator: tensors, or a number that scales one


class Operator(abc.ABC):
    """A batch of linear maps from `columns` to `rows` dimensions.

    ``a + b``, ``a @ b`` and ``number * a`` build sums, products and multiples; ``a[index]`` selects along the
    leading (batch) dimensions.
    """

    rows: int
    columns: int

    @abc.abstractmethod
    def apply(self, x: Tensor) -> Tensor:
        """J x, for `x` of shape (..., columns, k); the result has shape (..., rows, k)."""

    @abc.abstractmethod
    def apply_transpose(self, x: Tensor) -> Tensor:
        """Jᵀ x, for `x` of shape (..., rows, k); the result has shape (..., columns, k)."""

    @abc.abstractmethod
    def dense(self) -> Tensor:
        """The matrices, shape (..., rows, columns); where nothing depends on the batch, without leading dimensions."""

    @abc.abstractmethod
    def mapped(self, batched: Function, shared: Function) -> Operator:
        """The same operator of other numbers: those that carry the batch, and those that all of it shares."""

    def log_abs_det(self) -> Tensor:
        """The logarithm of abs(det J), shape (...), with the leading dimensions of `dense`; −inf of a singular one."""
        return torch.linalg.slogdet(self.dense()).logabsdet

    def absolute(self) -> Operator:
        """The same sums and products of the moduli: entry by entry no smaller than abs(J)."""
        return self.mapped(abs, abs)

    def __getitem__(self, index: Any) -> Operator:
        """The operators at `index` of the leading dimensions."""
        return self.mapped(lambda numbers: numbers[index], lambda numbers: numbers)

    def __add__(self, other: Operator) -> Operator:
        return Sum(self, other)

    def __matmul__(self, other: Operator) -> Operator:
        return Product(self, other)

    def __rmul__(self, factor: float) -> Operator:
        return Scaled(factor, self)


class Identity(Operator):
    """I, of any batch."""

    def __init__(self, size: int, like: Tensor) -> None:
        self.rows = self.columns = size
        self._like = like.new_empty(0)

    def apply(self, x: Tensor) -> Tensor:
        return x

    def apply_transpose(self, x: Tensor) -> Tensor:
        return x

    def dense(self) -> Tensor:
        return torch.eye(self.rows, dtype=self._like.dtype, device=self._like.device)

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Identity(self.rows, shared(self._like))

    def log_abs_det(self) -> Tensor:
        return self._like.new_zeros(())


class Diagonal(Operator):
    """diag(d), with `d` of shape (..., n)."""

    def __init__(self, diagonal: Tensor) -> None:
        self.diagonal = diagonal
        self.rows = self.columns = diagonal.shape[-1]

    def apply(self, x: Tensor) -> Tensor:
        return self.diagonal.unsqueeze(-1) * x

    def apply_transpose(self, x: Tensor) -> Tensor:
        return self.apply(x)

    def dense(self) -> Tensor:
        return torch.diag_embed(self.diagonal)

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Diagonal(batched(self.diagonal))

    def __rmul__(self, factor: float) -> Operator:
        return Diagonal(factor * self.diagonal)

    def log_abs_det(self) -> Tensor:
        return self.diagonal.abs().log().sum(dim=-1)


class Leading(Operator):
    """(I 0): the first `rows` of `columns` coordinates."""

    def __init__(self, rows: int, columns: int, like: Tensor) -> None:
        self.rows, self.columns = rows, columns
        self._like = like.new_empty(0)

    def apply(self, x: Tensor) -> Tensor:
        return x[..., : self.rows, :]

    def apply_transpose(self, x: Tensor) -> Tensor:
        more = self.columns - self.rows
        return pad(x.mT, (0, more)).mT if _column_by_column(x) else pad(x, (0, 0, 0, more))

    def dense(self) -> Tensor:
        return torch.eye(self.rows, self.columns, dtype=self._like.dtype, device=self._like.device)

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Leading(self.rows, self.columns, shared(self._like))


class Matrix(Operator):
    """A matrix as it is, `Shared` or `Dense`."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.rows, self.columns = matrix.shape[-2:]

    def apply(self, x: Tensor) -> Tensor:
        return self.matrix @ x

    def apply_transpose(self, x: Tensor) -> Tensor:
        return self.matrix.mT @ x

    def dense(self) -> Tensor:
        return self.matrix


class Shared(Matrix):
    """One matrix (rows, columns) for the whole batch."""

    def apply(self, x: Tensor) -> Tensor:
        return _shared_product(self.matrix, x)

    def apply_transpose(self, x: Tensor) -> Tensor:
        return _shared_product(self.matrix.mT, x)

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Shared(shared(self.matrix))


class Dense(Matrix):
    """A full matrix for each element of the batch, shape (..., rows, columns)."""

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Dense(batched(self.matrix))


class Scaled(Operator):
    """c J, with one number `factor`, also as a tensor, for the whole batch."""

    def __init__(self, factor: float | Tensor, operator: Operator) -> None:
        self.factor = factor
        self.operator = operator
        self.rows, self.columns = operator.rows, operator.columns

    def apply(self, x: Tensor) -> Tensor:
        return self.factor * self.operator.apply(x)

    def apply_transpose(self, x: Tensor) -> Tensor:
        return self.factor * self.operator.apply_transpose(x)

    def dense(self) -> Tensor:
        return self.factor * self.operator.dense()

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Scaled(shared(self.factor), self.operator.mapped(batched, shared))


class Sum(Operator):
    """J₁ + J₂."""

    def __init__(self, first: Operator, second: Operator) -> None:
        self.first, self.second = first, second
        self.rows, self.columns = first.rows, first.columns

    def apply(self, x: Tensor) -> Tensor:
        return self.first.apply(x) + self.second.apply(x)

    def apply_transpose(self, x: Tensor) -> Tensor:
        return self.first.apply_transpose(x) + self.second.apply_transpose(x)

    def dense(self) -> Tensor:
        return self.first.dense() + self.second.dense()

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Sum(self.first.mapped(batched, shared), self.second.mapped(batched, shared))


class RowScaled(Operator):
    """diag(d₁) W₁ + diag(d₂) W₂ + …, with d_i of shape (..., n) and one matrix W_i each for the whole batch.

    The same as a sum of products, whose dense form is made in one pass for each term, without copies between.
    """

    def __init__(self, *terms: tuple[Tensor, Tensor]) -> None:
        self.terms = terms
        self.rows, self.columns = terms[0][1].shape

    def apply(self, x: Tensor) -> Tensor:
        return _total([scale.unsqueeze(-1) * _shared_product(matrix, x) for scale, matrix in self.terms])

    def apply_transpose(self, x: Tensor) -> Tensor:
        return _total([_shared_product(matrix.mT, scale.unsqueeze(-1) * x) for scale, matrix in self.terms])

    def dense(self) -> Tensor:
        (scale, matrix), *others = self.terms
        total = scale.unsqueeze(-1) * matrix
        for scale, matrix in others:
            total.addcmul_(scale.unsqueeze(-1), matrix)
        return total

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return RowScaled(*((batched(scale), shared(matrix)) for scale, matrix in self.terms))


class Product(Operator):
    """J₁ J₂ …: the last acts first. A product of products is one flat product: a long one needs no deep recursion."""

    def __init__(self, *factors: Operator) -> None:
        parts = [factor.factors if isinstance(factor, Product) else (factor,) for factor in factors]
        self.factors: tuple[Operator, ...] = tuple(itertools.chain.from_iterable(parts))
        self.rows, self.columns = self.factors[0].rows, self.factors[-1].columns

    def apply(self, x: Tensor) -> Tensor:
        for factor in reversed(self.factors):
            x = factor.apply(x)
        return x

    def apply_transpose(self, x: Tensor) -> Tensor:
        for factor in self.factors:
            x = factor.apply_transpose(x)
        return x

    def dense(self) -> Tensor:
        product = self.factors[-1].dense()
        for factor in reversed(self.factors[:-1]):
            product = factor.apply(product)
        return product

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Product(*(factor.mapped(batched, shared) for factor in self.factors))

    def __rmul__(self, factor: float) -> Operator:
        first, *others = self.factors
        return Product(factor * first, *others)  # of a diagonal no matrix is scaled

    def log_abs_det(self) -> Tensor:
        if any(factor.rows != factor.columns for factor in self.factors):
            return super().log_abs_det()
        return _total([factor.log_abs_det() for factor in self.factors])


class Blocks(Operator):
    """A matrix of operators, ``None`` for a block of zeros; every row and column has at least one operator."""

    def __init__(self, blocks: Sequence[Sequence[Operator | None]]) -> None:
        self.blocks = blocks
        self.heights = [next(block.rows for block in row if block) for row in blocks]
        self.widths = [next(block.columns for block in column if block) for column in zip(*blocks, strict=True)]
        self.rows, self.columns = sum(self.heights), sum(self.widths)

    def apply(self, x: Tensor) -> Tensor:
        parts = x.split(self.widths, dim=-2)
        rows = [[block.apply(part) for block, part in zip(row, parts, strict=True) if block] for row in self.blocks]
        return _concatenate([_total(terms) for terms in rows], dim=-2)

    def apply_transpose(self, x: Tensor) -> Tensor:
        parts = x.split(self.heights, dim=-2)
        columns = [
            [block.apply_transpose(part) for block, part in zip(column, parts, strict=True) if block]
            for column in zip(*self.blocks, strict=True)
        ]
        return _concatenate([_total(terms) for terms in columns], dim=-2)

    def dense(self) -> Tensor:
        found = [[block.dense() if block else None for block in row] for row in self.blocks]
        like = next(matrix for row in found for matrix in row if matrix is not None)
        rows = [
            _concatenate(
                [
                    like.new_zeros(height, width) if matrix is None else matrix
                    for matrix, width in zip(row, self.widths, strict=True)
                ],
                dim=-1,
            )
            for row, height in zip(found, self.heights, strict=True)
        ]
        return _concatenate(rows, dim=-2)

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Blocks([[block.mapped(batched, shared) if block else None for block in row] for row in self.blocks])


class Fed(Operator):
    """Two parts of which the first is also fed with the second: x ↦ (A x + B y, y) with y = C x.

    Parameters
    ----------
    own, feed, second : Operator
        A, B and C.
    """

    def __init__(self, own: Operator, feed: Operator, second: Operator) -> None:
        self.own, self.feed, self.second = own, feed, second
        self.rows, self.columns = own.rows + second.rows, second.columns

    def apply(self, x: Tensor) -> Tensor:
        y = self.second.apply(x)
        return _concatenate([self.own.apply(x) + self.feed.apply(y), y], dim=-2)

    def apply_transpose(self, x: Tensor) -> Tensor:
        first, y = x.split([self.own.rows, self.second.rows], dim=-2)
        return self.own.apply_transpose(first) + self.second.apply_transpose(y + self.feed.apply_transpose(first))

    def dense(self) -> Tensor:
        y = self.second.dense()
        return _concatenate([self.own.dense() + self.feed.apply(y), y], dim=-2)

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Fed(*(each.mapped(batched, shared) for each in (self.own, self.feed, self.second)))


class Cascade(Operator):
    """Layers above one another, each fed with what the one below becomes: x_l' = J_l x_l + B_l x_{l−1}'.

    Parameters
    ----------
    layers : sequence of Operator
        J₁, J₂, … from the lowest to the top, square.
    feeds : sequence of Operator
        B₂, B₃, …
    """

    def __init__(self, layers: Sequence[Operator], feeds: Sequence[Operator]) -> None:
        self.layers, self.feeds = layers, feeds
        self._sizes = [layer.rows for layer in layers]
        self.rows = self.columns = sum(self._sizes)

    def apply(self, x: Tensor) -> Tensor:
        found: list[Tensor] = []
        for level, (layer, part) in enumerate(zip(self.layers, x.split(self._sizes, dim=-2), strict=True)):
            own = layer.apply(part)
            found.append(own + self.feeds[level - 1].apply(found[-1]) if level else own)
        return _concatenate(found, dim=-2)

    def apply_transpose(self, x: Tensor) -> Tensor:
        parts = list(x.split(self._sizes, dim=-2))
        for level in range(len(parts) - 1, 0, -1):
            parts[level - 1] = parts[level - 1] + self.feeds[level - 1].apply_transpose(parts[level])
        found = [layer.apply_transpose(part) for layer, part in zip(self.layers, parts, strict=True)]
        return _concatenate(found, dim=-2)

    def dense(self) -> Tensor:
        return Blocks(self.rows_of_blocks()).dense()

    def rows_of_blocks(self) -> list[list[Operator | None]]:
        """The same as blocks, None above the diagonal, which has the layers."""
        rows: list[list[Operator | None]] = []
        for level, layer in enumerate(self.layers):
            below = [self.feeds[level - 1] @ block for block in rows[-1] if block] if level else []
            rows.append([*below, layer, *[None] * (len(self.layers) - level - 1)])
        return rows

    def mapped(self, batched: Function, shared: Function) -> Operator:
        layers, feeds = ([each.mapped(batched, shared) for each in part] for part in (self.layers, self.feeds))
        return Cascade(layers, feeds)

    def log_abs_det(self) -> Tensor:
        return _total([layer.log_abs_det() for layer in self.layers])


def _shared_product(matrix: Tensor, x: Tensor) -> Tensor:
    """One matrix (rows, columns) times a few vectors (..., columns, k) of each element of a batch.

    They are columns of one product: torch would read the matrix once for each element.
    """
    batch, k = x.shape[:-2], x.shape[-1]
    if batch.numel() == 1 or FEW * k > matrix.shape[-1]:
        return matrix @ x
    rows = x.mT.reshape(-1, matrix.shape[-1]) @ matrix.mT
    return rows.reshape(*batch, k, matrix.shape[0]).mT


def _total(terms: Sequence[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _concatenate(parts: Sequence[Tensor], dim: int) -> Tensor:
    """Concatenate along one of the last two dimensions after broadcasting the leading ones.

    A few vectors stay column by column in memory, as `_shared_product` makes them and needs them again.
    """
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    whole = [part.expand(*batch, *part.shape[-2:]) for part in parts]
    if all(map(_column_by_column, parts)):
        return torch.cat([part.mT for part in whole], dim=-3 - dim).mT
    return torch.cat(whole, dim=dim)


def _column_by_column(x: Tensor) -> bool:
    """Whether the numbers of a column lie behind each other in memory."""
    return x.stride(-2) == 1 < x.stride(-1)
