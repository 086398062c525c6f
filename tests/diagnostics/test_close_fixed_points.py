"""Fixed points that lie nearer to each other than the search's tolerance on residuals, or nearly meet."""

import numpy as np
import pytest

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems import from_function

AT = 0.3


def listed(step, size=1):
    ds = fixed_points(from_function(step, state_size=size))
    return ds, ds["fixed_point_state"].values[ds["status"].values == "fixed point"]


@pytest.mark.parametrize("apart, steep", [(1e-6, 1e4), (1e-8, 1e6)])
def test_of_two_steep_roots_each_is_listed_once(apart, steep):
    """h + k (h − a)(h − a − d): between the roots the residual is k d²/4, below the tolerance, and J − I is 0."""
    ds, states = listed(lambda h, x: h + steep * (h - AT) * (h - AT - apart))
    assert np.abs(np.sort(states[:, 0]) - [AT, AT + apart]).max() < 1e-14
    order = np.argsort(ds["fixed_point_state"].values[:, 0])
    wrong = np.abs(ds["eigenvalue"].values[order, 0] - [1 - steep * apart, 1 + steep * apart])
    assert (wrong <= ds["eigenvalue_error"].values[order, 0]).all()
    assert ds["stable"].values[order].tolist() == [1, 0]
