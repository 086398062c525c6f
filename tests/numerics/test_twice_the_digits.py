"""Sums of products against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from dynlab.numerics.twice_the_digits import dot, two_product, two_sum


def numbers(generator, shape):
    return generator.standard_normal(shape) * 10.0 ** generator.integers(-8, 9, shape)


def test_sums_and_products_lose_nothing():
    generator = np.random.default_rng(0)
    a, b = numbers(generator, (2, 2000))
    for exact, (high, low) in ((Fraction.__add__, two_sum(a, b)), (Fraction.__mul__, two_product(a, b))):
        for x, y, one, rest in zip(*(each.tolist() for each in (a, b, high, low)), strict=True):
            assert exact(Fraction(x), Fraction(y)) == Fraction(one) + Fraction(rest)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 129])
def test_a_dot_product_that_cancels_has_twice_the_digits(count):
    """The last term is minus the others' sum, rounded: what is left is 1e-16 of the terms, and known to 1e-16 of it."""
    generator = np.random.default_rng(count)
    a, b = numbers(generator, (2, 50, count + 1))
    a[:, -1], b[:, -1] = -np.einsum("ij,ij->i", a[:, :-1], b[:, :-1]), 1.0
    high, low, error = dot(a, b)
    for row in range(50):
        exact = sum(
            (Fraction(x) * Fraction(y) for x, y in zip(a[row].tolist(), b[row].tolist(), strict=True)), Fraction(0)
        )
        wrong = abs(exact - Fraction(high[row]) - Fraction(low[row]))
        size = float(np.abs(a[row] * b[row]).sum())
        assert wrong <= Fraction(error[row])
        assert error[row] <= 1e-27 * size
