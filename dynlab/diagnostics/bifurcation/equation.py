"""The curve of solutions that a branch is: F^m(h, p) = h of a map, f(h, p) = 0 of a flow, with its derivatives."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.parameters import Varied

Vector = NDArray[np.float64]

SMALLEST = 1e-6  # times the largest scale: a coordinate that is smaller all over is measured in that


@dataclass(frozen=True)
class SolutionCurve:
    """G(h, p) = 0 in z = (h/s, (p − p₀)/w), where p is the one parameter of `varied`.

    Attributes
    ----------
    varied : Varied
    scale : ndarray, shape (n,)
        s, the size of the branches in each coordinate.
    start, width : float
        p₀ and w, of the parameter's range.
    period : int
        m; 1 for a flow.
    """

    varied: Varied
    scale: Vector
    start: float
    width: float
    period: int = 1

    @property
    def is_map(self) -> bool:
        """Whether branches are those of a map."""
        return not self.varied.held.is_flow

    @property
    def critical(self) -> float:
        """The eigenvalue with which G has a singular Jacobian: 1 of a map, 0 of a flow."""
        return float(self.is_map)

    def of_period(self, period: int) -> "SolutionCurve":
        """Return the curve of orbits of that period."""
        return replace(self, period=period)

    def z(self, state: Vector, p: float) -> Vector:
        """Return where that state and parameter lie."""
        return np.append(np.asarray(state) / self.scale, (p - self.start) / self.width)

    def state(self, z: Vector) -> Vector:
        """Return the state h."""
        return z[:-1] * self.scale

    def parameter(self, z: Vector) -> float:
        """Return the parameter p."""
        return float(self.start + z[-1] * self.width)

    def tensors(self, z: Vector) -> tuple[Tensor, Tensor]:
        """Return the state and the parameter as tensors."""
        return torch.from_numpy(self.state(z)), torch.tensor(self.parameter(z), dtype=torch.float64)

    def residual(self, z: Vector) -> Vector:
        """Return G."""
        return self.value(*self.tensors(z)).numpy()

    def orbit(self, z: Vector) -> Vector:
        """Return h, F(h), …, shape (period, n)."""
        return self._orbit(*self.tensors(z)).numpy()

    def derivative(self, z: Vector) -> Vector:
        """Return ∂G/∂z, shape (n, n + 1)."""
        matrix, by_p = (part.numpy() for part in self.linear(*self.tensors(z)))
        return np.column_stack([(matrix - self.critical * np.eye(len(matrix))) * self.scale, by_p * self.width])

    def jacobian(self, z: Vector) -> Vector:
        """Return the Jacobian whose eigenvalues decide stability."""
        return self.matrix(*self.tensors(z)).numpy()

    def value(self, state: Tensor, p: Tensor) -> Tensor:
        """Return G, shape (n,)."""
        return self._moved(self._orbit(state, p)[-1], p) - self.critical * state

    def matrix(self, state: Tensor, p: Tensor) -> Tensor:
        """Return ∂F^m/∂h, or ∂f/∂h, shape (..., n, n), at states (..., n)."""
        product, *others = self.varied.at(p.reshape(1), "jacobian", self._orbit(state, p))
        for matrix in others:
            product = matrix @ product
        return product

    def linear(self, state: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        """Return that Jacobian and ∂G/∂p, (n,)."""
        states = self._orbit(state, p)
        matrices = self.varied.at(p.reshape(1), "jacobian", states)
        by_p = derivative_along(lambda q: self._moved(states, q), p, torch.ones_like(p), states.requires_grad)
        matrix, along = matrices[0], by_p[0]
        for k in range(1, self.period):
            matrix, along = matrices[k] @ matrix, matrices[k] @ along + by_p[k]
        return matrix, along

    def _orbit(self, state: Tensor, p: Tensor) -> Tensor:
        states = [state]
        for _ in range(self.period - 1):
            states.append(self._moved(states[-1], p))
        return torch.stack(states)

    def _moved(self, states: Tensor, p: Tensor) -> Tensor:
        return self.varied.at(p.reshape(1), self.varied.method, states)


def scale_of(states: list[Vector], n: int) -> Vector:
    """Return the scale of each coordinate, shape (n,): √n times its largest modulus over these states.

    So the part of z that is the state has at most length 1.
    """
    sizes = np.abs(np.array(states).reshape(-1, n)).max(axis=0, initial=0.0)
    largest = float(sizes.max(initial=0.0))
    return np.sqrt(n) * np.where(sizes > SMALLEST * largest, sizes, largest or 1.0)


def derivative_along(function: Callable[[Tensor], Tensor], at: Tensor, along: Tensor, recorded: bool = False) -> Tensor:
    """Return the derivative of a function in one direction, as the derivative of the linear u ↦ uᵀ ∂ function · along.

    Where `at` asks for gradients, or it is to be `recorded`, it can be differentiated further.
    """
    recorded = recorded or at.requires_grad
    with torch.enable_grad():
        place = at.clone() if at.requires_grad else at.detach().requires_grad_()
        moved = function(place)
        u = torch.zeros_like(moved, requires_grad=True)
        if not moved.requires_grad:  # it does not depend on `at`
            return torch.zeros_like(moved)
        pulled = torch.autograd.grad(moved, place, u, create_graph=True, materialize_grads=True)[0]
        if not pulled.requires_grad:
            return torch.zeros_like(moved)
        found: Tensor = torch.autograd.grad((pulled * along).sum(), u, create_graph=recorded, materialize_grads=True)[0]
    return found
