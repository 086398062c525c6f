"""Derivatives by automatic differentiation that cancel: every entry lies within its estimated bound of the true one."""

import mpmath
import numpy as np
import pytest
import torch
from torch.nn import functional

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.jacobians import belied, jacobian, jacobian_and_error
from dynlab.systems import from_function

DIGITS = 400


def softmax_slopes(h):
    """p_i (δ_ij − p_j) times 300."""
    weights = [mpmath.exp(300 * (each - max(h))) for each in h]
    p = [each / sum(weights) for each in weights]
    return [[300 * p[i] * (sum(p[:j] + p[j + 1 :]) if i == j else -p[j]) for j in range(3)] for i in range(3)]


def gelu_slope(h):
    return mpmath.erfc(-h / mpmath.sqrt(2)) / 2 + h * mpmath.exp(-h * h / 2) / mpmath.sqrt(2 * mpmath.pi)


def tanh_gelu(h):
    return h / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (h + mpmath.mpf(0.044715) * h**3)))


# A step, its Jacobian, and the states that it is taken at.
CANCELLING = {
    "softsign by hand": (lambda h, x: 2 * h / (1 + h.abs()), lambda h: [[2 / (1 + abs(h[0])) ** 2]], [[1e4], [1e8]]),
    "softsign": (lambda h, x: functional.softsign(h), lambda h: [[1 / (1 + abs(h[0])) ** 2]], [[1e8], [-3e6]]),
    "a quotient that saturates": (
        lambda h, x: (torch.exp(2 * h) - 1) / (torch.exp(2 * h) + 1),
        lambda h: [[mpmath.sech(h[0]) ** 2]],
        [[5.0], [15.0], [18.5]],
    ),
    "a root that saturates": (
        lambda h, x: h / torch.sqrt(1 + h * h),
        lambda h: [[(1 + h[0] ** 2) ** mpmath.mpf(-1.5)]],
        [[1e3], [1e6]],
    ),
    "softmax": (lambda h, x: torch.softmax(300 * h, -1), softmax_slopes, [[0.1, 0.3, -0.2], [1.0, 0.9, 0.2]]),
    "gelu": (lambda h, x: functional.gelu(h), lambda h: [[gelu_slope(h[0])]], [[-3.0], [-9.0], [-20.0], [2.5]]),
    "gelu by tanh": (
        lambda h, x: functional.gelu(h, approximate="tanh"),
        lambda h: [[mpmath.diff(tanh_gelu, h[0])]],
        [[-3.0], [-9.0], [-14.0], [2.5]],
    ),
    "a component of log softmax": (
        lambda h, x: torch.log_softmax(torch.cat([h, 0 * h], -1), -1)[..., :1],
        lambda h: [[1 / (1 + mpmath.exp(h[0]))]],
        [[5.0], [25.0], [28.0], [35.0]],
    ),
    "gelu less h": (lambda h, x: functional.gelu(h) - h, lambda h: [[gelu_slope(h[0]) - 1]], [[6.0], [10.0]]),
    "a difference of squares": (
        lambda h, x: ((h + 1e12) ** 2 - 1e24 - 2e12 * h) / 1e3 + 0.5 * h,
        lambda h: [[2 * h[0] / 1000 + mpmath.mpf("0.5")]],
        [[0.77]],
    ),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_a_derivative_that_cancels_lies_within_its_bound(name):
    step, slopes, states = CANCELLING[name]
    system = from_function(step, state_size=len(states[0]))
    for state in states:
        found, bound = jacobian_and_error(system, torch.tensor(state, dtype=torch.float64), torch.zeros(0).double())
        with mpmath.workdps(DIGITS):
            exact = np.array(slopes([mpmath.mpf(each) for each in state]))
            errors = np.vectorize(lambda a, b: float(abs(a - mpmath.mpf(b))))(exact, found.numpy())
        assert (errors <= bound.numpy()).all()


FUNCTIONS = "silu elu celu selu softplus leaky_relu hardtanh relu6 hardsigmoid hardswish logsigmoid mish gelu softsign"
OTHERS = {
    "glu": lambda y: functional.glu(torch.cat([y, y], -1)),
    "softmax": lambda y: torch.softmax(y, -1),
    "log softmax": lambda y: torch.log_softmax(y, -1),
    "layer norm": lambda y: functional.layer_norm(y, y.shape[-1:]),
    "normalised": lambda y: functional.normalize(y, dim=-1),
}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", [*FUNCTIONS.split(), *OTHERS])
def test_every_function_of_torchs_has_its_derivative(name, size):
    function = OTHERS.get(name) or getattr(functional, name)
    state = torch.linspace(0.3, 1.1, size, dtype=torch.float64)
    system = from_function(lambda h, x: function(0.5 * h + 0.1), state_size=size)
    found, bound = jacobian_and_error(system, state, torch.zeros(0).double())
    truth = torch.autograd.functional.jacobian(lambda h: function(0.5 * h + 0.1), state)
    torch.testing.assert_close(found, truth, rtol=1e-12, atol=1e-12)
    assert bound.max() < 1e-9
    assert np.isfinite(spectrum(system, np.zeros((2, 0)), initial_state=state.numpy())["eigenvalue_error"].values).all()


@pytest.mark.parametrize("step", [torch.tanh, torch.sigmoid, torch.sin, torch.relu, torch.square])
def test_what_does_not_cancel_keeps_its_digits(step):
    states = torch.tensor([0.3, -2.0, 7.0], dtype=torch.float64)
    found, bound = jacobian_and_error(from_function(lambda h, x: step(h), 3), states, torch.zeros(0))
    assert (bound <= 1e-12 * found.abs().max()).all()


UNDERFLOWING = {
    "gelu": (functional.gelu, -45.0),
    "gelu by tanh": (lambda h: functional.gelu(h, approximate="tanh"), -45.0),
    "silu": (functional.silu, -800.0),
    "mish": (functional.mish, -800.0),
    "elu": (functional.elu, -800.0),
    "selu": (functional.selu, -800.0),
    "celu": (lambda h: functional.celu(h, 0.5), -400.0),
    "logsigmoid": (functional.logsigmoid, 800.0),
    "softplus": (functional.softplus, -800.0),
    "logaddexp": (lambda h: torch.logaddexp(h, 0 * h), -800.0),
    "1/cosh": (lambda h: 1 / torch.cosh(h), -800.0),
}


@pytest.mark.parametrize("name", UNDERFLOWING)
def test_a_slope_that_underflows_is_not_told_from_zero_and_does_not_vanish_exactly(name):
    step, state = UNDERFLOWING[name]
    system = from_function(lambda h, x: step(h), state_size=1)
    ds = gradient(system, np.zeros((1, 1, 0)), initial_state=[state])
    assert np.isnan(ds["log_norm"].values[0, 0])
    assert "is not known" in ds.attrs["verdict"]


@pytest.mark.parametrize("step", [torch.relu, functional.hardtanh, functional.hardswish, functional.relu6])
def test_a_flat_piece_vanishes_exactly(step):
    ds = gradient(from_function(lambda h, x: step(h), state_size=1), np.zeros((1, 1, 0)), initial_state=[-45.0])
    assert np.isneginf(ds["log_norm"].values[0, 0])
    assert "vanishes exactly" in ds.attrs["verdict"]


def test_gradients_and_eigenvalues_of_a_sharp_softmax_are_not_told_from_zero():
    system = from_function(CANCELLING["softmax"][0], state_size=3)
    start = CANCELLING["softmax"][2][0]
    ds = spectrum(system, np.zeros((1, 0)), initial_state=start)
    assert (np.abs(ds["eigenvalue"]) <= ds["eigenvalue_error"]).all()
    assert np.isnan(gradient(system, np.zeros((1, 0)), initial_state=start)["log_norm"].values[0, 0])


class Misled(torch.autograd.Function):
    """tanh(2h), whose backward pass is another function's."""

    generate_vmap_rule = True

    @staticmethod
    def forward(h):
        return torch.tanh(2 * h)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return 0.1 * gradient


class MisledNearZero(torch.autograd.Function):
    """tanh(2h), whose backward pass is wrong where |h| < 0.05 alone."""

    @staticmethod
    def forward(ctx, h):
        ctx.save_for_backward(h)
        return torch.tanh(2 * h)

    @staticmethod
    def backward(ctx, gradient):
        (h,) = ctx.saved_tensors
        slope = 2 * (1 - torch.tanh(2 * h) ** 2)
        return gradient * torch.where(h.abs() < 0.05, torch.full_like(h, 0.1), slope)


@pytest.mark.parametrize("turn", [np.eye(2), [[0.6, -0.8], [0.8, 0.6]]])
def test_a_derivative_that_is_wrong_along_one_coordinate_is_told(turn):
    """The saddles at (±0.9575, 0) and (0, ±0.9575) have the multipliers 0.17 and 2, of which 0.1 is said to be one."""
    turn = torch.as_tensor(np.array(turn))
    system = from_function(lambda h, x: MisledNearZero.apply(h @ turn) @ turn.T, state_size=2)
    ds = fixed_points(system)
    states = ds["fixed_point_state"].values @ turn.numpy()
    wrong = (abs(states) < 0.05).any(axis=1)
    assert wrong.sum() == 5
    assert (ds["stable"].values[wrong] == -1).all()
    assert (ds["stable"].values[~wrong] == 1).all()


def quantised(h, x):
    smooth = torch.tanh(2 * h)
    return (torch.round(4 * torch.tanh(h)) / 4 - smooth).detach() + smooth


# Steps whose derivative is not what torch takes for it, a state, and the true derivative there.
BELIED = {
    "detached": (lambda h, x: torch.tanh(2 * h.detach()) + 0 * h, 0.0, 2.0),
    "detached in part": (lambda h, x: 4 * h * (1 - h.detach()), 0.3, 1.6),
    "rounded": (quantised, 0.0, 0.0),
    "a backward pass of its own": (lambda h, x: Misled.apply(h), 0.957504024077, 2 * (1 - 0.957504024077**2)),
}


@pytest.mark.parametrize("name", BELIED)
def test_a_derivative_that_the_values_belie_has_an_error_that_says_so(name):
    step, state, slope = BELIED[name]
    system = from_function(step, state_size=1)
    found, bound = jacobian_and_error(system, torch.tensor([state], dtype=torch.float64), torch.zeros(0))
    assert abs(float(found) - slope) <= float(bound)
    assert abs(float(found) - slope) > 0.05


SMALL = {  # of which torch's derivative leaves out a little
    "of a sum": (lambda h, x: 0.5 * h + 1e-2 * torch.tanh(h).detach(), 0.0, 0.51),
    "of a small sum": (lambda h, x: 0.9995 * h + 1e-3 * torch.tanh(h).detach(), 0.0, 1.0005),
    "of a norm": (lambda h, x: 0.9 * h / (1 + 1e-3 * h.detach().abs()) + 0.1, 1.0, 0.9 / 1.001**2),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_derivative_that_is_a_little_off_is_belied_too(name):
    step, state, slope = SMALL[name]
    found, bound = jacobian_and_error(
        from_function(step, state_size=1), torch.tensor([state], dtype=torch.float64), torch.zeros(0)
    )
    assert abs(float(found) - slope) <= float(bound) < 0.1


@pytest.mark.parametrize("steep", [1.0, 1e3, 1e-3, 1e7])
@pytest.mark.parametrize("state", [0.0, 1e-17, 0.3, 1e5])
def test_the_values_of_a_smooth_step_do_not_belie_it(steep, state):
    system = from_function(lambda h, x: torch.sin(steep * (h - state)) + h.square() / 7 + torch.tanh(h), state_size=1)
    h, x = torch.tensor([state], dtype=torch.float64), torch.zeros(0)
    assert not belied(system, h, x, 0, jacobian(system, h, x).dense()).any()


@pytest.mark.parametrize("centre", [1e3, 1e5, -1e7])
def test_a_flat_piece_far_from_0_is_flat_though_it_ends_nearby(centre):
    system = from_function(lambda h, x: centre + torch.clamp(2 * (h - centre), -1, 1), state_size=1)
    h, x = torch.tensor([centre + 1], dtype=torch.float64), torch.zeros(0)
    assert not belied(system, h, x, 0, jacobian(system, h, x).dense()).any()


def shifted(h, x):
    """(h₂, h₃, 0): its third power is 0."""
    return torch.cat([h[..., 1:], 0 * h[..., :1]], -1)


@pytest.mark.parametrize(
    "step, vanishes",
    [
        (shifted, True),
        (lambda h, x: shifted(h, x) + torch.relu(h - 5), True),  # units that are off
        (lambda h, x: shifted(h, x) + torch.tanh(h + 50), False),  # slopes of e^−100, which round to 0
        (lambda h, x: shifted(h, x) + torch.sigmoid(h - 800), False),
        (lambda h, x: shifted(h, x) + torch.exp(-((h + 30) ** 2)), False),
    ],
)
def test_only_a_product_that_is_0_for_certain_vanishes(step, vanishes):
    """Of the shift alone, and of units that are off, the product of 5 Jacobians is 0; of saturated ones it is not."""
    ds = gradient(from_function(step, state_size=3), np.zeros((5, 0)), initial_state=[0.1, 0.2, 0.3])
    assert bool(np.isneginf(ds["log_norm"][0, 0]) and float(ds["log_norm_error"][0, 0]) == 0) is vanishes
