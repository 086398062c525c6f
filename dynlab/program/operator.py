"""Linear maps of a batch that need not be matrices, and products with one matrix that a batch shares."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Function = Callable[[Any], Any]
MATRIX = 2  # dimensions
FEW = 4  # vectors are few where so many times their number is at most that of the columns they are multiplied by


class Operator(abc.ABC):
    """A batch of linear maps from `columns` to `rows` dimensions; ``a[index]`` selects along the batch."""

    rows: int
    columns: int

    @abc.abstractmethod
    def apply(self, x: Tensor) -> Tensor:
        """Return J x, for `x` of shape (..., columns, k); the result has shape (..., rows, k)."""

    @abc.abstractmethod
    def apply_transpose(self, x: Tensor) -> Tensor:
        """Return Jᵀ x, for `x` of shape (..., rows, k); the result has shape (..., columns, k)."""

    @abc.abstractmethod
    def dense(self) -> Tensor:
        """Return the matrices, shape (..., rows, columns); without leading dimensions where all states share them."""

    @abc.abstractmethod
    def mapped(self, batched: Function, shared: Function) -> Operator:
        """Return the same operator of other numbers: those that carry the batch, and those that all of it shares."""

    def log_abs_det(self) -> Tensor:
        """Return the logarithm of abs(det J), with the leading dimensions of `dense`; −inf of a singular one."""
        return torch.linalg.slogdet(self.dense()).logabsdet

    def absolute(self) -> Operator:
        """Return the same sums and products of the moduli: entry by entry no smaller than abs(J)."""
        return self.mapped(abs, abs)

    def __getitem__(self, index: Any) -> Operator:
        return self.mapped(lambda numbers: numbers[index], lambda numbers: numbers)


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

    def mapped(self, batched: Function, shared: Function) -> Operator:
        return Dense(batched(self.matrix))


def shared_product(matrix: Tensor, x: Tensor) -> Tensor:
    """One matrix (rows, columns) times a few vectors (..., columns, k) of each element of a batch.

    They are columns of one product: torch would read the matrix once for each element.
    """
    if x.shape[:-2].numel() == 1 or FEW * x.shape[-1] > matrix.shape[-1]:
        return matrix @ x
    return folded_product(matrix, x)


def folded_product(matrix: Tensor, x: Tensor) -> Tensor:
    """One matrix times a batch of matrices (..., columns, k), as one product; the result lies column by column."""
    if x.ndim == MATRIX:
        return matrix @ x
    rows = x.mT.reshape(-1, matrix.shape[-1]) @ matrix.mT
    return rows.reshape(*x.shape[:-2], x.shape[-1], matrix.shape[0]).mT
