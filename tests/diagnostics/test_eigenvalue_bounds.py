"""What is measured for each bound, against closed forms; and errors that are honest."""

import math

import numpy as np
import pytest

import dynlab as dl
from dynlab.systems import Euler, create
from problems import CRITICAL_STEP_DIFF, MODULUS_DIFF, PLANAR


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


@pytest.mark.parametrize(
    "step_size, modulus", [(0.1, MODULUS_DIFF), (CRITICAL_STEP_DIFF, 1.0), (0.05, math.hypot(0.9925, 0.1))]
)
def test_the_real_part_is_the_flows_and_the_modulus_the_maps(step_size, modulus):
    """W_diff: the flow is stable at every step size, Euler's map only below the critical one."""
    system = Euler(create("linear", matrix=PLANAR["diff"].tolist()), step_size)
    ds = dl.eigenvalue_bounds(system, np.zeros((12, 0)), max_modulus=1.0, max_real=0.0)
    assert number(ds, "measured", "max_real") == pytest.approx(-0.15, abs=1e-14)
    assert outcome(ds, "max_real") == "holds"
    assert number(ds, "measured", "max_modulus") == pytest.approx(modulus, abs=1e-14)
    expected = "at the bound" if modulus == 1 else "violated" if modulus > 1 else "holds"
    assert outcome(ds, "max_modulus") == expected


def test_an_orbit_that_diverges_is_undecided_or_violated_never_held():
    """h ← h² from 2: λ = 2 h_{t−1} grows beyond every float."""
    system = dl.from_function(lambda h, x: h**2, state_size=1)
    limits = {"max_modulus": 1.0, "max_log_gradient": 20.0, "min_log_gradient": -20.0}
    ds = dl.eigenvalue_bounds(system, np.zeros((20, 0)), initial_state=[2.0], **limits)
    assert outcome(ds, "max_modulus") == "violated"
    assert outcome(ds, "max_log_gradient") == outcome(ds, "min_log_gradient") == "undecided"
    assert "diverged" in str(ds["reason"].sel(bound="max_log_gradient").values)
