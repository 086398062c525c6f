"""The count of large singular values, and what is stated of products of factors that are not known."""

import itertools

import numpy as np
import pytest
import torch

from dynlab.numerics.graded_product import identity, multiply, number_from
from dynlab.numerics.singular_values import log_singular_values


@pytest.mark.parametrize(
    "logarithms, errors, number",
    [
        ([2.0, -1.0, -5.0], [1e-9, 1e-9, 1e-9], 2),
        ([2.0, -5.0, -30.0], [1e-9, 1e-9, np.inf], 1),  # σ falls: what comes after one below 0.1 is below as well
        ([2.0, 1.0], [1e-9, 3.0], 2),  # not resolved, and certainly above
        ([2.0, -1.0], [1e-9, np.inf], np.nan),
        ([-np.inf, -np.inf], [0.0, 0.0], 0),
    ],
)
def test_singular_values_are_counted_where_they_are_told(logarithms, errors, number):
    values, wrong = np.array([logarithms]), np.array([errors])
    found = number_from(values - wrong, values + wrong, np.log(0.1))
    np.testing.assert_array_equal(found, [number])


def products_at_kinks(seed):
    """Factors diag(s) W with errors, some s not known but to lie in [0, 1]; and the product's ln σ, least and largest.

    Of these the extremes over s = 0, ½ and 1 are taken, each unknown one by itself.
    """
    draws = np.random.default_rng(seed)
    n, steps = draws.integers(2, 5), draws.integers(2, 6)
    W = draws.standard_normal((n, n)) * np.exp(draws.normal(0, 1.5, (n, n))) * (draws.random((n, n)) < 0.6)
    slopes = draws.choice([0.0, 1.0, np.nan], (steps, n), p=[0.3, 0.5, 0.2])
    unknown, transposed = np.argwhere(np.isnan(slopes))[:6], draws.random() < 0.5
    known = slopes.copy()
    known[np.isnan(slopes)] = 0
    slopes[np.isnan(slopes)] = 0
    slopes[tuple(unknown.T)] = np.nan
    factors = [(row[:, None] * W, np.isnan(full)[:, None] * np.abs(W)) for row, full in zip(known, slopes, strict=True)]
    values = []
    for chosen in itertools.product([0.0, 0.5, 1.0], repeat=len(unknown)):
        known[tuple(unknown.T)] = chosen
        matrices = [row[:, None] * W for row in known]
        partial = itertools.accumulate((m.T if transposed else m for m in matrices), lambda so_far, m: m @ so_far)
        with np.errstate(divide="ignore"):
            values.append([np.log(np.linalg.svd(each, compute_uv=False)) for each in partial])
    pairs = [tuple(torch.tensor((part.T if transposed else part)[None]) for part in pair) for pair in factors]
    return pairs, np.min(values, axis=0), np.max(values, axis=0)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_stated_of_products_with_unknown_slopes_holds_whatever_they_are(seed):
    factors, least, largest = products_at_kinks(seed)
    product = identity(*factors[0][0].shape[:2], factors[0][0])
    for step, (factor, wrong) in enumerate(factors):
        product = multiply(factor, product, wrong)
        value = log_singular_values(product.scales().numpy(), product.rows.numpy())[0]
        error = product.error()[0].numpy()
        told = (error < 0.5) & (largest[step] > largest[step, 0] - 15)  # below it the truth is rounding
        assert (value[told] - error[told] <= least[step][told] + 1e-9).all()
        assert (value[told] + error[told] >= largest[step][told] - 1e-9).all()
        assert (error > 0)[largest[step] > -20].all()
