"""How numbers with errors are judged: against exact truths, and never wrong whatever the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynlab.diagnostics.eigenvalue_bounds.judgement import AT_THE_BOUND, HOLDS, UNDECIDED, VIOLATED, judged, overall

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    "values, errors, limit, is_upper, outcome, index",
    [
        ([0.5, 0.9], [0.1, 0.05], 1.0, True, HOLDS, 1),
        ([0.5, 0.9], [0.1, 0.2], 1.0, True, AT_THE_BOUND, 1),
        ([1.3, 1.1], [1.0, 0.05], 1.0, True, VIOLATED, 1),  # the larger one is not known to be beyond
        ([1.3, 1.1, NAN], [0.1, 0.05, 0.1], 1.0, True, VIOLATED, 0),  # whatever the third is
        ([0.5, NAN], [0.1, 0.1], 1.0, True, UNDECIDED, 1),
        ([0.5, 2.0], [0.1, INF], 1.0, True, UNDECIDED, 1),
        ([-20.5], [1.0], -20.0, False, AT_THE_BOUND, 0),
        ([-INF], [NAN], -20.0, False, VIOLATED, 0),  # exactly zero: no error to ask for
        ([-INF], [NAN], 20.0, True, HOLDS, 0),
        ([INF], [NAN], 20.0, True, VIOLATED, 0),
    ],
)
def test_the_outcome_and_the_number_that_shows_it(values, errors, limit, is_upper, outcome, index):
    found = judged(np.array(values), np.array(errors), **{"high" if is_upper else "low": limit})
    assert (found.outcome, found.index) == (outcome, (index,))


numbers = st.floats(-1e3, 1e3)


@given(st.lists(st.tuples(numbers, st.floats(0, 10), st.floats(-1, 1)), min_size=1, max_size=8), numbers, st.booleans())
def test_a_true_value_within_its_error_is_never_judged_wrongly(drawn, limit, is_upper):
    """The truth lies anywhere within the error; ``holds`` and ``violated`` must be true of it."""
    measured, errors, places = np.array(drawn).T
    truth = measured + 0.999 * places * errors
    found = judged(measured, errors, **{"high" if is_upper else "low": limit})
    keeps = truth <= limit if is_upper else truth >= limit
    if found.outcome == HOLDS:
        assert keeps.all()
    elif found.outcome == VIOLATED:
        assert not keeps[found.index]
    else:
        assert found.outcome == AT_THE_BOUND
        assert abs(found.margin) <= found.error


@pytest.mark.parametrize(
    "outcomes, lenient, strict",
    [
        ([HOLDS, AT_THE_BOUND], HOLDS, UNDECIDED),
        ([UNDECIDED, HOLDS], UNDECIDED, UNDECIDED),
        ([UNDECIDED, VIOLATED, AT_THE_BOUND], VIOLATED, VIOLATED),
    ],
)
def test_all_bounds_together(outcomes, lenient, strict):
    assert overall(outcomes, strict=False) == lenient
    assert overall(outcomes, strict=True) == strict
