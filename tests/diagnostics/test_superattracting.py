"""Orbits whose Jacobians are as small as their own errors: their exponents are known from above only."""

import re

import numpy as np
import pytest

from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.systems import from_function

STEPS = 200
# Every multiplier of where these end is 0, so that their exponents are −∞.
SUPERATTRACTING = {
    "the logistic map's fixed point": lambda h, x: 2 * h * (1 - h),
    "of third order": lambda h, x: 0.7 + (h - 0.7) ** 3,
}


@pytest.mark.parametrize("name", SUPERATTRACTING)
def test_exponents_at_a_superattracting_end_are_bounded_from_above_only(name):
    system, start = from_function(SUPERATTRACTING[name], state_size=1), 0.3
    ds = lyapunov(system, steps=STEPS, initial_state=[start])
    value = ds["exponent"].values[0, 0]
    assert value == -np.inf or (value < -10 and ds["exponent_error"].values[0, 0] == np.inf)
    if value > -np.inf:
        told = float(re.search(r"is at most −([\d.]+) nat/step", ds.attrs["verdict"])[1])
        assert -value * (1 - 1e-3) < told <= -value
    for limit in (-100.0, -1.0):
        judged = eigenvalue_bounds(system, np.zeros((STEPS, 0)), initial_state=[start], max_exponent=limit)
        assert judged["outcome"].item() in ("holds", "undecided" if limit < -10 else "holds")
