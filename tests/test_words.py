"""The small grammar of all verdicts: counts, ranges and errors."""

import pytest

from dynlab.words import with_error


@pytest.mark.parametrize(
    "value, error, said",
    [
        (-0.0358, 0.0418, "−0.04 ± 0.04"),
        (0.0358, 0.0049, "0.036 ± 0.005"),
        (0.004, 0.04, "0.004 ± 0.04"),
        (12.0, 40.0, "10 ± 40"),
        (0.0, 0.1, "0.00 ± 0.1"),
    ],
)
def test_a_number_and_its_error_end_at_one_place_unless_the_error_hides_the_number(value, error, said):
    assert with_error(value, error) == said
