"""Bifurcation points as regular roots of extended systems, by Newton's method with exact derivatives.

With A = J − μ, bordered by fixed vectors b and c, the number g in [[A, b], [cᴴ, 0]] (v, g) = (0, 1) vanishes exactly
where A is singular. A fold (μ = 1; of a flow 0) and a flip (μ = −1) are roots of (G, g) in (h, p); a Neimark–Sacker
point (μ = e^{iθ}) and a Hopf point (μ = iω) of (G, Re g, Im g) in (h, p, θ). Where branches meet, G_z has not full rank
and (G, g) is a singular system: its unfolding (G + β b, g, wᵀ G_p) in (h, p, β), with w the left null vector, is not.
That system has roots with β ≠ 0 too, where two branches pass each other: a root is a branch point only where β = 0.

References
----------
Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000), chapters 3 and 4; Griewank and Reddien,
SIAM J. Numer. Anal. 21 (1984); Allgower and Schwetlick, "A general view of minimally extended systems for simple
bifurcation points", ZAMM 77 (1997).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation import crossings
from dynlab.diagnostics.bifurcation.curve import SolutionCurve
from dynlab.numerics.eigenvalues import approximate_eigenvalues, eigenvalues

Vector = NDArray[np.float64]

FOLD, BRANCH_POINT, FLIP, PAIR = "fold", "branch point", "flip", "pair"
MAX_NEWTON = 15
TOLERANCE = 1e-8  # of the parameter or its range: its error must be below for the point to count as converged
SETTLED = 1e-14  # times max(1, ‖unknowns‖)
ROUNDED = 1e-7  # times that: steps below it that shrink by less than half are rounding
SLOW, SLOW_STEPS = 0.25, 4  # so many steps in a row that shrink by less lead to no regular root
RANK = 1e-6  # times max(1, ‖J‖): a second singular value of J − μ up to that is as good as 0
ROUNDINGS = 4  # times m n ε ‖·‖: what rounding leaves of each equation, for the bound on the parameter's error
AT_BORDER = 1e-12  # of an eigenvalue that touches the border of stability: crossings 1e-6 apart are not looked for


class Refined(NamedTuple):
    """A bifurcation point.

    Attributes
    ----------
    z : ndarray, shape (n + 1,)
    null, left : ndarray, shape (n,)
        Right and left null vectors of J − μ, complex for a pair.
    eigenvalue : complex
        μ.
    residual : float
        The norm of all equations.
    iterations : int
    parameter_error : float
        Σ_j |(E'⁻¹)_{p j}| (|E_j| + its rounding): a bound on the error of p to first order.
    converged : bool
    border : ndarray of complex
        All eigenvalues that are not told from the border of stability.
    degenerate : bool
        Whether these are more than are solved for, or J − μ has a rank deficiency of 2: then what is solved has a
        singular derivative.
    beside : float
        How far off the border those eigenvalues may be.
    turns : bool
        Of a pair: whether its angle (of a flow: its frequency) is told from 0, and from π, by the like bound; where it
        is not, two real eigenvalues cross at once.
    unfolding, unfolding_error : float
        Of a branch point: β, and a bound on its error; 0 of others.
    """

    z: Vector
    null: NDArray[np.complex128]
    left: NDArray[np.complex128]
    eigenvalue: complex
    residual: float
    iterations: int
    parameter_error: float
    converged: bool
    border: NDArray[np.complex128]
    degenerate: bool
    beside: float
    turns: bool
    unfolding: float = 0.0
    unfolding_error: float = 0.0

    @property
    def splits(self) -> bool:
        """Whether β is certainly not 0: the branches pass each other and do not meet."""
        return abs(self.unfolding) > self.unfolding_error


def refine(curve: SolutionCurve, kind: str, guess: Vector) -> Refined | None:
    """The bifurcation point of that kind near `guess`, or None where Newton's method does not reach one.

    Parameters
    ----------
    curve : SolutionCurve
    kind : {"fold", "branch point", "flip", "pair"}
    guess : ndarray, shape (n + 1,)
    """
    matrix = curve.linear(guess)[1]
    n, is_map = len(matrix), curve.equation.is_map
    mu = _nearest(approximate_eigenvalues(matrix), kind, is_map)
    if mu is None or not np.isfinite(matrix).all():
        return None
    left, _, right = np.linalg.svd(matrix - mu * np.eye(n))
    b, c = torch.from_numpy(left[:, -1].copy()), torch.from_numpy(right[-1].conj().copy())
    extra = {BRANCH_POINT: [0.0], PAIR: [np.angle(mu) if is_map else mu.imag]}.get(kind, [])
    unit = curve.parameter_scale
    unknowns = np.concatenate([curve.state(guess), guess[-1:], extra])
    equations = _equations(curve, kind, b, c)

    solved = _newton(equations, unknowns)
    if solved is None:
        return None
    unknowns, value, slope, iterations = solved
    p = float(unknowns[n]) * unit
    eps = np.finfo(np.float64).eps
    size = max(1.0, float(np.linalg.norm(matrix))) * max(1.0, float(np.linalg.norm(unknowns[:n])))
    by_parameter = float(np.linalg.norm(curve.linear(guess)[0][:, -1])) / unit
    rounding = ROUNDINGS * curve.equation.period * n * eps * (size + by_parameter * abs(p))
    errors = np.abs(np.linalg.inv(slope)) @ (np.abs(value) + rounding)
    errors[n] *= unit
    error, last = float(errors[n]), float(unknowns[-1])  # an angle, or β
    at = _critical(kind, last, is_map)
    final = curve.equation.jacobian(torch.from_numpy(unknowns[:n]), torch.tensor(p, dtype=torch.float64)).numpy()
    u, sigma, vh = np.linalg.svd(final - at * np.eye(n))
    second = float(sigma[-2]) if n > 1 else np.inf
    is_singular = second <= RANK * max(1.0, float(sigma[0]))
    border, beside = _on_border(curve, np.append(unknowns[:n], p), errors[: n + 1], final)
    is_known = error <= TOLERANCE * max(unit, abs(p))
    if kind == BRANCH_POINT:
        is_known = is_known and float(errors[-1]) <= TOLERANCE * size
    return Refined(
        z=curve.z(unknowns[:n], p),
        null=vh[-1].conj().astype(complex),
        left=u[:, -1].astype(complex),
        eigenvalue=at,
        residual=float(np.linalg.norm(value)),
        iterations=iterations,
        parameter_error=error,
        converged=is_known,
        border=border,
        degenerate=is_singular or len(border) > 1 + (kind == PAIR),
        beside=second if is_singular else beside,
        turns=kind == PAIR and abs(np.sin(last) if is_map else last) > errors[-1],
        unfolding=last if kind == BRANCH_POINT else 0.0,
        unfolding_error=float(errors[-1]) if kind == BRANCH_POINT else 0.0,
    )


def _on_border(
    curve: SolutionCurve, at: Vector, errors: Vector, matrix: Vector
) -> tuple[NDArray[np.complex128], float]:
    """Eigenvalues at `at` (n + 1,), known to `errors`, that are not told from the border, and how far off they are."""
    beside = curve.equation.jacobian(torch.from_numpy(at[:-1] + errors[:-1]), torch.tensor(at[-1] + errors[-1])).numpy()
    wrong = np.abs(beside - matrix) + len(matrix) * curve.equation.period * np.finfo(np.float64).eps * np.abs(matrix)
    if not np.isfinite(wrong).all():
        return np.empty(0, dtype=complex), 0.0
    values, bounds, _ = eigenvalues(matrix, wrong)
    excess = crossings.beyond(values, curve.equation.is_map)
    there = np.abs(excess) <= np.maximum(bounds, AT_BORDER * max(1.0, float(np.abs(values).max())))
    return np.asarray(values[there]), float(np.maximum(np.abs(excess), bounds)[there].max(initial=0.0))


def _newton(equations: Callable[[Tensor], Tensor], start: Vector) -> tuple[Vector, Vector, Vector, int] | None:
    """A root, the equations there, their last derivative, and the iterations; None where there are none."""
    unknowns, slope, iterations, before, slow = start, np.eye(len(start)), 0, np.inf, 0
    try:
        while iterations < MAX_NEWTON:
            value = equations(torch.from_numpy(unknowns)).numpy()
            slope = torch.autograd.functional.jacobian(equations, torch.from_numpy(unknowns)).numpy()
            if not (np.isfinite(value).all() and np.isfinite(slope).all()):
                return None
            step = np.linalg.solve(slope, value)
            unknowns, iterations = unknowns - step, iterations + 1
            size, moved = max(1.0, float(np.linalg.norm(unknowns))), float(np.linalg.norm(step))
            if moved <= SETTLED * size or 0.5 * before < moved <= ROUNDED * size:
                break
            slow = slow + 1 if moved > SLOW * before else 0
            if slow == SLOW_STEPS:
                break
            before = moved
        value = equations(torch.from_numpy(unknowns)).numpy()
    except (np.linalg.LinAlgError, torch.linalg.LinAlgError):  # singular: nothing simple is near
        return None
    return (unknowns, value, slope, iterations) if np.isfinite(value).all() else None


def _nearest(eigenvalues: NDArray[np.complex128], kind: str, is_map: bool) -> complex | None:
    """The critical eigenvalue to start with: of a pair the one nearest to the border, put on it."""
    if kind != PAIR:
        return _critical(kind, 0.0, is_map)
    upper = eigenvalues[eigenvalues.imag > 0]
    if len(upper) == 0:
        return None
    excess = np.abs(upper) - 1 if is_map else upper.real
    nearest = upper[np.abs(excess).argmin()]
    return complex(nearest / abs(nearest)) if is_map else 1j * float(nearest.imag)


def _critical(kind: str, angle: float, is_map: bool) -> complex:
    if kind == PAIR:
        return complex(np.exp(1j * angle)) if is_map else 1j * angle
    return (-1.0 if kind == FLIP else 1.0) if is_map else 0.0


def _equations(curve: SolutionCurve, kind: str, b: Tensor, c: Tensor) -> Callable[[Tensor], Tensor]:
    """The extended system as a function of its unknowns: n of the state, p, and β or an angle where there is one.

    p is in units of the curve, whose ranges are of the order of 1: a slope by p is compared with the others.
    """
    equation, n, unit = curve.equation, len(b), curve.parameter_scale
    identity = torch.eye(n, dtype=torch.float64)
    ends = torch.zeros(n + 1, dtype=b.dtype)
    ends[-1] = 1

    def bordered(matrix: Tensor) -> Tensor:
        upper = torch.cat([matrix, b[:, None]], dim=1)
        return torch.cat([upper, torch.cat([c.conj(), ends[:1] * 0])[None]], dim=0)

    def of_real(unknowns: Tensor) -> Tensor:
        state, p = unknowns[:n], unit * unknowns[n]
        at = -1.0 if kind == FLIP else equation.critical
        matrix = bordered(equation.jacobian(state, p) - at * identity)
        return torch.cat([equation.residual(state, p), torch.linalg.solve(matrix, ends)[-1:]])

    def of_branches(unknowns: Tensor) -> Tensor:
        state, p, unfolding = unknowns[:n], unit * unknowns[n], unknowns[n + 1]
        jacobian, by_p = equation.linear(state, p)
        matrix = bordered(jacobian - equation.critical * identity)
        g = torch.linalg.solve(matrix, ends)[-1:]
        w = torch.linalg.solve(matrix.mT, ends)[:n]
        return torch.cat([equation.residual(state, p) + unfolding * b, g, unit * (w @ by_p)[None]])

    def of_pair(unknowns: Tensor) -> Tensor:
        state, p, angle = unknowns[:n], unit * unknowns[n], unknowns[n + 1]
        zero = torch.zeros_like(angle)
        at = torch.complex(torch.cos(angle), torch.sin(angle)) if equation.is_map else torch.complex(zero, angle)
        matrix = bordered(equation.jacobian(state, p) - at * identity)
        g = torch.linalg.solve(matrix, ends)[-1]
        return torch.cat([equation.residual(state, p), torch.stack([g.real, g.imag])])

    return {BRANCH_POINT: of_branches, PAIR: of_pair}.get(kind, of_real)
