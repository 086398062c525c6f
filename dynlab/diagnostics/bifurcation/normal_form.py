"""Normal forms: the sign of the cubic term on the center space says whether what is born is stable.

References
----------
Kuznetsov, Elements of Applied Bifurcation Theory, sections 5.4 (Hopf, flip, Neimark–Sacker) and 7.4 (pitchfork).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.equation import SolutionCurve, derivative_along
from dynlab.diagnostics.bifurcation.extended import Refined

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
    equation, mu = curve.equation, refined.eigenvalue
    matrix, is_map = curve.jacobian(refined.z), curve.equation.is_map
    q, along = refined.null, np.vdot(refined.left, refined.null)
    if along == 0 or (mu.imag and is_map and min(abs(mu**3 - 1), abs(mu**4 - 1)) < RESONANT):
        return Coefficient(np.nan, np.inf, UNDECIDED)
    w = refined.left / np.conj(along)
    at_rest, condition = _solver(matrix, equation.critical, q, w, bordered=mu == equation.critical)
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
        return curve.equation.residual(at, p)

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
