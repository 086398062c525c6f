"""The small grammar of all verdicts: counts, ranges and errors."""

import numpy as np
import pytest

from dynlab.wording import among, over, typically, with_error


def test_a_range_is_told_where_its_ends_are_written_differently():
    assert among(np.array([-19.11, -19.13]), 2) == " (median of 2 samples)"
    assert among(np.linspace(-19.1, -18.2, 1536), 1536) == " (median of 1,536 samples, range e^−19.1 to e^−18.2)"


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


@pytest.mark.parametrize(
    "value, error, said",
    [
        (-0.0352, 0.0371, "−0.035 ± 0.037"),
        (0.0358, 0.0398, "0.036 ± 0.040"),
        (0.0004, 0.04, "0.0004 ± 0.040"),
        (12.0, 40.0, "12 ± 40"),
        (1.26e-9, 1.4e-9, "1.3e−09 ± 1.4e−09"),
    ],
)
def test_an_error_of_two_figures_shows_one_more_of_its_number(value, error, said):
    assert with_error(value, error, figures=2) == said


def test_a_quantity_is_its_median_where_it_varies():
    assert typically([0.5, 0.5]) == "is 0.5"
    assert typically([0.5, 0.75, 2.0]) == "is 0.75 in the median (range 0.5 to 2)"


def test_steps_of_which_the_first_are_discarded_are_the_last():
    assert over(116, "16 sequences of har2 (no task is known)", of=1280) == (
        "the last 116 of 1,280 steps of 16 sequences of har2 (no task is known)"
    )
    assert over(1, "", of=1) == "1 step"
