"""The curve of solutions that a branch is: F^m(h, p) = h of a map, f(h, p) = 0 of a flow, with its derivatives."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.parameters import Varied
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.trajectories.cycles import carried
from dynlab.trajectories.following import iterates

Vector = NDArray[np.float64]
Vectors = NDArray[np.complex128]

SMALLEST = 1e-6  # times the largest scale: a coordinate that is smaller all over is measured in that
JUMP = 1e-6  # times ‖J‖: where it changes by more within the error of the state, it has a kink there


@dataclass(frozen=True)
class SolutionCurve:
    """G(z) = 0 in z = (h/s, y) with p = p₀ + w y: G is (F^m(h, p) − h)/s of a map, f(h, p)/s of a flow.

    Attributes
    ----------
    varied : Varied
        System with p as its one parameter.
    scale : ndarray, shape (n,)
        s, the size of the branches in each coordinate.
    period : int
        m; 1 for a flow.
    """

    varied: Varied
    scale: Vector
    period: int = 1

    @property
    def is_map(self) -> bool:
        """Tell whether branches are those of a map."""
        return not self.varied.held.is_flow

    @property
    def critical(self) -> float:
        """Return the eigenvalue with which G has a singular Jacobian: 1 of a map, 0 of a flow."""
        return float(self.is_map)

    @property
    def width(self) -> float:
        """Return the width of the parameter's range."""
        return float(self.varied.width)

    def of_period(self, period: int) -> "SolutionCurve":
        """Return the curve of orbits of that period."""
        return replace(self, period=period)

    def z(self, state: Vector, p: float) -> Vector:
        """Return the coordinates of a state and parameter."""
        return np.append(np.asarray(state) / self.scale, (p - float(self.varied.lowest)) / self.width)

    def state(self, z: Vector) -> Vector:
        """Return the state h."""
        return z[:-1] * self.scale

    def parameter(self, z: Vector) -> float:
        """Return the parameter p."""
        return float(self.varied.lowest) + float(z[-1]) * self.width

    def orbit(self, z: Vector) -> Vector:
        """Return h, F(h), …, shape (period, n)."""
        states = iterates(self.varied.held.moved, torch.from_numpy(z * self._units), self.period - 1)
        return torch.stack(states).numpy()[:, :-1]

    def residual(self, z: Vector) -> Vector:
        """Return G."""
        return self.value(torch.from_numpy(z)).numpy()

    def derivative(self, z: Vector) -> Vector:
        """Return ∂G/∂z, shape (n, n + 1)."""
        n = len(self.scale)
        return np.asarray(self._matrices(z[None])[0, :n] - self.critical * np.eye(n, n + 1))

    def jacobian(self, z: Vector) -> Vector:
        """Return the Jacobian whose eigenvalues decide stability, in units of s, shape (n, n)."""
        return np.asarray(self._matrices(z[None])[0, :-1, :-1])

    def _matrices(self, places: Vector) -> Vector:
        """Return the Jacobians of F^m, or f, of (h, y) at `places` (k, n + 1), in the units of z."""
        product = carried(self.varied.held, self.period, torch.from_numpy(places * self._units))[1]
        return product.numpy() * (self._units / self._units[:, None])

    @property
    def _units(self) -> Vector:
        return np.append(self.scale, 1.0)

    def spectrum(self, z: Vector, offsets: Vector, error: float = 0.0) -> tuple[Vectors, Vector]:
        """Return the eigenvalues of the Jacobian and bounds on their errors, inf at a kink.

        The state may be wrong by each of `offsets` (k, n), in units of s, and the Jacobian by `error` besides.
        """
        steps = np.column_stack([offsets, np.zeros(len(offsets))])
        matrices = self._matrices(z + np.concatenate([0 * steps[:1], steps, -steps]))[None, :, :-1, :-1]
        values, errors = spectra(matrices, self.period, error)
        return values[0], errors[0]

    def second(self, z: Vector, left: NDArray[np.generic], right: NDArray[np.generic]) -> Vectors:
        """Return the gradient of `left`ᴴ (∂G/∂z) `right`, (n + 1,), with `left` (n,) and `right` (n + 1,) held."""

        def gradient(left: Vector, right: Vector) -> Vector:
            def paired(place: Tensor) -> Tensor:
                return torch.from_numpy(left) @ derivative_along(self.value, torch.from_numpy(right), place)

            return torch.func.grad(paired)(torch.from_numpy(z)).numpy()

        return complex_parts(gradient, len(z), np.conj(left), right)

    def multilinear(self, z: Vector, *vectors: Vectors) -> Vectors:
        """Return the derivative of G by z as often as there are `vectors` (n + 1,), applied to them, shape (n,)."""

        def along(*parts: Vector) -> Vector:
            function: Callable[[Tensor], Tensor] = self.value
            for part in parts:
                function = partial(derivative_along, function, torch.from_numpy(part))
            return function(torch.from_numpy(z)).numpy()

        return complex_parts(along, len(self.scale), *vectors)

    def value(self, z: Tensor) -> Tensor:
        """Return G as a tensor that can be differentiated."""
        units = torch.from_numpy(self._units)
        moved = iterates(self.varied.held.moved, z * units, self.period)[-1]
        return (moved / units - self.critical * z)[:-1]


def scale_of(states: list[Vector], n: int) -> Vector:
    """Return the scale of each coordinate, shape (n,): √n times its largest modulus over these states.

    So the part of z that is the state has at most length 1.
    """
    sizes = np.abs(np.array(states).reshape(-1, n)).max(axis=0, initial=0.0)
    largest = float(sizes.max(initial=0.0))
    return np.sqrt(n) * np.where(sizes > SMALLEST * largest, sizes, largest or 1.0)


def spectra(matrices: Vector, products: int = 1, error: float = 0.0) -> tuple[Vectors, Vector]:
    """Return the eigenvalues of the first of each group of matrices (k, m, n, n), and bounds on their errors.

    The others are the Jacobians at states that are within the error of that one. Where one differs by a jump the bound
    is inf. Each has been rounded in so many `products`, and may be wrong by `error` besides.
    """
    first = matrices[:, 0]
    size = np.linalg.norm(first, axis=(1, 2))
    change = np.linalg.norm(matrices[:, 1:] - matrices[:, :1], axis=(2, 3)).max(axis=1)
    rounding = products * first.shape[-1] * np.finfo(np.float64).eps * size
    values, errors, _ = eigenvalues(first, error + change + rounding)
    return values, np.where((change > JUMP * size)[:, None], np.inf, errors)


def beyond(values: Vectors, is_map: bool) -> Vector:
    """Return how far eigenvalues lie beyond the border of stability, negative inside."""
    return np.abs(values) - 1 if is_map else values.real


def complex_parts(function: Callable[..., Vector], size: int, *vectors: NDArray[np.generic]) -> Vectors:
    """Return a function with `size` values that is linear in each of several real vectors, of complex ones."""
    found: Vectors = np.zeros(size, dtype=complex)
    for turned in itertools.product((False, True), repeat=len(vectors)):
        parts = [np.array(one.imag if is_i else one.real) for one, is_i in zip(vectors, turned, strict=True)]
        if all(part.any() for part in parts):
            found += 1j ** sum(turned) * function(*parts)
    return found


def derivative_along(function: Callable[[Tensor], Tensor], along: Tensor, at: Tensor) -> Tensor:
    """Return the derivative of a function in one direction, as the transpose of the linear u ↦ uᵀ ∂function."""
    value, pulled = torch.func.vjp(function, at)[:2]
    return torch.func.vjp(lambda u: pulled(u)[0], torch.zeros_like(value))[1](along)[0]
