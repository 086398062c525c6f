"""The kind of the origin for a 2 × 2 matrix of exact numbers, decided in rational arithmetic.

Trace, determinant and discriminant of a matrix of fractions are fractions, so every comparison is exact and the
degenerate kinds (center, star, improper node, line of equilibria) are found where they are and nowhere else. A float
counts as the decimal number that it is written as.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from dynlab.numerics.kinds import CENTER, LINE, PERIOD_TWO_LINE, PERIOD_TWO_PLANE, PLANE, SADDLE, Kind

Matrix = Sequence[Sequence[Fraction]]


def exact_kind(matrix: Sequence[Sequence[Fraction | float]], is_map: bool = False) -> Kind:
    """Return the kind of the origin of the linear flow h' = A h, or of the linear map h → A h.

    Parameters
    ----------
    matrix : sequence of two rows of two Fractions or floats
        A; 0.1 is 1/10, the shortest decimal number that is stored as that float.
    is_map : bool

    References
    ----------
    Strogatz, Nonlinear Dynamics and Chaos, section 5.2: the plane of trace and determinant; Kuznetsov, Elements of
    Applied Bifurcation Theory, section 2.2; Jury, Theory and Application of the z-Transform Method, chapter 3.

    Examples
    --------
    >>> exact_kind([[Fraction("-0.15"), Fraction(-2)], [Fraction(2), Fraction("-0.15")]]).name
    'stable focus'
    >>> exact_kind([[0.985, -0.2], [0.2, 0.985]], is_map=True).name
    'unstable focus'
    """
    a, b, c, d = (Fraction(entry if isinstance(entry, Fraction) else str(entry)) for row in matrix for entry in row)
    trace, determinant, discriminant = _invariants(a, b, c, d)
    if discriminant < 0:
        beyond = determinant - 1 if is_map else trace
        return Kind(CENTER, 1, 0, 0) if beyond == 0 else _on_one_side("focus", beyond > 0)
    is_scalar = a == d and b == c == 0
    above, on = _count(trace, determinant, int(is_map))
    over, on_minus_one = _count(trace, determinant, -1) if is_map else (2, 0)
    outside = above + 2 - over - on_minus_one
    if on or on_minus_one:
        double = 2 in (on, on_minus_one)
        name = (PLANE if on else PERIOD_TWO_PLANE) if double and is_scalar else LINE if on else PERIOD_TWO_LINE
        reflects = "flip " if on and on_minus_one else ""
        return Kind(reflects + name, 0 if outside or (double and not is_scalar) else 1, outside, 0)  # a shear drifts
    flip = "flip " if is_map and (trace < 0 or (trace == 0 and determinant < 0)) else ""
    if outside == 1:
        return Kind(flip + SADDLE, 0, 1, 0)
    noun = "node" if discriminant > 0 else "star" if is_scalar else "improper node"
    return _on_one_side(flip + noun, outside == 2)


def exact_eigenvalues(matrix: Matrix) -> tuple[complex, complex]:
    """Return both eigenvalues to a few units in the last place: the discriminant is formed without rounding."""
    ((a, b), (c, d)) = matrix
    trace, determinant, discriminant = _invariants(a, b, c, d)
    half, root = float(trace / 2), math.sqrt(abs(discriminant)) / 2
    if discriminant < 0:
        return complex(half, root), complex(half, -root)
    larger = half + math.copysign(root, half)  # without cancellation; the smaller one is det over the larger
    return complex(larger), complex(float(determinant) / larger if larger else 0.0)


def _invariants(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return the trace, the determinant, and the discriminant tr² − 4 det of the characteristic polynomial."""
    return a + d, a * d - b * c, (a - d) ** 2 + 4 * b * c


def _on_one_side(noun: str, grows: bool) -> Kind:
    return Kind(f"unstable {noun}", 0, 2, 0) if grows else Kind(f"stable {noun}", 1, 0, 0)


def _count(trace: Fraction, determinant: Fraction, bound: int) -> tuple[int, int]:
    """Return how many of the real eigenvalues are greater than `bound`, and how many are equal to it."""
    at_bound = bound * bound - trace * bound + determinant
    if at_bound:
        return (1, 0) if at_bound < 0 else (2 * (trace > 2 * bound), 0)
    other = trace - bound
    return int(other > bound), 1 + int(other == bound)
