"""Bifurcation points as regular roots of extended systems, by Newton's method with exact derivatives.

With A = J − μ, bordered by fixed vectors b and c, the number g in [[A, b], [cᴴ, 0]] (v, g) = (0, 1) vanishes exactly
where A is singular. A fold (μ = 1; of a flow 0) and a flip (μ = −1) are roots of (G, g) in (h, p); a Neimark–Sacker
point (μ = e^{iθ}) and a Hopf point (μ = iω) of (G, Re g, Im g) in (h, p, θ). Where branches meet, G_z has not full rank
and (G, g) is a singular system: its unfolding (G + β b, g, wᵀ G_p) in (h, p, β), with w the left null vector, is not.
That system has roots with β ≠ 0 too, where two branches pass each other: a root is a branch point only where β = 0.
All of it is in the units of the curve, so that no tolerance depends on those of the state or the parameter.

References
----------
Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000), chapters 3 and 4; Griewank and Reddien,
SIAM J. Numer. Anal. 21 (1984); Allgower and Schwetlick, "A general view of minimally extended systems for simple
bifurcation points", ZAMM 77 (1997).
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector
from dynlab.numerics.eigenvalues import approximate_eigenvalues, eigenvalues

FOLD, BRANCH_POINT, FLIP, PAIR = "fold", "branch point", "flip", "pair"

MAX_NEWTON = 15
SETTLED = 1e-14  # times max(1, ‖unknowns‖)
ROUNDED = 1e-7  # times that: steps below it that shrink by less than half are rounding
REGULAR = 1e12  # the condition, with rows of one size, up to which the derivative of a system is regular
TOLERANCE = 1e-4  # of the range of p: a point whose error is larger is not located
RANK = 1e-8  # times ‖J − μ‖: a second singular value up to that is as good as 0
ROUNDINGS = 4  # times m n ε Σ_j |a_ij x_j|: what rounding leaves of equation i
AT_BORDER = 1e-12  # times the largest |λ|: an eigenvalue this near to the border of stability is on it


class Refined(NamedTuple):
    """A bifurcation point.

    Attributes
    ----------
    z : ndarray, shape (n + 1,)
    null, left : ndarray, shape (n,)
        Right and left null vectors of J − μ, of length 1, complex for a pair.
    eigenvalue : complex
        μ.
    residual : float
        The norm of all equations, in the units of the curve.
    iterations : int
    error : float
        Σ_j |(E'⁻¹)_{p j}| (|E_j| + its rounding), the error of p to first order.
    degenerate : bool
        Whether other eigenvalues are on the border of stability too, or a pair does not turn.
    splits : bool
        Whether β is certainly not 0: the branches pass each other and do not meet.
    """

    z: Vector
    null: NDArray[np.complex128]
    left: NDArray[np.complex128]
    eigenvalue: complex
    residual: float
    iterations: int
    error: float
    degenerate: bool
    splits: bool


def refine(curve: SolutionCurve, kind: str, guess: Vector) -> Refined | None:
    """Return the bifurcation point of that kind near `guess`, or None where Newton's method reaches no regular root.

    Parameters
    ----------
    curve : SolutionCurve
    kind : {"fold", "branch point", "flip", "pair"}
    guess : ndarray, shape (n + 1,)
    """
    s, n, is_map = curve.scale, len(curve.scale), curve.is_map
    matrix = _scaled(curve, guess)
    if not np.isfinite(matrix).all():
        return None
    mu = _first_guess(approximate_eigenvalues(matrix), kind, is_map)
    if mu is None:
        return None
    left, _, right = np.linalg.svd(matrix - mu * np.eye(n))
    system = _System(curve, kind, left[:, -1], right[-1].conj())
    extra = {BRANCH_POINT: [0.0], PAIR: [np.angle(mu) if is_map else mu.imag]}.get(kind, [])
    solved = _newton(system, np.append(guess, extra))
    if solved is None:
        return None
    unknowns, value, slope, iterations = solved
    z, last = unknowns[: n + 1], float(unknowns[-1])  # an angle, or β
    at = _critical(kind, last, is_map)
    final = _scaled(curve, z)
    u, sigma, vh = np.linalg.svd(final - at * np.eye(n))
    rounding = _rounding(curve, z, final, at, u[:, -1], vh[-1], len(value))
    errors = np.abs(np.linalg.inv(slope)) @ (np.abs(value) + rounding)
    if not errors[n] <= TOLERANCE:
        return None
    border = _on_border(curve, z, errors[:n], final)
    is_pair = kind == PAIR
    turns = abs(np.sin(last) if is_map else last) > errors[-1]
    null, conjugate = s * vh[-1].conj(), u[:, -1] / s
    return Refined(
        z=z,
        null=null / np.linalg.norm(null),
        left=conjugate / np.linalg.norm(conjugate),
        eigenvalue=at,
        residual=float(np.linalg.norm(value)),
        iterations=iterations,
        error=float(errors[n]) * curve.width,
        degenerate=(n > 1 and sigma[-2] <= RANK * sigma[0]) or border > 1 + is_pair or (is_pair and not turns),
        splits=kind == BRANCH_POINT and abs(last) > errors[-1],
    )


class _System:
    """The equations of one kind with their derivative, in (z, β or an angle)."""

    def __init__(self, curve: SolutionCurve, kind: str, b: NDArray[np.generic], c: NDArray[np.generic]) -> None:
        self.curve, self.kind, self.scale = curve, kind, torch.from_numpy(curve.scale)
        self.b, self.c = torch.from_numpy(b.copy()), torch.from_numpy(c.copy())

    def __call__(self, unknowns: Vector) -> tuple[Vector, Vector]:
        n, s = len(self.scale), self.curve.scale
        z = unknowns[: n + 1]
        value, slope = self.curve.residual(z) / s, self.curve.derivative(z) / s[:, None]
        if self.kind == BRANCH_POINT:
            value, slope = value + unknowns[-1] * self.b.numpy(), np.column_stack([slope, self.b.numpy()])
        elif self.kind == PAIR:
            slope = np.column_stack([slope, np.zeros(n)])
        at = torch.from_numpy(unknowns).requires_grad_()
        with torch.enable_grad():
            conditions = [one + 0 * at[0] for one in self._conditions(at)]  # some may not depend on the unknowns
        rows = [torch.autograd.grad(one, at, retain_graph=True, materialize_grads=True)[0] for one in conditions]
        below = np.array([row.numpy() for row in rows])
        return np.append(value, [float(one.detach()) for one in conditions]), np.vstack([slope, below])

    def _conditions(self, unknowns: Tensor) -> list[Tensor]:
        """Return the numbers that vanish beside G: g, its real and imaginary parts, or g and wᵀ G_p."""
        n, curve = len(self.scale), self.curve
        state, p = unknowns[:n] * self.scale, curve.start + curve.width * unknowns[n]
        if self.kind == BRANCH_POINT:
            jacobian, by_p = curve.linear(state, p)
        else:
            jacobian, by_p = curve.matrix(state, p), p
        at: Tensor | float = -1.0 if self.kind == FLIP else curve.critical
        if self.kind == PAIR:
            angle, zero = unknowns[-1], torch.zeros_like(unknowns[-1])
            turned = torch.complex(torch.cos(angle), torch.sin(angle)), torch.complex(zero, angle)
            at = turned[0] if curve.is_map else turned[1]
        matrix = jacobian * (self.scale / self.scale[:, None]) - at * torch.eye(n, dtype=torch.float64)
        corner = torch.zeros(1, dtype=self.b.dtype)
        upper = torch.cat([matrix.to(self.b.dtype), self.b[:, None]], dim=1)
        bordered = torch.cat([upper, torch.cat([self.c.conj(), corner])[None]])
        end = torch.cat([torch.zeros(n, dtype=self.b.dtype), corner + 1])
        g = torch.linalg.solve(bordered, end)[-1]
        if self.kind == PAIR:
            return [g.real, g.imag]
        if self.kind == BRANCH_POINT:
            return [g, torch.linalg.solve(bordered.mT, end)[:n] @ (by_p * curve.width / self.scale)]
        return [g]


def _newton(system: _System, unknowns: Vector) -> tuple[Vector, Vector, Vector, int] | None:
    """Return a root, the equations and their derivative there, and the iterations; None where none is reached."""
    before = np.inf
    try:
        for iteration in range(1, MAX_NEWTON + 1):
            value, slope = system(unknowns)
            if not (np.isfinite(value).all() and np.isfinite(slope).all()):
                return None
            step = np.linalg.solve(slope, value)
            unknowns, moved = unknowns - step, float(np.linalg.norm(step))
            size = max(1.0, float(np.linalg.norm(unknowns)))
            if moved <= SETTLED * size or 0.5 * before < moved <= ROUNDED * size:
                value, slope = system(unknowns)
                sizes = np.linalg.norm(slope, axis=1, keepdims=True)
                rows = slope / np.where(sizes > 0, sizes, 1.0)
                return (unknowns, value, slope, iteration) if np.linalg.cond(rows) < REGULAR else None
            before = moved
    except (np.linalg.LinAlgError, torch.linalg.LinAlgError):  # singular: nothing simple is near
        return None
    return None


def _scaled(curve: SolutionCurve, z: Vector) -> Vector:
    """Return the Jacobian in the units of the curve; its eigenvalues are the same."""
    return curve.jacobian(z) * (curve.scale / curve.scale[:, None])


def _rounding(
    curve: SolutionCurve,
    z: Vector,
    matrix: Vector,
    mu: complex,
    left: NDArray[np.generic],
    right: NDArray[np.generic],
    count: int,
) -> Vector:
    """Return the rounding of each equation, shape (count,): of G_i that of J h, of g that of wᴴ J v."""
    n, by_p = len(matrix), np.abs(curve.derivative(z)[:, -1]) / curve.scale
    unit = ROUNDINGS * curve.period * n * np.finfo(np.float64).eps
    of_g = np.abs(left) @ (np.abs(matrix) + abs(mu) * np.eye(n)) @ np.abs(right)
    of_residual = np.abs(matrix) @ np.abs(z[:-1]) + np.abs(z[:-1]) + by_p * abs(curve.parameter(z) / curve.width)
    return unit * np.append(of_residual, np.full(count - n, of_g + np.abs(left) @ by_p * (count > n + 1)))


def _on_border(curve: SolutionCurve, z: Vector, errors: Vector, matrix: Vector) -> int:
    """Return how many eigenvalues are not told from the border of stability at z, whose state is known to `errors`."""
    beside = _scaled(curve, np.append(z[:-1] + errors, z[-1]))
    wrong = np.abs(beside - matrix) + len(matrix) * curve.period * np.finfo(np.float64).eps * np.abs(matrix)
    if not np.isfinite(wrong).all():
        return 0
    values, bounds, _ = eigenvalues(matrix, wrong)
    excess = beyond(values, curve.is_map)
    return int((np.abs(excess) <= np.maximum(bounds, AT_BORDER * np.abs(values).max())).sum())


def beyond(values: NDArray[np.complex128], is_map: bool) -> Vector:
    """Return how far eigenvalues lie beyond the border of stability, negative inside."""
    return np.abs(values) - 1 if is_map else values.real


def _first_guess(values: NDArray[np.complex128], kind: str, is_map: bool) -> complex | None:
    """Return the critical eigenvalue to start with: of a pair the one nearest to the border, put on it."""
    if kind != PAIR:
        return _critical(kind, 0.0, is_map)
    upper = values[values.imag > 0]
    if len(upper) == 0:
        return None
    nearest = upper[np.abs(beyond(upper, is_map)).argmin()]
    return complex(nearest / abs(nearest)) if is_map else 1j * float(nearest.imag)


def _critical(kind: str, angle: float, is_map: bool) -> complex:
    if kind == PAIR:
        return complex(np.exp(1j * angle)) if is_map else 1j * angle
    return (-1.0 if kind == FLIP else 1.0) if is_map else 0.0
