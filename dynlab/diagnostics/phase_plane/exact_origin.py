"""What the matrix entered by hand says, exactly, of the origin of a planar system that it linearises there."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.exact_kinds import Matrix, exact_kind_of_flow, exact_kind_of_map, invariants
from dynlab.numerics.kinds import CENTER, Kind

ArrayField = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# A quantity counts as conserved, and a line as one of equilibria, where what must vanish is rounding: this share of
# the products that are summed.
ROUNDING = 1e-13
# Times 1/‖A‖: how far out a claim is checked. tanh(A h) is linear to rounding where A h is small, and nowhere else.
REACHES = (1.0, 1e2, 1e4)


def kind_of_flow_at_origin(matrix: Matrix, velocity: ArrayField, points: NDArray[np.float64]) -> Kind:
    """The kind of a nonlinear flow's equilibrium at the origin.

    Parameters
    ----------
    matrix : sequence of two rows of two Fractions
        The Jacobian at the origin.
    velocity : callable
        From states (..., 2) to rates (..., 2).
    points : ndarray, shape (point, 2)
        A set whose multiples are where a conserved quantity or a line of equilibria is checked.

    Notes
    -----
    Hyperbolic kinds carry over from the linear flow. A linear center is a center where a quantity with a minimum at
    the origin is conserved: for h' = tanh(A h) with c₁a₁₂ = −c₂a₂₁ and a zero diagonal, H = Σ cᵢ log cosh((A h)ᵢ).
    A line or plane of equilibria is one where the velocity vanishes along it. Where the field is linear
    the linear kind is the kind. Both are checked where A h is of order 1 and larger, whatever the units.
    """
    kind = exact_kind_of_flow(matrix)
    if _is_linear(velocity, as_array(matrix), points, as_array(matrix)):
        return kind
    if kind.name == CENTER:
        return kind if conserved_weights(matrix, velocity, points) is not None else _only_linear(kind)
    if "equilibria" in kind.name:
        return kind if _vanishes(velocity, null_points(matrix, points), as_array(matrix)) else _only_linear(kind)
    return kind


def kind_of_map_at_origin(matrix: Matrix, displacement: ArrayField, points: NDArray[np.float64]) -> Kind:
    """The kind of a nonlinear map's fixed point at the origin; `matrix` is the Jacobian of the step there.

    A multiplier of modulus 1 decides nothing by itself: only a line or plane of fixed points is checked.
    """
    kind = exact_kind_of_map(matrix)
    if _is_linear(displacement, as_array(matrix) - np.eye(2), points, as_array(matrix)):
        return kind
    if "equilibria" in kind.name and not kind.name.startswith("flip"):
        (a, b), (c, d) = matrix
        less_one = ((a - 1, b), (c, d - 1))
        null = null_points(less_one, points)
        return kind if _vanishes(displacement, null, as_array(matrix)) else _only_linear(kind)
    border = kind.name == CENTER or "equilibria" in kind.name or "period-2" in kind.name
    return _only_linear(kind) if border else kind


def conserved_weights(matrix: Matrix, velocity: ArrayField, points: NDArray[np.float64]) -> tuple[float, float] | None:
    """Weights c of a conserved H = Σ cᵢ log cosh((A h)ᵢ), or None where it is not conserved.

    dH/dt = Σ cᵢ tanh((A h)ᵢ) (A velocity)ᵢ must be rounding at every one of `points`.
    """
    (a, b), (c, d) = matrix
    if a or d or b * c >= 0:
        return None
    weights = np.array([abs(float(c)), abs(float(b))]) / max(abs(float(b)), abs(float(c)))
    dense = as_array(matrix)
    for states in _farther(dense, points):
        rates = velocity(states) @ dense.T
        change = np.sum(weights * np.tanh(states @ dense.T) * rates, axis=-1)
        if not np.abs(change).max() <= ROUNDING * max(np.abs(rates).max(), np.abs(dense).max()):
            return None
    return weights[0], weights[1]


def exact_eigenvalues(matrix: Matrix) -> tuple[complex, complex]:
    """Both eigenvalues, correct to a few units in the last place: the discriminant is formed without rounding."""
    scale = max(abs(entry) for row in matrix for entry in row)
    if not scale:
        return 0j, 0j
    # Entries of order 1, so that their squares are neither too large nor too small for a float.
    trace, determinant, discriminant = invariants([[entry / scale for entry in row] for row in matrix])
    size, half = float(scale), float(trace / 2)
    root = math.sqrt(abs(discriminant)) / 2
    if discriminant < 0:
        return size * complex(half, root), size * complex(half, -root)
    # The larger root has no cancellation; the smaller one is det over the larger.
    larger = half + math.copysign(root, half)
    smaller = float(determinant) / larger if larger else 0.0
    return complex(size * larger), complex(size * smaller)


def null_points(matrix: Matrix, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """States of the null space of a singular matrix: all of `points` for zero, else as far out as `points` reach."""
    direction = null_direction(matrix)
    if direction is None:
        return points
    reach = np.linalg.norm(points, axis=-1)
    return reach[:, None] * np.array(direction)


def null_direction(matrix: Matrix) -> tuple[float, float] | None:
    """The unit vector that a singular matrix maps to zero, or None for the zero matrix and for a regular one."""
    (a, b), (c, d) = matrix
    if a * d != b * c:
        return None
    row = (a, b) if a or b else (c, d)
    if not any(row):
        return None
    sign = -1 if row[1] > 0 or (row[1] == 0 and row[0] < 0) else 1  # the first component that is not 0 is positive
    length = sign * math.hypot(float(row[0]), float(row[1]))
    return float(-row[1]) / length + 0.0, float(row[0]) / length + 0.0


def as_array(matrix: Matrix) -> NDArray[np.float64]:
    """The matrix in floating-point numbers."""
    return np.array([[float(entry) for entry in row] for row in matrix])


def _is_linear(
    field: ArrayField, matrix: NDArray[np.float64], points: NDArray[np.float64], computed: NDArray[np.float64]
) -> bool:
    """Whether the field is `matrix` times the state; `computed` is what it was computed with."""
    everywhere = _farther(matrix, points)
    return all(_is_rounding(field(states) - states @ matrix.T, computed, states) for states in everywhere)


def _vanishes(field: ArrayField, points: NDArray[np.float64], computed: NDArray[np.float64]) -> bool:
    return all(_is_rounding(field(states), computed, states) for states in _farther(computed, points))


def _farther(matrix: NDArray[np.float64], points: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Multiples of `points` where the products with the matrix are as large as each of `REACHES`."""
    unit = points / np.abs(points).max() / (np.abs(matrix).max() or 1.0)
    return (reach * unit for reach in REACHES)


def _is_rounding(values: NDArray[np.float64], matrix: NDArray[np.float64], states: NDArray[np.float64]) -> bool:
    """Whether values are no more than what rounding leaves of sums of products of the two."""
    return bool(np.abs(values).max() <= ROUNDING * np.abs(matrix).max() * np.abs(states).max())


def _only_linear(kind: Kind) -> Kind:
    return Kind(f"linear {kind.name}, undecided", 0 if kind.unstable else -1, kind.unstable, 2 - kind.unstable)
