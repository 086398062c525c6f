"""Functions of NumPy's and JAX's: the same steps, Jacobians and results as the same functions written for torch."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.errors import UserError
from dynlab.jacobians import input_jacobian, jacobian
from dynlab.systems import from_function

W = np.random.default_rng(0).standard_normal((3, 3))
V = np.random.default_rng(1).standard_normal((3, 2))
T = {name: torch.from_numpy(matrix) for name, matrix in {"W": W, "V": V}.items()}
# A function of NumPy's (or, with jax.numpy as `np`, of JAX's), and the same of torch's.
PAIRS = {
    "recurrent": (
        lambda np: lambda h, x: np.tanh(W @ h + V @ x - 0.5),
        lambda h, x: torch.tanh(h @ T["W"].T + x @ T["V"].T - 0.5),
    ),
    "relu": (
        lambda np: lambda h, x: 0.5 * h + np.maximum(np.dot(W, h), 0) * np.sum(x**2),
        lambda h, x: 0.5 * h + torch.relu(h @ T["W"].T) * (x**2).sum(-1, keepdim=True),
    ),
    "gated": (
        lambda np: lambda h, x: np.where(h > 0, h, np.expm1(h)) / (1 + np.exp(-h)) + np.concatenate([x, x[:1]]),
        lambda h, x: torch.where(h > 0, h, torch.expm1(h)) * torch.sigmoid(h) + torch.cat([x, x[..., :1]], -1),
    ),
    "lorenz": (
        lambda np: (
            lambda h, x: np.array(
                [
                    h[0] + 0.01 * 10 * (h[1] - h[0]),
                    h[1] + 0.01 * (h[0] * (28 - h[2]) - h[1]),
                    h[2] + np.sin(h[0]) * x[0],
                ]
            )
        ),
        lambda h, x: torch.stack(
            [
                h[..., 0] + 0.01 * 10 * (h[..., 1] - h[..., 0]),
                h[..., 1] + 0.01 * (h[..., 0] * (28 - h[..., 2]) - h[..., 1]),
                h[..., 2] + torch.sin(h[..., 0]) * x[..., 0],
            ],
            -1,
        ),
    ),
}


def numbers(*shape):
    return torch.from_numpy(np.random.default_rng(2).standard_normal(shape))


def same(system, own):
    for shape in [(), (5,), (2, 4)]:
        given = numbers(*shape, 3), numbers(*shape, 2)
        np.testing.assert_allclose(system.step(*given), own.step(*given), rtol=1e-13, atol=1e-13)
        for derivative in (jacobian, input_jacobian):
            found, expected = derivative(system, *given).dense(), derivative(own, *given).dense()
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(system.step(numbers(5, 3), numbers(2)), own.step(numbers(5, 3), numbers(2)), rtol=1e-13)


@pytest.mark.parametrize("name", PAIRS)
def test_of_numpy_steps_and_jacobians_are_those_of_torch(name):
    theirs, own = PAIRS[name]
    same(from_function(theirs(np), 3, 2, arrays="numpy"), from_function(own, 3, 2))


@pytest.mark.parametrize("name", PAIRS)
def test_of_jax_too(name):
    pytest.importorskip("jax", reason="JAX is not installed")
    import jax.numpy

    theirs, own = PAIRS[name]
    same(from_function(theirs(jax.numpy), 3, 2, arrays="jax"), from_function(own, 3, 2))


def test_several_states_and_the_input_first():
    def cell(x, state):
        h, c = state
        return np.tanh(c) * x, 0.9 * c + np.sum(h) * x

    def own(x, state):
        h, c = state
        return torch.tanh(c) * x, 0.9 * c + h.sum(-1, keepdim=True) * x

    options = {"state_size": (2, 2), "input_size": 2, "order": "xh"}
    one, other = from_function(cell, arrays="numpy", **options), from_function(own, **options)
    np.testing.assert_allclose(one.step(numbers(6, 4), numbers(6, 2)), other.step(numbers(6, 4), numbers(6, 2)))
    given = numbers(4), numbers(2)
    np.testing.assert_allclose(jacobian(one, *given).dense(), jacobian(other, *given).dense())


@pytest.mark.parametrize("arrays", ["numpy", "jax"])
def test_diagnostics_give_closed_forms(arrays):
    """Three fixed points of h ← tanh(2h), 0 with the multiplier 2; ln 2 of the logistic map at r = 4."""
    numeric = np if arrays == "numpy" else pytest.importorskip("jax", reason="JAX is not installed").numpy
    memory = from_function(lambda h, x: numeric.tanh(2 * h), 1, arrays=arrays)
    found = dl.fixed_points(memory, starts=16)
    np.testing.assert_allclose(np.sort(found["fixed_point_state"].values[:, 0]), [-0.957504, 0, 0.957504], atol=1e-6)
    np.testing.assert_allclose(found["eigenvalue"].values.real.max(), 2, rtol=1e-12)
    logistic = from_function(lambda h, x: 4 * h * (1 - h), 1, arrays=arrays)
    exponents = dl.lyapunov(logistic, initial_state=[0.3], steps=2000)
    np.testing.assert_allclose(exponents["exponent"].values, np.log(2), atol=0.01)


@pytest.mark.parametrize("constant", [lambda tensor: tensor.numpy(), np.asarray])
def test_arrays_made_of_torchs_tensors_are_constants_in_every_derivative(constant):
    turning = torch.tensor([[1.2, -0.5], [0.5, 1.2]], dtype=torch.float64)  # the origin's multipliers: x (1.2 ± 0.5i)
    f = from_function(lambda h, x: np.tanh(x * (constant(turning) @ h)), 2, 1, arrays="numpy")
    found = dl.bifurcation(f, parameter="input[0]", lowest=0.7, highest=0.85, values=0, searches=1, starts=8)
    np.testing.assert_allclose(found["bifurcation_parameter"].values, [1 / 1.3], rtol=1e-12)


# What is written so for NumPy alone, and the same of torch's.
OF_NUMPY = {
    "method dot": (
        lambda h, x: 1 / (1 + np.exp(-(W.dot(h) + V.dot(x)))),
        lambda h, x: torch.sigmoid(h @ T["W"].T + x @ T["V"].T),
    ),
    "methods of the state": (
        lambda h, x: np.tanh((W @ h.copy().reshape(3, 1)).flatten() + V @ x),
        lambda h, x: torch.tanh(h @ T["W"].T + x @ T["V"].T),
    ),
    "norm": (lambda h, x: h / (1 + np.linalg.norm(h)), lambda h, x: h / (1 + h.norm(dim=-1, keepdim=True))),
    "constant": (lambda h, x: np.arange(3.0), lambda h, x: 0 * h + torch.arange(3.0)),
    "numbers beside the state": (
        lambda h, x: np.array([0.5, np.tanh(h[0]), 1]),
        lambda h, x: torch.stack([0 * h[..., 0] + 0.5, torch.tanh(h[..., 0]), 0 * h[..., 0] + 1], -1),
    ),
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_what_is_usual_in_numpy_is_understood(name):
    theirs, own = OF_NUMPY[name]
    same(from_function(theirs, 3, 2, arrays="numpy"), from_function(own, 3, 2))


def test_a_wrong_number_of_constants_is_refused_as_such():
    with pytest.raises(UserError, match=r"must return the next state, of shape \(\.\.\., 3\), got \(2,\)"):
        from_function(lambda h, x: np.zeros(2), 3, arrays="numpy").step(torch.zeros(3), torch.zeros(0))


def assigned(h, x):
    out = np.zeros_like(h)
    out[0] = h[1]
    return out


@pytest.mark.parametrize(
    "f, sentence",
    [
        (assigned, "without assignment to entries"),
        (lambda h, x: h * float(h[0]), r"write h\[0\] for float\(h\[0\]\)"),
        (lambda h, x: h if h[0] > 0 else -h, r"write numpy\.where in place of if"),
        (lambda h, x: h.astype(float), "an array of the state has no astype here"),
        (lambda h, x: h - np.var(h), r"numpy\.var has no counterpart"),  # torch's divides by n − 1
    ],
)
def test_what_cannot_be_differentiated_is_refused_in_a_sentence(f, sentence):
    with pytest.raises(UserError, match=sentence) as told:
        from_function(f, 2, arrays="numpy").step(torch.zeros(4, 2), torch.zeros(4, 0))
    assert "\n" not in str(told.value)


def test_other_arrays_are_refused():
    with pytest.raises(UserError, match="kind of arrays 'nunpy'"):
        from_function(lambda h, x: h, 1, arrays="nunpy")


def test_what_is_written_into_an_array_of_numpys_is_refused_in_a_sentence():
    def assigned(h, x):
        found = np.zeros(2)
        found[:] = np.tanh(h)
        return found

    with pytest.raises(UserError, match="without assignment to entries"):
        dl.fixed_points(from_function(assigned, 2, arrays="numpy"))


def test_what_is_changed_in_place_is_seen_by_its_views_and_not_by_the_caller():
    def step(h, x):
        y = np.tanh(h)
        first = y[:1]
        y += 0.5 * h
        y *= 2
        return np.concatenate([first, y[1:]])

    state = numbers(3)
    before = state.clone()
    found = from_function(step, 3, arrays="numpy").step(state, numbers(0))
    np.testing.assert_allclose(found, step(before.numpy().copy(), None), rtol=1e-15)
    assert torch.equal(state, before)
