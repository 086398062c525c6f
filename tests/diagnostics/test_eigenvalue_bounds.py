"""What is measured for each bound, against closed forms; and errors that are honest."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynlab as dl
from dynlab.diagnostics.eigenvalue_bounds.judgement import AT_THE_BOUND, HOLDS, UNDECIDED, VIOLATED, judged
from dynlab.systems import Euler, create
from problems import CRITICAL_STEP_DIFF, PLANAR

INF, NAN = np.inf, np.nan


def outcome(ds, name):
    return str(ds["outcome"].sel(bound=name).values)


def number(ds, variable, name):
    return float(ds[variable].sel(bound=name))


@pytest.mark.parametrize(
    "factor, outcomes", [(0.9, ["holds"] * 4), (1.0, ["at the bound", "holds", "at the bound", "at the bound"])]
)
def test_a_linear_map_is_measured_exactly(factor, outcomes):
    limits = {"max_modulus": 1.0, "max_log_gradient": 0.0, "max_exponent": 0.0}
    limits["min_log_gradient"] = 400 * math.log(0.9) - 1
    system = dl.from_function(lambda h, x: h * h.new_tensor([factor, 0.5 * factor]), state_size=2)
    ds = dl.eigenvalue_bounds(system, np.zeros((400, 0)), **limits)
    steps = 399  # from h_1 to h_T
    exact = [factor, steps * math.log(factor), steps * math.log(factor), math.log(factor)]
    np.testing.assert_allclose(ds["measured"], exact, rtol=1e-12, atol=1e-13)
    assert (np.abs(ds["measured"].values - exact) <= ds["error"].values + 1e-15 * np.abs(exact)).all()
    assert ds["outcome"].values.tolist() == outcomes


def test_where_it_is_violated():
    """|λ| = |x_t|, largest in sample 2 at step 5."""
    system = dl.from_function(lambda h, x: h * x, state_size=1, input_size=1)
    inputs = np.full((4, 9, 1), 0.5)
    inputs[2, 4] = -3.0
    ds = dl.eigenvalue_bounds(system, inputs, max_modulus=2.0)
    assert [int(ds[f"where_{word}"].values[0]) for word in ("sample", "step", "mode")] == [2, 5, 0]
    found = [number(ds, name, "max_modulus") for name in ("measured", "margin", "violations", "compared")]
    assert found == [3.0, -1.0, 1, 36]


@pytest.mark.parametrize("step_size, told", [(0.1, "violated"), (CRITICAL_STEP_DIFF, "at the bound"), (0.05, "holds")])
def test_the_real_part_is_the_flows_and_the_modulus_the_maps(step_size, told):
    """W_diff: the flow is stable at every step size, Euler's map only below the critical one."""
    system = Euler(create("linear", matrix=PLANAR["diff"].tolist()), step_size)
    ds = dl.eigenvalue_bounds(system, np.zeros((12, 0)), max_modulus=1.0, max_real=0.0)
    assert number(ds, "measured", "max_real") == pytest.approx(-0.15, abs=1e-14)
    modulus = math.hypot(1 - 0.15 * step_size, 2 * step_size)
    assert number(ds, "measured", "max_modulus") == pytest.approx(modulus, abs=1e-14)
    assert [outcome(ds, name) for name in ("max_real", "max_modulus")] == ["holds", told]


def test_an_orbit_that_diverges_is_undecided_or_violated_never_held():
    """h ← h² from 2: λ = 2 h_{t−1} grows beyond every float."""
    system = dl.from_function(lambda h, x: h**2, state_size=1)
    limits = {"max_modulus": 1.0, "max_log_gradient": 20.0, "min_log_gradient": -20.0}
    ds = dl.eigenvalue_bounds(system, np.zeros((20, 0)), initial_state=[2.0], **limits)
    assert outcome(ds, "max_modulus") == "violated"
    assert outcome(ds, "max_log_gradient") == outcome(ds, "min_log_gradient") == "undecided"
    assert "diverged" in str(ds["reason"].sel(bound="max_log_gradient").values)


@pytest.mark.parametrize(
    "values, errors, limit, is_upper, outcome, index",
    [
        ([0.5, 0.9], [0.1, 0.05], 1.0, True, HOLDS, 1),
        ([0.5, 0.9], [0.1, 0.2], 1.0, True, AT_THE_BOUND, 1),
        ([1.3, 1.1], [1.0, 0.05], 1.0, True, VIOLATED, 1),  # the larger one is not known to be beyond
        ([1.3, 1.1, NAN], [0.1, 0.05, 0.1], 1.0, True, VIOLATED, 0),  # whatever the third is
        ([0.5, 2.0], [0.1, INF], 1.0, True, UNDECIDED, 1),
        ([-20.5], [1.0], -20.0, False, AT_THE_BOUND, 0),
        ([-INF], [NAN], -20.0, False, VIOLATED, 0),  # exactly zero: no error to ask for
    ],
)
def test_the_outcome_and_the_number_that_shows_it(values, errors, limit, is_upper, outcome, index):
    found, where = judged(np.array(values), np.array(errors), **{"high" if is_upper else "low": limit})
    assert (found["outcome"], where) == (outcome, (index,))


numbers = st.floats(-1e3, 1e3)


@given(st.lists(st.tuples(numbers, st.floats(0, 10), st.floats(-1, 1)), min_size=1, max_size=8), numbers, st.booleans())
def test_a_true_value_within_its_error_is_never_judged_wrongly(drawn, limit, is_upper):
    """The truth lies anywhere within the error; ``holds`` and ``violated`` must be true of it."""
    measured, errors, places = np.array(drawn).T
    truth = measured + 0.999 * places * errors
    found, where = judged(measured, errors, **{"high" if is_upper else "low": limit})
    keeps = truth <= limit if is_upper else truth >= limit
    if found["outcome"] == HOLDS:
        assert keeps.all()
    elif found["outcome"] == VIOLATED:
        assert not keeps[where]
    else:
        assert found["outcome"] == AT_THE_BOUND
        assert abs(found["margin"]) <= found["error"]
