"""One norm ‖T J T⁻¹‖₂, and one logarithmic norm, for all Jacobians over a box: found in floating point, then proved.

References
----------
Lohmiller and Slotine, "On contraction analysis for non-linear systems", Automatica 34 (1998); Söderlind, "The
logarithmic norm", BIT Numerical Mathematics 46 (2006); Boyd, El Ghaoui, Feron and Balakrishnan, "Linear Real
Inequalities in System and Control Theory", SIAM 1994, section 5.
"""

import itertools
from typing import NamedTuple

import numpy as np
import scipy.linalg
from flint import arb, arb_mat

from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.eigenvectors import eigenmodes
from dynlab.program.enclosure import Structured, doubles, exact_matrix, identity, radii_of, sizes_of
from dynlab.progress import through
from dynlab.proofs.certify import above, max_row_sum

MARGINS = (0.02, 0.1, 0.3, 1.0)  # by which the Lyapunov equation's matrix is damped beyond its own decay
LARGEST_CONDITION = 1e8  # of T: beyond, what the proof loses outweighs what the weights gain


class Floating(NamedTuple):
    """A `Structured` in floating point: the middle, the radii and the pairs, for the search of T alone."""

    middle: Real
    radii: Real
    terms: list[tuple[Real, Real]]


def best_weights(jacobian: Structured, logarithmic: bool) -> Real:
    """T of the smallest bound among the identity, Perron's diagonal, and the factors of Lyapunov's equation."""
    parts = _floating(jacobian)
    with np.errstate(all="ignore"):
        squares = [(matrix**2).sum() for matrix in (parts.middle, parts.radii, *itertools.chain(*parts.terms))]
    if not np.isfinite(squares).all():
        raise UserError(
            "Entries of the Jacobian over this box are so large that its norm is no number: scale the system."
        )
    tried = [
        (_estimate(weights, parts, logarithmic), index, weights)
        for index, weights in enumerate(_candidates(parts, logarithmic))
        if np.isfinite(weights).all() and np.linalg.cond(weights) < LARGEST_CONDITION
    ]
    return min(tried, key=lambda entry: entry[:2])[2]


def proved_bound(jacobian: Structured, weights: Real, logarithmic: bool) -> float:
    """An upper bound on ‖T J T⁻¹‖₂, or on the logarithmic norm max λ((T J T⁻¹ + its transpose)/2), for every J."""
    parts = _floating(jacobian)
    T = exact_matrix(weights)
    inverse = T.inv()
    core = T * jacobian.matrix.mid() * inverse
    total = _largest_eigenvalue((core + core.transpose()) * arb(0.5)) if logarithmic else _norm(core)
    total += _norm(sizes_of(T) * radii_of(jacobian.matrix) * sizes_of(inverse))
    for (left, right), (a, b) in through(list(zip(jacobian.terms, parts.terms, strict=True))):
        _, d = _best_scale(weights @ a, b @ np.linalg.inv(weights))
        total += _norm(T * left * exact_matrix(np.diag(d))) * _norm(exact_matrix(np.diag(1 / d)) * right * inverse)
    return above(total)


def estimated_bound(jacobian: Structured, weights: Real, logarithmic: bool) -> float:
    """The same in floating point: no proof, and in a tenth of the time."""
    return _estimate(weights, _floating(jacobian), logarithmic)


def weighted(matrices: Real, weights: Real) -> Real:
    """T J T⁻¹ of matrices (k, n, n), in floating point."""
    return weights @ matrices @ np.linalg.inv(weights)


def _candidates(parts: Floating, logarithmic: bool) -> list[Real]:
    n = len(parts.middle)
    largest = np.abs(parts.middle) + parts.radii
    for left, right in parts.terms:
        largest = largest + np.abs(left) @ np.abs(right)
    found = [np.eye(n), _perron(largest)]
    values = approximate_eigenvalues(parts.middle)
    for margin in MARGINS:
        if logarithmic:
            shift = values.real.max() + margin * max(1e-3, np.abs(values).max())
            damped = parts.middle - shift * np.eye(n)
            P = scipy.linalg.solve_continuous_lyapunov(damped.T, -np.eye(n))
        else:
            damped = parts.middle / max((1 + margin) * np.abs(values).max(), 1e-12)
            P = scipy.linalg.solve_discrete_lyapunov(damped.T, np.eye(n))
        if np.isfinite(P).all() and np.linalg.eigvalsh((P + P.T) / 2).min() > 0:
            factor = np.linalg.cholesky((P + P.T) / 2).T
            found.append(factor / np.abs(factor).max())
    return found


def _perron(nonnegative: Real) -> Real:
    """D with ‖D N D⁻¹‖₂ = ρ(N) of a positive N: √(u/v) of its left and right Perron vectors."""
    modes = eigenmodes(nonnegative + 1e-9 * nonnegative.max())  # the first, of the largest modulus, is Perron's
    u, v = np.abs(modes.left[0]), np.abs(modes.right[0])
    return np.diag(np.sqrt(np.maximum(u, 1e-12) / np.maximum(v, 1e-12)))


def _estimate(weights: Real, parts: Floating, logarithmic: bool) -> float:
    inverse = np.linalg.inv(weights)
    core = weights @ parts.middle @ inverse
    total = float(np.linalg.eigvalsh((core + core.T) / 2).max() if logarithmic else np.linalg.norm(core, 2))
    total += float(np.linalg.norm(np.abs(weights) @ parts.radii @ np.abs(inverse), 2))
    for left, right in parts.terms:
        total += _best_scale(weights @ left, right @ inverse)[0]
    return total


def _best_scale(a: Real, b: Real) -> tuple[float, Real]:
    """‖A D‖ ‖D⁻¹ B‖, which bounds ‖A S B‖ since S and D commute, and D, the best of three; powers of 2 are exact."""
    columns = np.maximum(np.linalg.norm(a, axis=0), 1e-12)
    rows = np.maximum(np.linalg.norm(b, axis=1), 1e-12)
    scales = [2.0 ** np.round(np.log2(d)) for d in (1 / columns, np.sqrt(rows / columns), np.ones(len(columns)))]
    bounds = [float(np.linalg.norm(a * d, 2) * np.linalg.norm(b / d[:, None], 2)) for d in scales]
    best = int(np.argmin(bounds))
    return bounds[best], scales[best]


def _largest_eigenvalue(symmetric: arb_mat) -> arb:
    """An upper bound on it, for every symmetric matrix in the balls.

    With V ≈ orthogonal eigenvectors, λ ≤ max over y of yᵀ(VᵀGV)y/|V y|², and |V y|² is within 1 ± ‖VᵀV − I‖ of |y|².
    """
    n, middle = symmetric.nrows(), doubles(symmetric)
    vectors = exact_matrix(np.linalg.eigh((middle + middle.T) / 2)[1])
    turned = vectors.transpose() * symmetric * vectors
    rest = max_row_sum(vectors.transpose() * vectors - identity(n))
    if not rest < 1:
        return arb("inf")
    largest = arb("-inf")
    for i, row in enumerate(turned.tolist()):
        off = sum((entry.abs_upper() for j, entry in enumerate(row) if j != i), arb(0))
        largest = largest.max((row[i] + off).upper())
    return (largest / (1 - rest)).max(largest / (1 + rest)).upper()


def _norm(matrix: arb_mat) -> arb:
    square = matrix * matrix.transpose() if matrix.nrows() < matrix.ncols() else matrix.transpose() * matrix
    return _largest_eigenvalue(square).max(arb(0)).sqrt().upper()


def _floating(jacobian: Structured) -> Floating:
    terms = [(doubles(left), doubles(right)) for left, right in jacobian.terms]
    return Floating(doubles(jacobian.matrix), doubles(radii_of(jacobian.matrix)), terms)
