"""The kind of the origin for a 2 × 2 matrix of exact numbers, decided in rational arithmetic.

Trace, determinant and discriminant of a matrix of fractions are fractions, so every comparison is exact and the
degenerate kinds (center, star, improper node, line of equilibria) are found where they are and nowhere else. A float
counts as the decimal number that it is written as.
"""

from collections.abc import Sequence
from fractions import Fraction

from dynlab.numerics.kinds import CENTER, LINE, PERIOD_TWO_LINE, PERIOD_TWO_PLANE, PLANE, SADDLE, Kind

Matrix = Sequence[Sequence[Fraction]]


def rational(matrix: Sequence[Sequence[Fraction | float]]) -> list[list[Fraction]]:
    """Return the entries as fractions: 0.1 is 1/10, the shortest decimal number that is stored as that float.

    Examples
    --------
    >>> rational([[0.1, -2.0], [Fraction(1, 3), 0]])[0]
    [Fraction(1, 10), Fraction(-2, 1)]
    """
    return [[Fraction(entry if isinstance(entry, Fraction) else str(entry)) for entry in row] for row in matrix]


def exact_kind_of_flow(matrix: Matrix) -> Kind:
    """The kind of the origin of the linear flow h' = A h.

    Parameters
    ----------
    matrix : sequence of two rows of two Fractions or floats
        A.

    References
    ----------
    Strogatz, Nonlinear Dynamics and Chaos, section 5.2: the plane of trace and determinant.

    Examples
    --------
    >>> exact_kind_of_flow([[Fraction("-0.15"), Fraction(-2)], [Fraction(2), Fraction("-0.15")]]).name
    'stable focus'
    """
    matrix = rational(matrix)
    trace, _, discriminant = invariants(matrix)
    if discriminant < 0:
        if trace == 0:
            return Kind(CENTER, 1, 0, 0)
        return _same_side("focus", grows=trace > 0)
    above, at = _count(matrix, Fraction(0))
    if at == 0:
        if above == 1:
            return Kind(SADDLE, 0, 1, 0)
        return _same_side(_noun(matrix), grows=above == 2)
    if at == 2:
        return Kind(PLANE, 1, 0, 0) if _is_scalar(matrix) else Kind(LINE, 0, 0, 0)  # a shear drifts
    return Kind(LINE, 0 if above else 1, above, 0)


def exact_kind_of_map(matrix: Matrix) -> Kind:
    """The kind of the origin of the linear map h → J h, by Jury's conditions.

    Parameters
    ----------
    matrix : sequence of two rows of two Fractions or floats
        J.

    Notes
    -----
    With p(z) = z² − tr z + det, both multipliers lie inside the unit circle where p(1) > 0, p(−1) > 0 and det < 1;
    complex ones have the modulus √det.

    References
    ----------
    Kuznetsov, Elements of Applied Bifurcation Theory, section 2.2; Jury, Theory and Application of the z-Transform
    Method, chapter 3.

    Examples
    --------
    >>> euler = [[Fraction("0.985"), Fraction("-0.2")], [Fraction("0.2"), Fraction("0.985")]]
    >>> exact_kind_of_map(euler).name
    'unstable focus'
    """
    matrix = rational(matrix)
    trace, determinant, discriminant = invariants(matrix)
    if discriminant < 0:
        if determinant == 1:
            return Kind(CENTER, 1, 0, 0)
        return _same_side("focus", grows=determinant > 1)
    flip = "flip " if trace < 0 or (trace == 0 and determinant < 0) else ""
    above, at_one = _count(matrix, Fraction(1))
    over_minus_one, at_minus_one = _count(matrix, Fraction(-1))
    below = 2 - over_minus_one - at_minus_one
    outside = above + below
    if at_one or at_minus_one:
        return _on_the_circle(matrix, at_one, at_minus_one, outside)
    if outside == 1:
        return Kind(flip + SADDLE, 0, 1, 0)
    return _same_side(flip + _noun(matrix), grows=outside == 2)


def invariants(matrix: Matrix) -> tuple[Fraction, Fraction, Fraction]:
    """Trace, determinant, and the discriminant tr² − 4 det of the characteristic polynomial."""
    (a, b), (c, d) = matrix
    return a + d, a * d - b * c, (a - d) ** 2 + 4 * b * c


def euler_matrix(matrix: Matrix, step: Fraction) -> list[list[Fraction]]:
    """I + ε A, the linear map of one Euler step."""
    return [[step * entry + (row == column) for column, entry in enumerate(row_)] for row, row_ in enumerate(matrix)]


def _on_the_circle(matrix: Matrix, at_one: int, at_minus_one: int, outside: int) -> Kind:
    """Real multipliers of which one at least is exactly 1 or −1."""
    if at_one == 2 or at_minus_one == 2:
        line, plane = (LINE, PLANE) if at_one else (PERIOD_TWO_LINE, PERIOD_TWO_PLANE)
        return Kind(plane, 1, 0, 0) if _is_scalar(matrix) else Kind(line, 0, 0, 0)
    if at_one and at_minus_one:  # a reflection
        return Kind("flip " + LINE, 1, 0, 0)
    return Kind(LINE if at_one else PERIOD_TWO_LINE, 0 if outside else 1, outside, 0)


def _same_side(noun: str, *, grows: bool) -> Kind:
    return Kind(f"unstable {noun}", 0, 2, 0) if grows else Kind(f"stable {noun}", 1, 0, 0)


def _noun(matrix: Matrix) -> str:
    """Node, or what it is where both eigenvalues are the same: star with two eigenvectors, improper node with one."""
    if invariants(matrix)[2] > 0:
        return "node"
    return "star" if _is_scalar(matrix) else "improper node"


def _is_scalar(matrix: Matrix) -> bool:
    (a, b), (c, d) = matrix
    return a == d and b == 0 and c == 0


def _count(matrix: Matrix, bound: Fraction) -> tuple[int, int]:
    """How many of the real eigenvalues are greater than `bound`, and how many are equal to it."""
    trace, determinant, _ = invariants(matrix)
    at_bound = bound * bound - trace * bound + determinant
    if at_bound < 0:
        return 1, 0
    if at_bound > 0:
        return (2, 0) if trace > 2 * bound else (0, 0)
    other = trace - bound
    return int(other > bound), 1 + int(other == bound)
