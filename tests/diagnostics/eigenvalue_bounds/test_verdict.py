"""What is said of bounds: the digits that tell a number from its bound, and bounds that no number keeps."""

import numpy as np
import pytest

import dynlab as dl
from dynlab.errors import UserError
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


def test_bounds_that_no_gradient_keeps_are_named_as_options():
    system = from_function(lambda h, x: h / 2, state_size=1)
    sentence = (
        r"^--min-log-gradient \(min_log_gradient=\) is 3, above --max-log-gradient \(max_log_gradient=\), 1: no "
        r"gradient keeps both, so make the first smaller or the second larger\.$"
    )
    with pytest.raises(UserError, match=sentence):
        dl.eigenvalue_bounds(system, np.zeros((4, 0)), min_log_gradient=3, max_log_gradient=1)
