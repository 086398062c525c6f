"""What no choice of coordinates, order of products or precision may change, of every map in the table."""

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

import dynlab as dl
from dynlab.systems import SYSTEMS, Map, create, frozen
from dynlab.systems.examples import LENGTH as STEPS
from dynlab.systems.examples import example_config

SAMPLES = 2
ORBIT = 1e-9  # what rounding may move an orbit by, and with it a Jacobian, relatively: 1e-16 and a growth of 1e7
MAPS = [name for name in SYSTEMS if isinstance(create(name, **example_config(name)), Map)]


@pytest.fixture(params=MAPS)
def system(request):
    torch.manual_seed(3)
    return frozen(create(request.param, **example_config(request.param)))


@pytest.fixture
def inputs(system):
    return np.random.default_rng(4).standard_normal((SAMPLES, STEPS, system.input_size))


@pytest.fixture
def start(system):
    return np.random.default_rng(5).uniform(0.1, 0.4, (SAMPLES, system.state_size))


class Turned(Map):
    """The same map of states s = Q h, for an orthogonal Q."""

    def __init__(self, inner, basis):
        super().__init__(inner.state_size, inner.input_size)
        self.inner, self.basis = inner, torch.as_tensor(basis)

    def step(self, state, input, t=0):
        return self.inner.step(state @ self.basis, input, t) @ self.basis.mT


def basis_of(n):
    return np.linalg.qr(np.random.default_rng(6).standard_normal((n, n)))[0]


def close(one, one_error, two, two_error, more=ORBIT):
    """Both lie within their errors of one number; what neither states is not compared."""
    known = np.isfinite(one) & np.isfinite(two)
    assert known.any() or not np.isfinite(one).any()
    apart = np.abs(np.where(known, one, 0) - np.where(known, two, 0))
    assert (np.isneginf(one) == np.isneginf(two))[np.isfinite(one_error + two_error)].all()  # 0 for certain
    assert (apart <= np.nan_to_num(one_error + two_error, nan=np.inf) + more)[known].all()


def test_another_orthogonal_basis_changes_no_gradient_and_no_eigenvalue(system, inputs, start):
    basis, inputs = basis_of(system.state_size), inputs[:, :2]
    runs = [(system, start), (Turned(system, basis), start @ basis.T)]
    one, two = (dl.gradient(of, inputs, initial_state=at) for of, at in runs)
    for name in ("log_norm", "log_norm_frobenius"):
        close(*(each[key].values for each in (one, two) for key in (name, f"{name}_error")))
    one, two = (dl.spectrum(of, inputs, initial_state=at) for of, at in runs)
    values, others = (each["eigenvalue"].values.reshape(-1, system.state_size) for each in (one, two))
    errors, other_errors = (each["eigenvalue_error"].values.reshape(-1, system.state_size) for each in (one, two))
    doubt = ORBIT * one["condition"].values.reshape(errors.shape)  # infinite where a matrix is defective
    for a, b, a_error, b_error, more in zip(values, others, errors, other_errors, doubt, strict=True):
        apart = np.abs(a[:, None] - b)
        allowed = a_error[:, None] + b_error + more[:, None]
        within = np.where(np.isnan(allowed), True, apart <= allowed)
        assert within[linear_sum_assignment(~within)].all()


def test_a_product_forward_is_the_product_backward(system, inputs, start):
    backward = dl.gradient(system, inputs, initial_state=start).isel(time=0)
    forward = dl.end_to_end(system, inputs, initial_state=start, times=STEPS).isel(time=-1, mode=0)
    norms = (backward[name].values for name in ("log_norm", "log_norm_error"))
    close(*norms, *(forward[name].values for name in ("log_singular_value", "error_bound")), more=0)


def test_single_precision_is_wrong_by_no_more_than_it_says(system, inputs, start):
    """Over one step, from a state and an input that both precisions hold: later states are others."""
    given = inputs[:, :1].astype(np.float32), start.astype(np.float32)
    weights = {name: value.float() for name, value in system.state_dict().items() if value.is_floating_point()}
    rounded = frozen(system)
    rounded.load_state_dict({name: value.double() for name, value in weights.items()}, strict=False)
    single, double = (
        dl.gradient(rounded, given[0], initial_state=given[1], dtype=each) for each in ("float32", "float64")
    )
    close(*(each[key].values for each in (single, double) for key in ("log_norm", "log_norm_error")), more=0)
