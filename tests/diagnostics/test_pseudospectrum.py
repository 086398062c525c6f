"""Pseudospectra against closed forms of 2 × 2 matrices, singular values, and powers in many digits."""

import mpmath
import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.diagnostics.pseudospectrum.powers import exponential_norms, power_norms
from dynlab.systems.textbook import LinearMap
from problems import Field, lstm, vanilla

SHEAR = [[-1.0, 10.0], [0.0, -2.0]]


def norm_of_triangle(a, b, d):
    """‖[[a, b], [0, d]]‖₂."""
    sum_of_squares = a * a + b * b + d * d
    return np.sqrt((sum_of_squares + np.sqrt(np.maximum(sum_of_squares**2 - 4 * (a * d) ** 2, 0))) / 2)


@pytest.mark.parametrize("c", [0.01, 100.0])
def test_the_jordan_block_is_known_in_closed_form(c):
    ds = dl.pseudospectrum(LinearMap([[0.9, c], [0.0, 0.9]]), grid=31, steps=60)
    z = ds["x"].values + 1j * ds["y"].values[:, None]
    distance = np.abs(z - 0.9)
    exact = 2 * distance**2 / (np.sqrt(c**2 + 4 * distance**2) + c)
    np.testing.assert_allclose(ds["smallest_singular_value"], exact, rtol=1e-9, atol=1e-14)
    k = np.arange(61)
    powers = k * np.log(0.9) + np.arcsinh(k * c / 1.8)
    np.testing.assert_allclose(ds["log_power_norm"], powers, atol=1e-12)
    assert (np.abs(ds["log_power_norm"] - powers) <= ds["log_power_norm_error"] + 1e-15).all()
    assert float(ds["transient_growth"]) == pytest.approx(np.exp(powers.max()), rel=1e-12)
    # the resolvent is largest on the positive real axis: one dimension, by another method
    with mpmath.workdps(30):

        def quotient(r):
            d = r - mpmath.mpf(0.9)
            return (r - 1) * (mpmath.sqrt(c**2 + 4 * d**2) + c) / (2 * d**2)

        line = [1 + mpmath.mpf(10) ** (mpmath.mpf(e) / 50) for e in range(-300, 100)]
        best = float(max(map(quotient, line)))
    assert float(ds["kreiss_constant"]) >= max(1.0, best) * (1 - 1e-9)
    assert float(ds["kreiss_constant"]) <= max(1.0, best) * (1 + 1e-3)  # the line's spacing


SKEWED = [
    0.9999 * np.array([[1, 1e3], [0, 1]]) @ np.array([[0.6, -0.8], [0.8, 0.6]]),
    np.array([[0.999, 1e6], [0, 0.998]]),
    np.array([[2.0, 5e3, 1e-7], [3e-4, -1.0, 2e5], [1e2, 7e-6, 0.3]]),
]


@pytest.mark.parametrize("matrix", SKEWED, ids=range(len(SKEWED)))
def test_the_norms_of_powers_are_within_their_errors(matrix):
    """Against powers in 60 digits, of matrices whose entries differ in size: none is drowned."""
    found = power_norms(matrix, 60)
    with mpmath.workdps(60):
        one = mpmath.matrix(matrix.tolist())
        for k in (1, 7, 30, 60):
            largest = mpmath.svd_r(one**k, compute_uv=False)[0]
            assert abs(float(mpmath.log(largest) - float(found.log_norm[k]))) <= found.error[k] < 1e-11


@pytest.mark.parametrize(
    "matrix, duration",
    [(np.diag(np.ones(4), 1), 1000.0), (10 * np.diag(np.ones(7), 1) - np.eye(8), 20.0)],
)
def test_the_norms_of_exponentials_are_within_their_errors(matrix, duration):
    """Far from normal, small entries of e^A decide how later powers grow."""
    found = exponential_norms(matrix, duration, 10)
    with mpmath.workdps(80):
        one = mpmath.expm(mpmath.matrix(matrix.tolist()) * (mpmath.mpf(duration) / 10), method="taylor")
        power = mpmath.eye(len(matrix))
        for k in range(1, 11):
            power = power * one
            if np.isfinite(found.log_norm[k]):
                exact = mpmath.log(mpmath.svd_r(power, compute_uv=False)[0])
                assert float(abs(exact - mpmath.mpf(float(found.log_norm[k])))) <= found.error[k]
    assert np.isfinite(found.log_norm[1:]).all()


def test_a_flow_that_grows_only_between_the_times_of_the_dataset_is_seen_to_grow():
    """The shear's norm peaks at 2.5635 at t = 0.66 s; the Dataset has 0 and 50 s."""
    ds = dl.pseudospectrum(dl.create("linear", matrix=SHEAR), grid=3, steps=1, seconds=50.0)
    t = np.linspace(0.6, 0.7, 10001)
    exact = norm_of_triangle(np.exp(-t), 10 * (np.exp(-t) - np.exp(-2 * t)), np.exp(-2 * t))
    assert float(ds["transient_growth"]) == pytest.approx(exact.max(), rel=1e-8)
    assert float(ds["transient_time"]) == pytest.approx(t[exact.argmax()], abs=1e-3)


@pytest.mark.parametrize("flow", [False, True])
def test_on_a_kink_no_power_is_known(flow):
    """At 0 the map ReLU(1.5 h) has the slopes 0 and 1.5, the flow ReLU(1.5 h) − h the slopes −1 and 0.5."""
    flow_of = Field(1, lambda s, h: (torch.relu(1.5 * h) - h,))
    own = flow_of if flow else vanilla([[1.5]], activation="relu", V=[[1.0]])
    ds = dl.pseudospectrum(own, [0.0], grid=11)
    assert abs(1.5 - flow - ds["eigenvalue"].values[0]) <= ds["eigenvalue_error"].values[0]
    assert np.isnan(ds["log_power_norm"].values[1:]).all()
    assert dl.pseudospectrum(own, [0.1], grid=11)["log_power_norm"].values[-1] > 0


def test_a_large_stack_is_as_its_jacobian_taken_as_one_matrix():
    """264 states: by blocks and Lanczos, against all singular values and eigenvalues of the whole."""
    layers, n = lstm(44, 3, seed=1, inputs=3), 264
    with torch.no_grad():
        for feed in (layers.weight_ih_l1, layers.weight_ih_l2):
            feed.mul_(8)  # a stable network that grows first
    network = dl.from_module(layers)
    ds = dl.pseudospectrum(network, steps=12, at=[1.0, -1.0, 0.5], grid=11)
    state, shown = torch.zeros(n, dtype=torch.float64), torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
    matrix = torch.autograd.functional.jacobian(lambda h: network.step(h, shown, 0), state).numpy()

    def smallest(z):
        return np.linalg.svd(z * np.eye(n) - matrix, compute_uv=False)[-1]

    for row, column in ((0, 0), (6, 8)):
        exact = smallest(ds["x"].values[column] + 1j * ds["y"].values[row])
        assert float(ds["smallest_singular_value"][row, column]) == pytest.approx(exact, rel=1e-8, abs=1e-12)
    powers = [np.linalg.norm(np.linalg.matrix_power(matrix, k), 2) for k in range(13)]
    assert (np.abs(ds["log_power_norm"] - np.log(powers)) <= ds["log_power_norm_error"] + 1e-12).all()
    turn = np.exp(-2j * np.pi * 11 / 60)
    support = np.linalg.eigvalsh((turn * matrix + (turn * matrix).conj().T) / 2)[-1]
    assert (turn * ds["numerical_range"].values[11]).real == pytest.approx(support, rel=1e-9)
    kreiss, z = float(ds["kreiss_constant"]), complex(ds["kreiss_point"])
    assert 1 < kreiss <= (abs(z) - 1) / smallest(z) * (1 + 1e-9)
