"""Normal forms: the sign of the cubic term says whether what is born is stable, quadratic ones which branches meet.

References
----------
Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems" (1977) (the algebraic branching equation);
Kuznetsov, Elements of Applied Bifurcation Theory, sections 5.4 (Hopf, flip, Neimark–Sacker) and 7.4 (pitchfork).
"""

from typing import NamedTuple

import numpy as np

from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector, Vectors
from dynlab.diagnostics.bifurcation.extended import Refined

PITCHFORK, TRANSCRITICAL, DEGENERATE = "pitchfork", "transcritical", "degenerate"
FLAT = 1e-6  # times the larger: a branching equation with a smaller eigenvalue does not say where branches leave
UPRIGHT = 1e-5  # of a unit tangent: a branch with a smaller parameter component leaves to one side of the parameter
SAME = 0.9  # the cosine between the tangent of the branch that is known and the root that must be it
SUPERCRITICAL, SUBCRITICAL, UNDECIDED = "supercritical", "subcritical", "undecided"
ROUNDINGS = 100  # times (n ε + the point's own error) · condition: what the terms of a coefficient are wrong by
ASIDE = 1e-6  # of the parameter's range: so far away the terms are computed too, for how they change with it
RESONANT = 1e-6  # a pair whose third or fourth power is so near 1 has another normal form


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
    mu, is_map, n = refined.eigenvalue, curve.is_map, len(curve.scale)
    q = refined.null / np.linalg.norm(curve.scale * refined.null)
    along = np.vdot(refined.left, q)
    if along == 0 or (np.imag(mu) and is_map and min(abs(mu**3 - 1), abs(mu**4 - 1)) < RESONANT):
        return Coefficient(np.nan, np.inf, UNDECIDED)
    w, matrix = refined.left / np.conj(along), curve.jacobian(refined.z)
    whole = curve.critical * np.eye(n) - matrix
    if mu == curve.critical:
        whole = np.block([[whole, q[:, None]], [w.conj()[None], np.zeros((1, 1))]])
    doubled = (mu**2 if is_map else 2 * mu) * np.eye(n) - matrix
    condition = max(np.linalg.cond(whole), np.linalg.cond(doubled) if np.imag(mu) else 0.0)

    def at_rest(right: Vectors) -> Vectors:
        return np.asarray(np.linalg.solve(whole, np.append(right, np.zeros(len(whole) - n)))[:n], dtype=complex)

    def terms(p: float) -> Vectors:
        def D(*vectors: Vectors) -> Vectors:
            return curve.multilinear(np.append(refined.z[:-1], p), *(np.append(one, 0.0) for one in vectors))

        if np.imag(mu):
            other = np.asarray(np.linalg.solve(doubled, D(q, q)), dtype=complex)
            found = [D(q, q, q.conj()) / 2, D(q, at_rest(D(q, q.conj()))), D(q.conj(), other) / 2]
        else:
            found = [D(q, q, q) / 6, D(q, at_rest(D(q, q))) / 2]
        return np.array([(np.conj(mu) if is_map else 1.0) * np.vdot(w, one) for one in found], dtype=complex)

    parts, z = terms(refined.z[-1]), refined.z[-1]
    value, eps = float(parts.sum().real), float(np.finfo(np.float64).eps)
    changes = float((terms(z + ASIDE) - terms(z - ASIDE)).sum().real) / (2 * ASIDE)
    off = max(refined.error / curve.width, eps)
    size = float(np.linalg.norm(w) * np.linalg.norm(q))
    error = ROUNDINGS * (n * eps + off) * condition * size * float(np.abs(parts).sum()) + off * abs(changes)
    if not abs(value) > error:
        return Coefficient(value, error, UNDECIDED)
    return Coefficient(value, error, SUPERCRITICAL if value < 0 else SUBCRITICAL)


def meeting(curve: SolutionCurve, refined: Refined, tangent: Vector) -> tuple[str, Vector | None]:
    """Return the kind of a branch point, and the unit tangent (n + 1,) of the other branch, None where it is not known.

    The branch that is known has the unit tangent `tangent` nearby.

    Notes
    -----
    With φ_1, φ_2 spanning the null space of G_z and w its left null vector, the tangents α_1 φ_1 + α_2 φ_2 solve
    Σ a_ij α_i α_j = 0, a_ij = wᵀ G_zz φ_i φ_j. Where one of them has no parameter component the quadratic coefficient
    of the normal form is 0, and the point is a pitchfork; else it is transcritical. Where a has an eigenvalue that is
    as good as 0, branches touch or more than two of them meet: it is degenerate. What an imperfection below rounding
    does is not seen.
    """
    basis = np.linalg.svd(curve.derivative(refined.z))[2][-2:]
    a = np.stack([basis @ curve.second(refined.z, refined.left, one).real for one in basis])
    discriminant, curved = a[0, 1] ** 2 - a[0, 0] * a[1, 1], np.abs(np.linalg.eigvalsh(a))
    if discriminant <= 0 or curved.min() <= FLAT * curved.max():
        return DEGENERATE, None
    q = -(a[0, 1] + np.copysign(np.sqrt(discriminant), a[0, 1]))
    roots = [np.array([q, a[0, 0]]), np.array([a[1, 1], q])]
    tangents = [root @ basis / np.linalg.norm(root) for root in roots]
    other, known = sorted(tangents, key=lambda one: abs(float(one @ tangent)))
    kind = PITCHFORK if min(abs(other[-1]), abs(known[-1])) <= UPRIGHT else TRANSCRITICAL
    return kind, other if abs(float(known @ tangent)) > SAME else None
