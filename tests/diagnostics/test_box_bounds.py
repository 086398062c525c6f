"""Bounds over a box against closed forms, and against what is sampled in it."""

import math

import numpy as np
import pytest

from dynlab.diagnostics.box_bounds import box_bounds
from dynlab.systems.textbook import LinearMap
from problems import made, vanilla

LOOSE = 1e-7  # the radius of an Arb ball has 30 bits, and a box is nothing but radius


@pytest.mark.parametrize("u", [0.5, 2.0, -3.0])
def test_the_scalar_tanh_has_its_steepest_slope_at_0(u):
    ds = box_bounds(vanilla([[u]]))
    # slopes from u/cosh²(u) to u; the middle and half the width of that interval add up to its larger end
    assert float(ds["norm_bound"]) == pytest.approx(abs(u), rel=LOOSE)
    assert float(ds["norm_bound"]) >= abs(u)
    assert float(ds["abscissa_bound"]) == pytest.approx(max(u, u / math.cosh(u) ** 2), abs=3 * LOOSE)
    assert int(ds["maps_into_itself"]) == 1


def test_a_linear_map_far_from_normal_has_a_norm_near_its_spectral_radius():
    """ρ = 0.5 and ‖A‖₂ = 10: the weights are found, the norm is proved."""
    ds = box_bounds(LinearMap([[0.5, 10.0], [0.0, 0.5]]), box=1.0)
    assert 0.5 < float(ds["norm_bound"]) < 0.8
    T = ds["norm_weights"].values
    exact = np.linalg.norm(T @ np.array([[0.5, 10.0], [0.0, 0.5]]) @ np.linalg.inv(T), 2)
    assert float(ds["norm_bound"]) == pytest.approx(exact, rel=LOOSE)


FAMILIES = {
    "gru": {"hidden_size": 4},
    "lstm": {"hidden_size": 3},
    "ernn": {"state_size": 4, "length": 3, "inner_steps": 2},
    "antisymmetric-gated": {"state_size": 4, "step_size": 0.5},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_no_sampled_state_exceeds_what_is_proved(name):
    ds = box_bounds(made(name, 1, input_size=2, **FAMILIES[name]), box=0.8, at=[0.5, -1.0], samples=200)
    assert ds["sampled_norm"].values.max() <= float(ds["norm_bound"])
    assert (ds["sampled_spectral_radius"].values <= ds["sampled_norm"].values + 1e-12).all()
    assert ds["sampled_logarithmic_norm"].values.max() <= float(ds["abscissa_bound"])
    assert (ds["sampled_abscissa"].values <= ds["sampled_logarithmic_norm"].values + 1e-12).all()
