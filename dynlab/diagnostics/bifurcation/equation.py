"""The equation that a branch solves: F^m(h, p) = h of a map, f(h, p) = 0 of a flow, with its derivatives."""

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
class Equation:
    """G(h, p) = 0, where p is the one parameter of `varied`.

    Attributes
    ----------
    varied : Varied
    is_map : bool
    period : int
        m; 1 for a flow.
    """

    varied: Varied
    is_map: bool
    period: int = 1

    @property
    def critical(self) -> float:
        """The eigenvalue with which G has a singular Jacobian: 1 of a map, 0 of a flow."""
        return 1.0 if self.is_map else 0.0

    def orbit(self, state: Tensor, p: Tensor) -> Tensor:
        """Return h, F(h), … F^{m−1}(h), shape (m, ..., n), from states (..., n)."""
        states = [state]
        for _ in range(self.period - 1):
            states.append(self._moved(states[-1], p))
        return torch.stack(states)

    def residual(self, state: Tensor, p: Tensor) -> Tensor:
        """Return G, shape (n,)."""
        last = self._moved(self.orbit(state, p)[-1], p)
        return last - state if self.is_map else last

    def linear(self, state: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        """Return the Jacobian that decides stability, ∂F^m/∂h or ∂f/∂h, shape (n, n), and ∂G/∂p, (n,)."""
        states = self.orbit(state, p)
        matrices = self.varied.at(p.reshape(1), "jacobian", states)
        by_p = derivative_along(lambda q: self._moved(states, q), p, torch.ones_like(p), states.requires_grad)
        matrix, along = matrices[0], by_p[0]
        for k in range(1, self.period):
            matrix, along = matrices[k] @ matrix, matrices[k] @ along + by_p[k]
        return matrix, along

    def jacobian(self, state: Tensor, p: Tensor) -> Tensor:
        """Return the first of the two alone, shape (..., n, n), at states (..., n)."""
        matrices = self.varied.at(p.reshape(1), "jacobian", self.orbit(state, p))
        product = matrices[0]
        for matrix in matrices[1:]:
            product = matrix @ product
        return product

    def _moved(self, states: Tensor, p: Tensor) -> Tensor:
        return self.varied.at(p.reshape(1), self.varied.method, states)


@dataclass(frozen=True)
class SolutionCurve:
    """G = 0 in z = (h/s, (p − p₀)/w): s is the size of the branches in each coordinate, p₀ and w are of p's range."""

    equation: Equation
    scale: Vector
    start: float
    width: float

    def of_period(self, period: int) -> "SolutionCurve":
        """Return the curve of orbits of that period."""
        return replace(self, equation=replace(self.equation, period=period))

    def z(self, state: Vector, p: float) -> Vector:
        """Return where that state and parameter lie."""
        return np.append(np.asarray(state) / self.scale, (p - self.start) / self.width)

    def state(self, z: Vector) -> Vector:
        """Return the state h."""
        return z[:-1] * self.scale

    def parameter(self, z: Vector) -> float:
        """Return the parameter p."""
        return float(self.start + z[-1] * self.width)

    def residual(self, z: Vector) -> Vector:
        """Return G."""
        return self.equation.residual(*self.tensors(z)).numpy()

    def orbit(self, z: Vector) -> Vector:
        """Return h, F(h), …, shape (period, n)."""
        return self.equation.orbit(*self.tensors(z)).numpy()

    def derivative(self, z: Vector) -> Vector:
        """Return ∂G/∂z, shape (n, n + 1)."""
        matrix, by_p = (part.numpy() for part in self.equation.linear(*self.tensors(z)))
        by_state = matrix - np.eye(len(matrix)) if self.equation.is_map else matrix
        return np.column_stack([by_state * self.scale, by_p * self.width])

    def jacobian(self, z: Vector) -> Vector:
        """Return the Jacobian whose eigenvalues decide stability."""
        return self.equation.jacobian(*self.tensors(z)).numpy()

    def tensors(self, z: Vector) -> tuple[Tensor, Tensor]:
        """Return the state and the parameter as tensors."""
        return torch.from_numpy(self.state(z)), torch.tensor(self.parameter(z), dtype=torch.float64)


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
