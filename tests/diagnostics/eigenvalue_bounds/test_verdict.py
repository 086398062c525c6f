"""What is said of bounds: the digits that tell a number from its bound, and bounds that no number keeps."""

import numpy as np
import pytest

import dynlab as dl
from dynlab.systems import from_function


@pytest.mark.parametrize(
    "factor, limit, words",
    [
        (0.92263, 0.9226, "one-step Jacobians is 0.92263 and violates its bound, ≤ 0.9226."),
        (0.92264, 0.92263, "one-step Jacobians is 0.92264 and violates its bound, ≤ 0.92263."),
        (0.95, 0.9226, "one-step Jacobians is 0.95 and violates its bound, ≤ 0.9226."),
    ],
)
def test_a_violated_bound_and_its_number_differ_as_they_are_written(factor, limit, words):
    system = from_function(lambda h, x: factor * h, state_size=1)
    assert words in dl.eigenvalue_bounds(system, np.zeros((4, 0)), max_modulus=limit).attrs["verdict"]
