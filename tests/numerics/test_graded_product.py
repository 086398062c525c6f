"""How many singular values are told to be large, of logarithms with errors that are written down here."""

import numpy as np
import pytest

from dynlab.numerics.graded_product import number_from


@pytest.mark.parametrize(
    "logarithms, errors, number",
    [
        ([2.0, -1.0, -5.0], [1e-9, 1e-9, 1e-9], 2),
        ([2.0, -5.0, -30.0], [1e-9, 1e-9, np.inf], 1),  # σ falls: what comes after one below 0.1 is below as well
        ([2.0, -9.0], [1e-9, 3.0], 1),  # not resolved, and certainly below
        ([2.0, -1.0], [1e-9, np.inf], np.nan),
        ([2.0, np.nan], [1e-9, np.inf], np.nan),
        ([np.nan, np.nan], [np.inf, np.inf], np.nan),
        ([-np.inf, -np.inf], [0.0, 0.0], 0),
    ],
)
def test_singular_values_are_counted_where_they_are_told(logarithms, errors, number):
    found = number_from(np.array([logarithms]), np.array([errors]), np.log(0.1), 1e-3)
    np.testing.assert_array_equal(found, [number])
