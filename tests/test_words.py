"""The small grammar of all verdicts: counts, ranges and errors."""

import pytest

from dynlab.words import over, with_error


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


def test_steps_of_which_the_first_are_discarded_are_the_last():
    assert over(116, "16 sequences of har2 (no task is known)", of=1280) == (
        "the last 116 of 1,280 steps of 16 sequences of har2 (no task is known)"
    )
    assert over(1, "", of=1) == "1 step"
