"""Kinds against matrices built from eigenvalues and Jordan forms that are known."""

from fractions import Fraction

import numpy as np
import pytest

from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.exact_kinds import exact_kind
from dynlab.numerics.kinds import kind_of


def similar(matrix):
    """S A S⁻¹ in rational arithmetic, for S over the integers with determinant 1: a matrix of the same kind."""
    (p, q), (r, s) = (5, 2), (12, 5)
    a, b, c, d = map(Fraction, matrix.split())
    left = [[p * a + q * c, p * b + q * d], [r * a + s * c, r * b + s * d]]
    return [[row[0] * s - row[1] * r, -row[0] * q + row[1] * p] for row in left]


FLOWS = [
    ("-1 0 0 -3", "stable node", 1, 0),
    ("1/3 0 0 3", "unstable node", 0, 2),
    ("-0.15 -2 2 -0.15", "stable focus", 1, 0),
    ("1e-30 -2 2 1e-30", "unstable focus", 0, 2),
    ("0 -2 2 0", "center", 1, 0),
    ("1 0 0 -1e-30", "saddle", 0, 1),
    ("-2 0 0 -2", "stable star", 1, 0),
    ("2 -2 0 2", "unstable improper node", 0, 2),
    ("0 0 0 -1", "line of equilibria", 1, 0),
    ("0 1 0 0", "line of equilibria", 0, 0),
    ("0 0 0 0", "plane of equilibria", 1, 0),
]
MAPS = [
    ("0.5 0 0 -0.4", "stable node", 1, 0),
    ("0.4 0 0 -0.5", "stable flip node", 1, 0),
    ("0.5 0 0 -2", "flip saddle", 0, 1),
    ("0.985 -0.2 0.2 0.985", "unstable focus", 0, 2),
    ("0.6 -0.8 0.8 0.6", "center", 1, 0),
    ("-3 0 0 -3", "unstable flip star", 0, 2),
    ("-0.5 1 0 -0.5", "stable flip improper node", 1, 0),
    ("0 1 0 0", "stable improper node", 1, 0),
    ("1 1 0 1", "line of equilibria", 0, 0),
    ("1 0 0 -1", "flip line of equilibria", 1, 0),
    ("-1 0 0 0.5", "line of period-2 points", 1, 0),
    ("-1 1 0 -1", "line of period-2 points", 0, 0),
    ("-1 0 0 -1", "plane of period-2 points", 1, 0),
]


@pytest.mark.parametrize("is_map, row", [(False, row) for row in FLOWS] + [(True, row) for row in MAPS])
def test_the_exact_kind(is_map, row):
    matrix, name, stable, unstable = row
    assert exact_kind(similar(matrix), is_map=is_map) == (name, stable, unstable, 0)


def test_exact_and_numeric_kinds_agree_wherever_the_numbers_decide():
    generator = np.random.default_rng(0)
    agreed = 0
    for matrix in generator.integers(-3, 4, (500, 2, 2)):
        rational = [[Fraction(int(entry), 2) for entry in row] for row in matrix]
        values, errors, _ = eigenvalues(matrix / 2)
        for exact, numeric in (
            (exact_kind(rational), kind_of(values, errors, is_flow=True)),
            (exact_kind(rational, is_map=True), kind_of(values, errors, is_flow=False)),
        ):
            decided = not numeric.name.startswith("undecided")
            agreed += decided
            assert numeric == exact if decided else numeric.stable in (-1, exact.stable)
    assert agreed > 600


OF_FLOWS = [
    ([-1, -2, -3], "stable node", 1, 0, 0),
    ([-1 + 1j, -1 - 1j, -2], "stable focus", 1, 0, 0),
    ([-1, -2 + 1j, -2 - 1j], "stable node", 1, 0, 0),
    ([1 + 1j, 1 - 1j, -3], "saddle-focus", 0, 2, 0),
    ([1, -2 + 1j, -2 - 1j], "saddle-focus", 0, 1, 0),
    ([1, -1, -2 + 1j, -2 - 1j], "saddle", 0, 1, 0),
    ([1e-13 + 2j, 1e-13 - 2j], "undecided, near center", -1, 0, 2),
    ([1e-13, -3], "undecided, eigenvalue near 0", -1, 0, 1),
    ([1e-13, 3], "undecided, near unstable node", 0, 1, 1),
    ([-1 + 1e-13j, -1 - 1e-13j], "undecided, near stable improper node", 1, 0, 0),
    ([np.nan, 1], "undecided, eigenvalues not finite", -1, 1, 1),
]
OF_MAPS = [
    ([-2.0], "unstable flip node", 0, 1, 0),
    ([1 - 1e-13], "undecided, multiplier near 1", -1, 0, 1),
    ([-1 + 1e-13, 0.5], "undecided, multiplier near −1", -1, 0, 1),
    ([0.6 + 0.8j, 0.6 - 0.8j, 0.1], "undecided, near center", -1, 0, 2),
    ([-1.5, 0.5 + 0.5j, 0.5 - 0.5j], "flip saddle-focus", 0, 1, 0),
    ([0.5, -0.5], "stable flip node", 1, 0, 0),
]


@pytest.mark.parametrize("is_flow, row", [(True, row) for row in OF_FLOWS] + [(False, row) for row in OF_MAPS])
def test_the_kind_in_any_dimension(is_flow, row):
    eigenvalues, *expected = row
    assert kind_of(eigenvalues, 1e-12, is_flow) == tuple(expected)
