"""Bifurcation points as regular roots of extended systems, by Newton's method, and their normal forms.

With A = J − μ, bordered by fixed vectors b and c, [[A, b], [cᴴ, 0]] (v, g) = (0, 1) and (w, ḡ) [[A, b], [cᴴ, 0]]ᴴ
define a number g that vanishes exactly where A is singular, with the null vectors v and w there. Its derivative is
−wᴴ (∂A) v. One row of equations a kind follows:

=============== ============ ============================ ===============
kind            μ            equations                    unknowns
=============== ============ ============================ ===============
fold            1, 0 (flow)  G, g                         h, p
flip            −1           G, g                         h, p
pair            e^{iθ}, iθ   G, Re g, Im g                h, p, θ
branch point    1, 0 (flow)  G + β b, g, wᵀ G_p           h, p, β
=============== ============ ============================ ===============

At a branch point G_z has not full rank, and (G, g) is singular. Its unfolding has roots with β ≠ 0 too, where two
branches pass each other: a root is a branch point only where β = 0. With A y + b k = G_p, cᴴ y = 0, the derivative of
wᵀ G_p is that of wᵀ G_z (−y, 1) with y and w held. All of it is in the units of the curve.

References
----------
Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000), chapters 3 and 4; Allgower and Schwetlick,
"A general view of minimally extended systems for simple bifurcation points", ZAMM 77 (1997). Keller, "Numerical
solution of bifurcation and nonlinear eigenvalue problems" (1977) (the algebraic branching equation). Kuznetsov,
Elements of Applied Bifurcation Theory, sections 5.4 (Hopf, flip, Neimark–Sacker) and 7.4 (pitchfork).
"""

from typing import NamedTuple

import numpy as np

from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector, Vectors, beyond
from dynlab.numerics.eigenvalues import approximate_eigenvalues

FOLD, BRANCH_POINT, FLIP, PAIR = "fold", "branch point", "flip", "pair"

MAX_NEWTON = 15
SETTLED = 1e-14  # times max(1, ‖unknowns‖)
ROUNDED = 1e-7  # times that: steps below it that shrink by less than half are rounding
REGULAR = 1e12  # the condition, with rows of one size, up to which the derivative of a system is regular
TOLERANCE = 1e-4  # of the range of p: a point whose error is larger is not located
RANK = 1e-8  # times ‖J − μ‖: a second singular value up to that is as good as 0
ROUNDINGS = 4  # times m n ε Σ_j |a_ij x_j|: what rounding leaves of equation i
# Times the largest |λ|: an eigenvalue this near to the border of stability is on it; or nearer than its own error, but
# for wide errors.
AT_BORDER, WIDE = 1e-12, 1e-6
PITCHFORK, TRANSCRITICAL, DEGENERATE = "pitchfork", "transcritical", "degenerate"
FLAT = 1e-6  # times the larger: a branching equation with a smaller eigenvalue does not say where branches leave
UPRIGHT = 1e-5  # of a unit tangent: a branch with a smaller parameter component leaves to one side of the parameter
SAME = 0.9  # the cosine between the tangent of the branch that is known and the root that must be it
SUPERCRITICAL, SUBCRITICAL, UNDECIDED = "supercritical", "subcritical", "undecided"
TERM_ROUNDINGS = 100  # times (n ε + the point's own error) · condition: what the terms of a coefficient are wrong by
ASIDE = 1e-6  # of the parameter's range: so far away the terms are computed too, for how they change with it
RESONANT = 1e-6  # a pair whose third or fourth power is so near 1 has another normal form


class Refined(NamedTuple):
    """A bifurcation point.

    Attributes
    ----------
    z : ndarray, shape (n + 1,)
    null, left : ndarray, shape (n,)
        Right and left null vectors of J − μ in the units of the curve, of length 1, complex for a pair.
    eigenvalue : complex
        μ.
    residual : float
        The norm of all equations, in the units of the curve.
    iterations : int
    error : float
        Σ_j |(E'⁻¹)_{p j}| (|E_j| + its rounding), the error of p to first order.
    degenerate : bool
        True where other eigenvalues are on the border of stability too, or a pair does not turn.
    splits : bool
        True where β is certainly not 0: the branches pass each other and do not meet.
    """

    z: Vector
    null: Vectors
    left: Vectors
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
    n, is_map, matrix = len(curve.scale), curve.is_map, curve.jacobian(guess)
    if not np.isfinite(matrix).all():
        return None
    extra: list[float] = [0.0] if kind == BRANCH_POINT else []
    if kind == PAIR:
        values = approximate_eigenvalues(matrix)
        upper = values[values.imag > 0]
        if not len(upper):
            return None
        nearest = upper[np.abs(beyond(upper, is_map)).argmin()]
        extra = [float(np.angle(nearest) if is_map else nearest.imag)]
    left, _, right = np.linalg.svd(matrix - critical(curve, kind, [*extra, 0.0][0]) * np.eye(n))
    solved = _newton(curve, kind, (left[:, -1], right[-1].conj()), np.append(guess, extra))
    if solved is None:
        return None
    unknowns, value, slope, iterations = solved
    z, last = unknowns[: n + 1], float(unknowns[-1])  # an angle, or β
    mu = critical(curve, kind, last)
    final = curve.jacobian(z)
    u, sigma, vh = np.linalg.svd(final - mu * np.eye(n))
    errors = np.abs(np.linalg.inv(slope)) @ (np.abs(value) + _rounding(curve, z, final, len(value)))
    if not errors[n] <= TOLERANCE:
        return None
    values, bounds = curve.spectrum(z, errors[None, :n])
    on_border = np.abs(beyond(values, is_map)) <= np.clip(bounds, *np.abs(values).max() * np.array([AT_BORDER, WIDE]))
    is_pair = kind == PAIR
    several = (n > 1 and sigma[-2] <= RANK * sigma[0]) or on_border.sum() > 1 + is_pair
    turns = not is_pair or abs(np.sin(last) if is_map else last) > errors[-1]
    return Refined(
        z=z,
        null=vh[-1].conj(),
        left=u[:, -1],
        eigenvalue=mu,
        residual=float(np.linalg.norm(value)),
        iterations=iterations,
        error=float(errors[n]) * curve.width,
        degenerate=bool((several and np.isfinite(bounds).all()) or not turns),
        splits=kind == BRANCH_POINT and abs(last) > errors[-1],
    )


def critical(curve: SolutionCurve, kind: str, angle: float) -> complex:
    """Return μ of a kind."""
    if kind == PAIR:
        return complex(np.exp(1j * angle)) if curve.is_map else 1j * angle
    return -1.0 if kind == FLIP else curve.critical


def equations(
    curve: SolutionCurve, kind: str, border: tuple[Vectors, Vectors], unknowns: Vector
) -> tuple[Vector, Vector]:
    """Return the values and the derivatives of a kind's equations in its `unknowns`, with b and c in `border`."""
    n, (b, c) = len(curve.scale), border
    z, last = unknowns[: n + 1], float(unknowns[-1])
    value, slope = curve.residual(z), curve.derivative(z)
    mu = critical(curve, kind, last)
    matrix = slope[:, :n] + (curve.critical - mu) * np.eye(n)
    whole = np.block([[matrix, b[:, None]], [c.conj()[None], np.zeros((1, 1))]])
    one = np.append(np.zeros(n), 1.0)
    (*v, g), (*w, _) = np.linalg.solve(whole, one), np.linalg.solve(whole.conj().T, one)
    by_z = -curve.second(z, np.array(w), np.append(v, 0.0))
    if kind == PAIR:
        turned = (1j * mu if curve.is_map else 1j) * np.vdot(w, v)
        below = np.stack([np.append(part(by_z), part(turned)) for part in (np.real, np.imag)])
        return np.append(value, [g.real, g.imag]), np.vstack([np.column_stack([slope, np.zeros(n)]), below])
    if kind == BRANCH_POINT:
        by_p = slope[:, n]
        y = np.linalg.solve(whole, np.append(by_p, 0.0))[:n]
        other = curve.second(z, np.array(w), np.append(-y, 1.0))
        below = np.column_stack([np.stack([by_z.real, other.real]), np.zeros(2)])
        return np.append(value + last * b, [g, w @ by_p]), np.vstack([np.column_stack([slope, b]), below])
    return np.append(value, g), np.vstack([slope, by_z.real])


def _newton(
    curve: SolutionCurve, kind: str, border: tuple[Vectors, Vectors], unknowns: Vector
) -> tuple[Vector, Vector, Vector, int] | None:
    """Return a regular root, the equations and their derivatives there, and the iterations; None without one."""
    before = np.inf
    try:
        for iteration in range(1, MAX_NEWTON + 1):
            value, slope = equations(curve, kind, border, unknowns)
            if not (np.isfinite(slope).all() and np.isfinite(value).all()):
                return None
            step = np.linalg.solve(slope, value)
            unknowns, moved = unknowns - step, float(np.linalg.norm(step))
            size = max(1.0, float(np.linalg.norm(unknowns)))
            if moved <= SETTLED * size or 0.5 * before < moved <= ROUNDED * size:
                value, slope = equations(curve, kind, border, unknowns)
                sizes = np.linalg.norm(slope, axis=1, keepdims=True)
                regular = np.linalg.cond(slope / np.where(sizes > 0, sizes, 1.0)) < REGULAR
                return (unknowns, value, slope, iteration) if regular else None
            before = moved
    except np.linalg.LinAlgError:  # singular: nothing simple is near
        return None
    return None


def _rounding(curve: SolutionCurve, z: Vector, matrix: Vector, count: int) -> Vector:
    """Return a bound on the rounding of each of `count` equations: of G_i that of J h, of g that of ‖J‖."""
    n, by_p = len(matrix), np.abs(curve.derivative(z)[:, -1])
    unit = ROUNDINGS * curve.period * n * np.finfo(np.float64).eps
    of_residual = np.abs(matrix) @ np.abs(z[:-1]) + np.abs(z[:-1]) + by_p * abs(curve.parameter(z) / curve.width)
    size = 1 + np.linalg.norm(matrix, 2) + np.linalg.norm(by_p)
    return unit * np.append(of_residual, np.full(count - n, size))


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
    error = TERM_ROUNDINGS * (n * eps + off) * condition * size * float(np.abs(parts).sum()) + off * abs(changes)
    decided = SUPERCRITICAL if value < 0 else SUBCRITICAL
    return Coefficient(value, error, decided if abs(value) > error else UNDECIDED)


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
