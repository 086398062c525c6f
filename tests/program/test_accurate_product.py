"""Products as if in twice the digits, against mpmath."""

import mpmath
import numpy as np
import pytest
import torch

from dynlab.program.accurate_product import product

SIZES = (1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e307)


@pytest.mark.parametrize("terms", [1, 3, 64])
@pytest.mark.parametrize("of_matrix", [1e-300, 1e-10, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("of_vector", SIZES)
def test_every_product_is_within_its_error_whatever_the_size(of_vector, of_matrix, terms):
    """Entries of all sizes, and a result that may be subnormal or beyond the largest number."""
    generator = np.random.default_rng(terms)
    x = of_vector * generator.standard_normal((2, terms)) * 10.0 ** generator.uniform(-12, 0, (2, terms))
    matrix = of_matrix * generator.standard_normal((3, terms))
    found, error = (part.numpy() for part in product(torch.tensor(x), torch.tensor(matrix)))
    with mpmath.workdps(700):
        for i, j in np.ndindex(2, 3):
            exact = mpmath.fdot([mpmath.mpf(a) for a in x[i]], [mpmath.mpf(b) for b in matrix[j]])
            if abs(exact) > np.finfo(float).max:
                assert np.isinf(found[i, j])
            else:
                assert abs(mpmath.mpf(found[i, j]) - exact) <= error[i, j]
                assert error[i, j] <= 2.0**-1074 + 4e-16 * float(abs(exact)) + 1e-30 * of_vector * of_matrix * terms


def test_a_product_with_zero_has_no_error_and_one_with_infinity_is_nan():
    found, error = product(torch.tensor([[0.0, 0.0], [torch.inf, 1.0]]).double(), torch.eye(2).double())
    assert found[0].tolist() == error[0].tolist() == [0.0, 0.0]
    assert found[1].isnan().all()
