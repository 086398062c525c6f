"""Points on a branch: Newton's corrector, tangents, and the eigenvalues with their errors."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation import crossings
from dynlab.diagnostics.bifurcation.equation import Equation
from dynlab.kinks import AT_KINK, at_kink
from dynlab.numerics.eigenvalues import eigenvalues as eigenvalues_of
from dynlab.numerics.kinds import Kind, kind_of_flow, kind_of_map

Vector = NDArray[np.float64]

MAX_NEWTON = 10
RENEWED = (1, 4, 6, 8, 10)  # iterations at which ∂G/∂p is computed anew
FARTHEST = 1e10  # a Newton step beyond has met a singular matrix
SETTLED = 1e-9  # times max(1, ‖z‖): after a Newton step so small the next one would be rounding
AT_ZERO = 1e-100  # a state of 0 is known as well as one of that size: beside a kink there the derivative is another
ROUNDINGS = 100  # times m n ε max(1, ‖z‖) ‖∂G‖: what rounding makes of a residual on the branch


class Point(NamedTuple):
    """One point of a branch.

    Attributes
    ----------
    z : ndarray, shape (n + 1,)
        The state and the parameter, both in units of the curve.
    tangent : ndarray, shape (n + 1,)
        Of length 1.
    residual : float
        ‖G‖₂.
    iterations : int
        Of the corrector.
    eigenvalues, errors : ndarray, shape (n,)
    signs : ndarray of int, shape (n,)
        For each eigenvalue 1 where it certainly grows, −1 where it certainly decays; what its own error does not decide
        it has from the point before (0 where there is none).
    kind : Kind
    orientation : float
        The sign of det [∂G/∂z; tangent]. Along a branch it changes at simple branch points and nowhere else: where it
        differs between two points there is one between them, or they lie on two branches that nearly meet.
    """

    z: Vector
    tangent: Vector
    residual: float
    iterations: int
    eigenvalues: NDArray[np.complex128]
    errors: Vector
    signs: NDArray[np.int64]
    kind: Kind
    orientation: float


@dataclass(frozen=True)
class SolutionCurve:
    """G(h, p) = 0 in z = (h / state_scale, p / parameter_scale), in which lengths along branches are measured."""

    equation: Equation
    state_scale: float
    parameter_scale: float

    @property
    def unit(self) -> Vector:
        """What states are measured in, shape (n,)."""
        held = self.equation.varied.held
        return np.broadcast_to(np.asarray(held.unit), held.system.state_size)

    def z(self, state: Vector, p: float) -> Vector:
        """Where that state and parameter lie."""
        return np.append(np.asarray(state) / self.state_scale, p / self.parameter_scale)

    def state(self, z: Vector) -> Vector:
        """The state h."""
        return z[:-1] * self.state_scale

    def parameter(self, z: Vector) -> float:
        """The parameter p."""
        return float(z[-1] * self.parameter_scale)

    def residual(self, z: Vector) -> Vector:
        """G."""
        return self.equation.residual(*self._tensors(z)).numpy()

    def orbit(self, z: Vector) -> Vector:
        """h, F(h), …, shape (period, n)."""
        return self.equation.orbit(*self._tensors(z)).numpy()

    def linear(self, z: Vector) -> tuple[Vector, Vector]:
        """∂G/∂z, shape (n, n + 1), and the Jacobian whose eigenvalues decide stability."""
        found, by_p = (part.numpy() for part in self.equation.linear(*self._tensors(z)))
        return np.column_stack([self._by_state(found), by_p * self.parameter_scale]), found

    def _by_state(self, matrix: Vector) -> Vector:
        return (matrix - np.eye(len(matrix)) if self.equation.is_map else matrix) * self.state_scale

    def correct(self, guess: Vector, row: Vector) -> tuple[Vector, float, int] | None:
        """Newton's method on G = 0 and row · (z − guess) = 0: z, ‖G‖₂ and the iterations, or None where it fails."""
        z, derivative = guess.copy(), np.empty(0)
        for iteration in range(1, MAX_NEWTON + 1):
            value = self.residual(z)
            if not np.isfinite(value).all():
                return None
            if iteration in RENEWED:
                derivative = self.linear(z)[0]
            else:  # ∂G/∂p is dear, and what it has changed by since is of second order in the correction
                derivative[:, :-1] = self._by_state(self.equation.jacobian(*self._tensors(z)).numpy())
            matrix = np.vstack([derivative, row])
            try:
                step = np.linalg.solve(matrix, np.append(value, row @ (z - guess)))
            except np.linalg.LinAlgError:
                return None
            if not np.abs(step).max() < FARTHEST:
                return None
            z = z - step
            size = np.linalg.norm(step) / max(1.0, float(np.linalg.norm(z)))
            if size <= SETTLED:
                norm = float(np.linalg.norm(self.residual(z)))
                return (z, norm, iteration) if norm <= self._rounding(z, derivative) else None
        return None

    def point(self, z: Vector, residual: float, iterations: int, before: Point | Vector) -> Point | None:
        """The point at `z`, its tangent and signs continuing those of `before` (or the tangent alone).

        None where the eigenvalues are not finite.
        """
        old = before.tangent if isinstance(before, Point) else before
        derivative, matrix = self.linear(z)
        if not np.isfinite(matrix).all():
            return None
        bordered = np.vstack([derivative, old])
        _, sigma, right = np.linalg.svd(bordered)
        try:
            tangent = np.linalg.solve(bordered, np.append(np.zeros(len(matrix)), 1.0))
        except np.linalg.LinAlgError:
            return None
        tangent /= np.linalg.norm(tangent)
        eps = np.finfo(np.float64).eps
        known = max(residual, eps * max(AT_ZERO, float(np.linalg.norm(self.state(z)))))
        moved = z + right[-1] * min(known / max(sigma[-1], eps), 1e-3)
        beside = [self.equation.jacobian(*self._tensors(end)).numpy() for end in (moved, 2 * z - moved)]
        error = max(_norm(each - matrix) for each in beside) + self.equation.period * len(matrix) * eps * _norm(matrix)
        eigenvalues, errors, _ = eigenvalues_of(matrix, error)
        kind = (kind_of_map if self.equation.is_map else kind_of_flow)(eigenvalues, errors)
        signs = crossings.decided(eigenvalues, errors, self.equation.is_map)
        if self._kinked_at_zero(z):
            errors, kind, signs = np.full_like(errors, np.inf), AT_KINK._replace(undecided=len(errors)), 0 * signs
        elif isinstance(before, Point):
            signs = crossings.inherited(before.eigenvalues, before.signs, eigenvalues, signs)
        orientation = float(np.linalg.slogdet(np.vstack([derivative, tangent]))[0])
        return Point(z, tangent, residual, iterations, eigenvalues, errors, signs, kind, orientation)

    def _kinked_at_zero(self, z: Vector) -> bool:
        """Whether the state is 0 and on a kink, where a ReLU network without biases is on every side's border."""
        state = self.state(z)
        return not state.any() and at_kink(self.equation.varied.fixed(self.parameter(z)), state)

    def _rounding(self, z: Vector, derivative: Vector) -> float:
        eps, period = np.finfo(np.float64).eps, self.equation.period
        size = max(1.0, float(np.linalg.norm(z))) * max(1.0, _norm(derivative))
        return ROUNDINGS * period * len(z) * eps * size

    def _tensors(self, z: Vector) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(self.state(z)), torch.tensor(self.parameter(z), dtype=torch.float64)


def _norm(matrix: NDArray[np.float64]) -> float:
    """The Frobenius norm, where squares of entries may overflow."""
    largest = max(1.0, float(np.abs(matrix).max(initial=0.0)))
    return float(np.linalg.norm(matrix / largest)) * largest
