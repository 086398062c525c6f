"""Structured Jacobians: sums and products of diagonal, shared and dense factors, and blocks of them.

A cell's Jacobian is rarely a full matrix: ``diag(d) W`` has one matrix `W` for every state of a batch and one
diagonal for each. An `Operator` keeps that structure, so that a product along a trajectory is GEMMs with the shared
matrix, and gives the dense matrices where they are asked for.

Leading dimensions are the batch: `Diagonal` and `Dense` carry all of them, `Identity`, `Leading` and `Shared` none.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


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
    def __getitem__(self, index: Any) -> Operator:
        """The operators at `index` of the leading dimensions."""

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

    def __getitem__(self, index: Any) -> Operator:
        return self


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

    def __getitem__(self, index: Any) -> Operator:
        return Diagonal(self.diagonal[index])


class Leading(Operator):
    """(I 0): the first `rows` of `columns` coordinates."""

    def __init__(self, rows: int, columns: int, like: Tensor) -> None:
        self.rows, self.columns = rows, columns
        self._like = like.new_empty(0)

    def apply(self, x: Tensor) -> Tensor:
        return x[..., : self.rows, :]

    def apply_transpose(self, x: Tensor) -> Tensor:
        return torch.nn.functional.pad(x, (0, 0, 0, self.columns - self.rows))

    def dense(self) -> Tensor:
        return torch.eye(self.rows, self.columns, dtype=self._like.dtype, device=self._like.device)

    def __getitem__(self, index: Any) -> Operator:
        return self


class Shared(Operator):
    """One matrix (rows, columns) for the whole batch."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.rows, self.columns = matrix.shape

    def apply(self, x: Tensor) -> Tensor:
        return self.matrix @ x

    def apply_transpose(self, x: Tensor) -> Tensor:
        return self.matrix.mT @ x

    def dense(self) -> Tensor:
        return self.matrix

    def __getitem__(self, index: Any) -> Operator:
        return self


class Dense(Operator):
    """A full matrix for each element of the batch, shape (..., rows, columns)."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.rows, self.columns = matrix.shape[-2:]

    def apply(self, x: Tensor) -> Tensor:
        return self.matrix @ x

    def apply_transpose(self, x: Tensor) -> Tensor:
        return self.matrix.mT @ x

    def dense(self) -> Tensor:
        return self.matrix

    def __getitem__(self, index: Any) -> Operator:
        return Dense(self.matrix[index])


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

    def __getitem__(self, index: Any) -> Operator:
        return Scaled(self.factor, self.operator[index])


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

    def __getitem__(self, index: Any) -> Operator:
        return Sum(self.first[index], self.second[index])


class RowScaled(Operator):
    """diag(d₁) W₁ + diag(d₂) W₂ + …, with d_i of shape (..., n) and one matrix W_i each for the whole batch.

    The same as a sum of products, whose dense form is made in one pass for each term, without copies between.
    """

    def __init__(self, *terms: tuple[Tensor, Tensor]) -> None:
        self.terms = terms
        self.rows, self.columns = terms[0][1].shape

    def apply(self, x: Tensor) -> Tensor:
        return _total([scale.unsqueeze(-1) * (matrix @ x) for scale, matrix in self.terms])

    def apply_transpose(self, x: Tensor) -> Tensor:
        return _total([matrix.mT @ (scale.unsqueeze(-1) * x) for scale, matrix in self.terms])

    def dense(self) -> Tensor:
        (scale, matrix), *others = self.terms
        total = scale.unsqueeze(-1) * matrix
        for scale, matrix in others:
            total.addcmul_(scale.unsqueeze(-1), matrix)
        return total

    def __getitem__(self, index: Any) -> Operator:
        return RowScaled(*((scale[index], matrix) for scale, matrix in self.terms))


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

    def __getitem__(self, index: Any) -> Operator:
        return Product(*(factor[index] for factor in self.factors))


class Blocks(Operator):
    """A matrix of operators, ``None`` for a block of zeros; every row and column has at least one operator."""

    def __init__(self, blocks: Sequence[Sequence[Operator | None]]) -> None:
        self.blocks = blocks
        self.heights = [next(block.rows for block in row if block) for row in blocks]
        self.widths = [next(block.columns for block in column if block) for column in zip(*blocks, strict=True)]
        self.rows, self.columns = sum(self.heights), sum(self.widths)

    @property
    def diagonal(self) -> list[Operator]:
        """The blocks on the diagonal, none of them zeros."""
        return [block for number, row in enumerate(self.blocks) if (block := row[number])]

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

    def __getitem__(self, index: Any) -> Operator:
        return Blocks([[block[index] if block else None for block in row] for row in self.blocks])


def _total(terms: Sequence[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _concatenate(parts: Sequence[Tensor], dim: int) -> Tensor:
    """Concatenate along one of the last two dimensions after broadcasting the leading ones."""
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    return torch.cat([part.expand(*batch, *part.shape[-2:]) for part in parts], dim=dim)
