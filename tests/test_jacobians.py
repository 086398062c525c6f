"""Jacobians by automatic differentiation, and along trajectories, against what differentiation by hand gives."""

import pytest
import torch
from conformance.test_systems import CASES, TIMES

import problems
from dynlab.jacobians import along, automatic_jacobian, input_jacobian, jacobian, ungated_matrices
from dynlab.simulation import orbit
from dynlab.systems import create, from_function, frozen
from dynlab.systems.held import Held
from dynlab.systems.textbook import LinearMap
from dynlab.systems.torch_layers import torch_layer


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def test_automatic_jacobian_of_a_linear_map_is_its_matrix():
    matrix = problems.LINEAR["companion"][0]
    found = automatic_jacobian(LinearMap(matrix), draw(2, 4, 3), draw(4, 0))
    expected = torch.tensor(matrix, dtype=torch.float64).expand(2, 4, 3, 3)
    torch.testing.assert_close(found.dense(), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("shape", [(), (4,), (2, 4)])
def test_a_function_is_differentiated_at_every_element_of_the_batch(shape):
    # h' = (sin(h₁ h₂), h₁ x): ∂h'/∂h = ((h₂ cos, h₁ cos), (x, 0))
    system = from_function(
        lambda h, x: torch.stack([torch.sin(h[..., 0] * h[..., 1]), h[..., 0] * x[..., 0]], dim=-1), 2, 1
    )
    h, x = draw(*shape, 2), draw(1)
    cosine = torch.cos(h[..., 0] * h[..., 1])
    rows = [h[..., 1] * cosine, h[..., 0] * cosine, x[0].expand(shape), torch.zeros(shape, dtype=torch.float64)]
    found = jacobian(system, h, x).dense()
    torch.testing.assert_close(found, torch.stack(rows, dim=-1).reshape(*shape, 2, 2), rtol=0, atol=1e-15)


def test_step_numbers_reach_the_automatic_jacobian():
    # Another rate at each step: with one inner step from h, J = I + 2 η_t (D P U − I).
    system = frozen(create("ernn", input_size=1, state_size=3, length=4, rank=2))
    system.eta.copy_(torch.tensor([[0.0, 0.25, 0.5, 0.0]]))
    h, x, t = draw(2, 1, 3), draw(4, 1), torch.arange(4)
    found = automatic_jacobian(system, h, x, t).dense()
    identity = torch.eye(3, dtype=torch.float64)
    assert found.shape == (2, 4, 3, 3)
    torch.testing.assert_close(found[:, [0, 3]], identity.expand(2, 2, 3, 3), rtol=0, atol=0)
    changed = [(found[:, k] - identity).abs().max() for k in (1, 2)]
    assert min(changed) > 0.1


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_product_along_a_trajectory_is_the_derivative_of_its_end(name):
    torch.manual_seed(6)
    system = frozen(create(name, input_size=2, hidden_size=3, num_layers=2))
    inputs, start = draw(7, 2), 0.5 * draw(system.state_size)
    matrices = along(system, orbit(system, inputs, start), inputs).dense()
    assert matrices.shape == (7, system.state_size, system.state_size)
    product = torch.linalg.multi_dot(list(matrices.flip(0)))
    whole = torch.autograd.functional.jacobian(lambda h: orbit(system, inputs, h)[-1], start)
    torch.testing.assert_close(product, whole, rtol=1e-9, atol=1e-12)


def test_what_is_neither_map_nor_flow_is_refused():
    with pytest.raises(TypeError, match="neither a Map nor a Flow"):
        automatic_jacobian(torch.nn.Linear(1, 1), draw(1), draw(0))


@pytest.mark.parametrize("name, config", CASES, ids=lambda part: part if isinstance(part, str) else len(part))
def test_the_derivative_by_the_input_of_every_system(name, config):
    """By reverse differentiation of a whole batch, without vmap, and by central differences."""
    torch.manual_seed(1)
    system = frozen(create(name, **config))
    states, inputs, times = draw(2, TIMES, system.state_size), draw(2, TIMES, system.input_size), torch.arange(TIMES)
    found = input_jacobian(system, states, inputs, times).dense()
    found = found.expand(2, TIMES, system.state_size, system.input_size)
    evolve = system.velocity if hasattr(system, "velocity") else system.step
    # no element of the batch sees another's input
    summed = torch.autograd.functional.jacobian(lambda given: evolve(states, given, times).sum(dim=(0, 1)), inputs)
    torch.testing.assert_close(found, summed.permute(1, 2, 0, 3), rtol=1e-10, atol=1e-10)
    step = 1e-5
    for column in range(system.input_size):
        off = step * torch.eye(system.input_size, dtype=torch.float64)[column]
        slope = (evolve(states, inputs + off, times) - evolve(states, inputs - off, times)) / (2 * step)
        torch.testing.assert_close(found[..., column], slope, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name, config", CASES, ids=lambda part: part if isinstance(part, str) else len(part))
@pytest.mark.parametrize("by_input", [False, True])
def test_without_a_graph_the_automatic_jacobian_of_every_system_is_the_same(name, config, by_input):
    torch.manual_seed(1)
    system = frozen(create(name, **config))
    given = draw(2, TIMES, system.state_size), draw(2, TIMES, system.input_size), torch.arange(TIMES)
    with torch.enable_grad():
        each = automatic_jacobian(system, *given, by_input=by_input).dense()
    with torch.no_grad():
        rows = automatic_jacobian(system, *given, by_input=by_input).dense()
    torch.testing.assert_close(rows, each, rtol=1e-13, atol=1e-13)


def written_on(h, x):
    h[..., 0] += 3 * x.sum() + 1
    return torch.tanh(h)


WEIGHT = torch.tensor([[0.5, -1.0], [2.0, 0.3]], dtype=torch.float64, requires_grad=True)
STRANGERS = {
    "a sum over all rows": lambda h, x: torch.tanh(2 * h) * (1 - (h * h).sum()),
    "written on": written_on,
    "a constant": lambda h, x: torch.ones_like(h),
    "a shift": lambda h, x: h + 0.1,
    "one row for all": lambda h, x: torch.ones(2, dtype=torch.float64),
    "weights and no state": lambda h, x: torch.ones_like(h.detach()) @ WEIGHT,
    "weights that are trained": lambda h, x: torch.sigmoid(h @ WEIGHT),
}


@pytest.mark.parametrize("f", STRANGERS.values(), ids=STRANGERS)
def test_a_function_is_differentiated_as_of_one_state(f):
    """Of what a function makes of one state at a time, the quotients of differences, whatever it makes of rows."""
    system, states, none = from_function(f, state_size=2), draw(6, 2), draw(0)
    states[0] = 0.5  # no state of all is 0, where sums over all rows would not tell
    with torch.no_grad():
        found = automatic_jacobian(system, states, none).dense()
        assert found.shape == (6, 2, 2)
        assert not found.requires_grad
        for h, matrix in zip(states, found, strict=True):
            columns = [(f(h + e, none) - f(h - e, none)) / 2e-5 for e in 1e-5 * torch.eye(2, dtype=torch.float64)]
            torch.testing.assert_close(matrix, torch.stack(columns, dim=-1), rtol=0, atol=1e-8)
        found.diagonal(dim1=-2, dim2=-1).sub_(1)  # as Newton's method does: they share no memory


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.GRU(3, 5),
        torch.nn.LSTM(3, 5),
        torch.nn.LSTM(3, 5, proj_size=2),
        torch.nn.GRU(3, 4, num_layers=3),
        torch.nn.LSTM(3, 4, num_layers=3),
        torch.nn.LSTM(3, 4, num_layers=2, proj_size=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_the_derivative_of_an_ungated_residual_is_that_of_automatic_differentiation(module, size):
    """In a unit of its own too, and where gates are all but shut."""
    system = frozen(torch_layer(module))
    generator = torch.Generator().manual_seed(0)
    held = Held(system, torch.randn(3, generator=generator, dtype=torch.float64), unit=0.5)
    states = size * torch.randn(7, system.state_size, generator=generator, dtype=torch.float64)
    truth = torch.func.vmap(torch.func.jacrev(held.ungated))(states)
    found = ungated_matrices(held, states)
    torch.testing.assert_close(found, truth, rtol=1e-12, atol=1e-14 * float(truth.abs().max()))
