"""Normal forms: the sign of the cubic term says whether what is born is stable, quadratic ones which branches meet.

References
----------
Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems" (1977) (the algebraic branching equation);
Kuznetsov, Elements of Applied Bifurcation Theory, sections 5.4 (Hopf, flip, Neimark–Sacker) and 7.4 (pitchfork).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector, derivative_along
from dynlab.diagnostics.bifurcation.extended import Refined

PITCHFORK, TRANSCRITICAL, DEGENERATE = "pitchfork", "transcritical", "degenerate"
FLAT = 1e-6  # times the larger: a branching equation with a smaller eigenvalue does not say where branches leave
UPRIGHT = 1e-5  # of a unit tangent: a branch with a smaller parameter component leaves to one side of the parameter
SAME = 0.9  # the cosine between the tangent of the branch that is known and the root that must be it
SUPERCRITICAL, SUBCRITICAL, UNDECIDED = "supercritical", "subcritical", "undecided"
ROUNDINGS = 100  # times (n ε + the point's own error) · condition: what the terms of a coefficient are wrong by
ASIDE = 1e-6  # of the parameter's range: so far away the terms are computed too, for how they change with it
RESONANT = 1e-6  # a pair whose third or fourth power is so near 1 has another normal form

Vectors = NDArray[np.complex128]


class Coefficient(NamedTuple):
    """The cubic coefficient, an estimate of its error, and what they say.

    `criticality` is "supercritical" where the coefficient is certainly negative: what is born attracts along the center
    space. It is "subcritical" where it is certainly positive, else "undecided".
    """

    value: float
    error: float
    criticality: str


def coefficient(curve: SolutionCurve, refined: Refined) -> Coefficient:
    """Return the cubic coefficient of a flip, a pitchfork, a Neimark–Sacker or a Hopf point.

    Notes
    -----
    With A the Jacobian, B and C the second and third derivatives, A q = μ q, wᴴ A = μ wᴴ, ‖q‖ = 1 and wᴴ q = 1, it is
    the real part of ν wᴴ [C(q,q,q)/6 + B(q, (λ − A)⁻¹ B(q,q))/2] of a real μ, and of a pair that of
    ν wᴴ [C(q,q,q̄)/2 + B(q, (λ − A)⁻¹ B(q,q̄)) + B(q̄, (μ₂ − A)⁻¹ B(q,q))/2]; of a map ν = μ̄, λ = 1 and μ₂ = μ², of a
    flow ν = 1, λ = 0 and μ₂ = 2μ. Of a pitchfork μ = λ, and λ − A is bordered by w and q. It is NaN in a strong
    resonance, μ³ or μ⁴ = 1, and where w and q are orthogonal.
    """
    mu = refined.eigenvalue
    matrix, is_map = curve.jacobian(refined.z), curve.is_map
    q, along = refined.null, np.vdot(refined.left, refined.null)
    if along == 0 or (mu.imag and is_map and min(abs(mu**3 - 1), abs(mu**4 - 1)) < RESONANT):
        return Coefficient(np.nan, np.inf, UNDECIDED)
    w = refined.left / np.conj(along)
    at_rest, condition = _solver(matrix, curve.critical, q, w, bordered=mu == curve.critical)
    doubled, other = _solver(matrix, mu**2 if is_map else 2 * mu, q, w) if mu.imag else (at_rest, 0.0)
    condition = max(condition, other)

    def parts_at(p: float) -> Vectors:
        derivative = _derivative(curve, np.append(refined.z[:-1], p))
        if mu.imag:
            terms = [
                derivative(q, q, q.conj()) / 2,
                derivative(q, at_rest(derivative(q, q.conj()))),
                derivative(q.conj(), doubled(derivative(q, q))) / 2,
            ]
        else:
            terms = [derivative(q, q, q) / 6, derivative(q, at_rest(derivative(q, q))) / 2]
        turned = np.conj(mu) if is_map else 1.0
        return np.array([turned * np.vdot(w, term) for term in terms], dtype=complex)

    parts = parts_at(refined.z[-1])
    value = float(parts.sum().real)
    aside = [float(parts_at(refined.z[-1] + side).sum().real) for side in (-ASIDE, ASIDE)]
    off = max(refined.error / curve.width, float(np.finfo(np.float64).eps))
    rounding = ROUNDINGS * (len(matrix) * float(np.finfo(np.float64).eps) + off) * condition / float(abs(along))
    error = rounding * float(np.abs(parts).sum()) + off * abs(aside[1] - aside[0]) / (2 * ASIDE)
    if not abs(value) > error:
        return Coefficient(value, error, UNDECIDED)
    return Coefficient(value, error, SUPERCRITICAL if value < 0 else SUBCRITICAL)


class Meeting(NamedTuple):
    """A branch point: its kind, and the unit tangent (n + 1,) of the other branch, None where it is not known."""

    kind: str
    other: Vector | None


def meeting(curve: SolutionCurve, refined: Refined, tangent: Vector) -> Meeting:
    """Return what meets at a branch point of a branch that has this tangent nearby.

    Notes
    -----
    With φ_1, φ_2 spanning the null space of G_z and w its left null vector, the tangents α_1 φ_1 + α_2 φ_2 solve
    Σ a_ij α_i α_j = 0, a_ij = wᵀ G_zz φ_i φ_j. Where one of them has no parameter component the quadratic coefficient
    of the normal form is 0, and the point is a pitchfork; else it is transcritical. Where a has an eigenvalue that is
    as good as 0, branches touch or more than two of them meet: it is degenerate. What an imperfection below rounding
    does is not seen.
    """
    basis = np.linalg.svd(curve.derivative(refined.z))[2][-2:]
    w, origin, directions = (torch.from_numpy(each.copy()) for each in (refined.left.real, refined.z, basis))

    def along(alpha: torch.Tensor) -> torch.Tensor:
        z = origin + alpha @ directions
        state, p = z[:-1] * torch.from_numpy(curve.scale), curve.start + curve.width * z[-1]
        return w @ curve.value(state, p)

    a = torch.autograd.functional.hessian(along, torch.zeros(2, dtype=torch.float64)).numpy()
    discriminant, curved = a[0, 1] ** 2 - a[0, 0] * a[1, 1], np.abs(np.linalg.eigvalsh(a))
    if discriminant <= 0 or curved.min() <= FLAT * curved.max():
        return Meeting(DEGENERATE, None)
    q = -(a[0, 1] + np.copysign(np.sqrt(discriminant), a[0, 1]))
    roots = [np.array([q, a[0, 0]]), np.array([a[1, 1], q])]
    tangents = [root @ basis / np.linalg.norm(root) for root in roots]
    other, known = sorted(tangents, key=lambda one: abs(float(one @ tangent)))
    kind = PITCHFORK if min(abs(other[-1]), abs(known[-1])) <= UPRIGHT else TRANSCRITICAL
    return Meeting(kind, other if abs(float(known @ tangent)) > SAME else None)


def _solver(
    matrix: NDArray[np.float64], shift: complex, q: Vectors, w: Vectors, bordered: bool = False
) -> tuple[Callable[[Vectors], Vectors], float]:
    """Return the solver of (shift − A) x = y, bordered where that is singular, and its condition."""
    n = len(matrix)
    whole = shift * np.eye(n) - matrix
    if bordered:
        whole = np.block([[whole, q[:, None]], [w.conj()[None, :], np.zeros((1, 1))]])
    condition = float(np.linalg.cond(whole))

    def solve(right: Vectors) -> Vectors:
        return np.asarray(np.linalg.solve(whole, np.append(right, np.zeros(len(whole) - n)))[:n], dtype=complex)

    return solve, condition


def _derivative(curve: SolutionCurve, z: NDArray[np.float64]) -> Callable[..., Vectors]:
    """Return the second, or third, derivative at `z` as a function of two, or three, complex vectors.

    What is multilinear over the reals is so over the complex numbers by its real and imaginary parts.
    """
    state, p = curve.tensors(z)

    def residual(at: Tensor) -> Tensor:
        return curve.value(at, p)

    def real(*directions: NDArray[np.float64]) -> Vectors:
        function: Callable[[Tensor], Tensor] = residual
        for one in directions:
            function = partial(derivative_along, function, along=torch.from_numpy(np.ascontiguousarray(one)))
        return function(state).numpy().astype(complex)

    def applied(*vectors: Vectors) -> Vectors:
        found = np.zeros(len(state), dtype=complex)
        for number in range(2 ** len(vectors)):
            imaginary = [bool(number >> k & 1) for k in range(len(vectors))]
            parts = [one.imag if is_i else one.real for one, is_i in zip(vectors, imaginary, strict=True)]
            if all(part.any() for part in parts):
                found += 1j ** sum(imaginary) * real(*parts)
        return found

    return applied
