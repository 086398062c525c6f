"""Errors and dimensions from growth rates whose truth is known."""

import numpy as np
import pytest

from dynlab.numerics.statistics import (
    block_errors,
    kaplan_yorke_dimension,
    positive_exponent_sum,
    standard_errors,
    sure,
)

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_block_errors_are_the_errors_of_the_mean(memory):
    # growth rates a_t = memory a_{t−1} + noise: the mean over T has the variance 1/(T (1 − memory)²)
    noise = np.random.default_rng(0).standard_normal((400, 2048 + 64))
    rates = np.zeros(noise.shape)
    for t in range(1, noise.shape[1]):
        rates[:, t] = memory * rates[:, t - 1] + noise[:, t]
    growth = rates[:, 64:].cumsum(axis=1)[..., None]
    found = block_errors(growth, np.arange(1.0, 2049), 16)[:, 0]
    expected = 1 / (np.sqrt(2048) * (1 - memory))
    assert np.sqrt((found**2).mean()) == pytest.approx(expected, rel=0.06)
    assert np.std(growth[:, -1, 0] / 2048 / found) == pytest.approx(1.08, abs=0.12)  # Student's t of 15 degrees


KAPLAN_YORKE = [
    ([-0.1, -1.0], 2, 0),  # an attracting fixed point
    ([0.0, -1.0], 2, 1),  # a limit cycle, zero to rounding
    ([0.9056, 0.0, -14.5723], 3, 2 + 0.9056 / 14.5723),  # Lorenz
    ([0.5, -0.5], 2, 2),  # the sum of all is not negative
    ([0.5, -1.0], 2, 1.5),
    ([0.3, 0.2], 3, NAN),  # too few are known
    ([0.3, -0.5, NAN], 3, 1.6),
    ([0.3, -INF], 2, 1),
]
POSITIVE_SUM = [
    ([0.5, 0.1, -2.0], 3, 0.6),
    ([-0.5, -2.0], 2, 0),
    ([0.5, 0.0005, -2.0], 3, 0.5),  # the second is zero within its error
    ([0.0005, -2.0], 2, NAN),  # so is the largest
    ([0.5, 0.1], 3, NAN),
    ([0.5, -0.1, NAN], 3, 0.5),
    ([0.5, NAN], 2, NAN),
]


EDGES = [(kaplan_yorke_dimension, one) for one in KAPLAN_YORKE] + [(positive_exponent_sum, one) for one in POSITIVE_SUM]


@pytest.mark.parametrize("compute, case", EDGES)
def test_the_kaplan_yorke_dimension_and_the_sum_of_positive_exponents_at_their_edges(compute, case):
    exponents, size, expected = case
    errors, bounds = np.full(len(exponents), 1e-3), np.full(len(exponents), 1e-15)
    assert compute(np.array(exponents), errors, bounds, size) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("power", [-1.5, 1.0])
def test_growth_like_a_power_of_time_has_no_sign(power):
    elapsed = np.linspace(0, 9000, 65)[1:]
    growth = (power * np.log(1 + elapsed / 1000))[None, :, None]  # since a transient of 1,000 steps
    exponent, error = growth[0, -1, 0] / 9000, standard_errors(growth, elapsed, 16)[0, 0]
    assert abs(exponent) < sure(16) * error
    # and as a part of a growth that is exponential it lies within the error
    assert abs(exponent) < sure(16) * standard_errors(growth + 0.5 * elapsed[None, :, None], elapsed, 16)[0, 0]


@pytest.mark.parametrize("count", [4, 16])
def test_what_is_sure_of_so_many_means_fails_twice_in_a_thousand(count):
    means = np.random.default_rng(count).standard_normal((200_000, count))
    ratio = means.mean(axis=1) / (means.std(axis=1, ddof=1) / np.sqrt(count))
    assert np.mean(np.abs(ratio) > sure(count)) == pytest.approx(0.002, abs=0.0004)
    assert sure(1) == INF


# The means of 16 blocks along an orbit that comes to a cycle: the first are chaotic.
FALLING = [0.021, 0.018, 0.023, 0.011, 0.019, 0.016, 0.015, 0.016, 0.014, 0.004, -0.007, 0.011, 0.012, 0.002, 0.003]


def test_growth_that_falls_as_a_chaotic_transient_does_has_no_sign():
    growth = np.cumsum([*FALLING, -0.009])[None, :, None] * 225
    elapsed = 225.0 * np.arange(1, 17)
    error = standard_errors(growth, elapsed, 16)[0, 0]
    assert sure(16) * error > growth[0, -1, 0] / elapsed[-1]
