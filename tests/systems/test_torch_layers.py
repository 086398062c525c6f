"""torch's own recurrent layers: their outputs, and their Jacobians by automatic differentiation of torch's code."""

import pytest
import torch
from torch import nn

from dynlab.program.differentiation import along
from dynlab.systems import frozen
from dynlab.systems.torch_layers import layer_names, torch_layer
from dynlab.trajectories.simulation import orbit

FORWARD = {"rtol": 0, "atol": 1e-12}
JACOBIAN = {"rtol": 0, "atol": 1e-9}

KINDS = {
    "rnn tanh": (nn.RNN, {}),
    "rnn relu": (nn.RNN, {"nonlinearity": "relu"}),
    "gru": (nn.GRU, {}),
    "lstm": (nn.LSTM, {}),
    "lstm projected": (nn.LSTM, {"proj_size": 2}),
    "gru without bias": (nn.GRU, {"bias": False}),
    "lstm without bias": (nn.LSTM, {"bias": False}),
}
INPUTS, HIDDEN, TIMES = 3, 4, 6


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(16), dtype=torch.float64)


def make(kind, **config):
    torch.manual_seed(17)
    module, settings = kind
    made = module(INPUTS, HIDDEN, batch_first=True, **settings, **config).double().eval()
    # Weights three times torch's start: gates and slopes of every size.
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


def joint(module, state):
    """Torch's initial states, h or (h, c) with a row for each layer, from the joint state (h₁, c₁, h₂, c₂, …)."""
    if not isinstance(module, nn.LSTM):
        return state.reshape(module.num_layers, -1)
    hidden = module.proj_size or module.hidden_size
    h, c = state.reshape(module.num_layers, -1).split([hidden, module.hidden_size], dim=-1)
    return h.contiguous(), c.contiguous()


def joined(module, states):
    """The joint state from torch's final states."""
    parts = torch.cat(states, dim=-1) if isinstance(module, nn.LSTM) else states
    return parts.reshape(-1)


@pytest.mark.parametrize("layers", [1, 3])
def test_stack_computes_what_torch_does(kind, layers):
    module = make(kind, num_layers=layers)
    system = frozen(torch_layer(module))
    inputs = draw(5, TIMES, INPUTS)
    states = orbit(system, system.drive(inputs), torch.zeros(5, system.state_size, dtype=torch.float64))
    torch.testing.assert_close(system.output(states[:, 1:]), module(inputs)[0], **FORWARD)


@pytest.mark.parametrize("layers", [2])
def test_joint_jacobian_is_the_derivative_of_torchs_own_step(kind, layers):
    module = make(kind, num_layers=layers).requires_grad_(False)
    system = frozen(torch_layer(module))
    inputs, start = draw(TIMES, INPUTS), 0.5 * draw(system.state_size)
    states = orbit(system, inputs, start)
    found = along(system, states, inputs).dense()
    for t in range(TIMES):

        def step(state, x=inputs[t : t + 1]):
            return joined(module, module(x, joint(module, state))[1])

        torch.testing.assert_close(step(states[t]), states[t + 1], **FORWARD)
        torch.testing.assert_close(found[t], torch.autograd.functional.jacobian(step, states[t]), **JACOBIAN)


@pytest.mark.parametrize("layers", [2])
def test_directions_of_a_bidirectional_network_compute_what_torch_does(kind, layers):
    module = make(kind, num_layers=layers, bidirectional=True)
    inputs = draw(5, TIMES, INPUTS)
    forward, backward = module(inputs)[0].chunk(2, dim=-1)
    for reverse, expected in ((False, forward), (True, backward)):
        system = frozen(torch_layer(module, layers - 1, reverse))
        assert system.network_input_size == INPUTS
        states = orbit(system, system.drive(inputs), torch.zeros(5, system.state_size, dtype=torch.float64))
        output = system.output(states[:, 1:])
        torch.testing.assert_close(output.flip(1) if reverse else output, expected, **FORWARD)


@pytest.mark.parametrize("reverse", [True])
def test_jacobian_of_a_direction_is_the_derivative_of_torchs_output(kind, reverse):
    # d(last output of the direction)/d(its initial state) by torch, against the product of one-step Jacobians.
    module = make(kind, num_layers=2, bidirectional=True).requires_grad_(False)
    system = frozen(torch_layer(module, 1, reverse))
    inputs, start = draw(TIMES, INPUTS), 0.5 * draw(system.state_size)
    direction = 2 + int(reverse)

    def last_output(state):
        hidden = module.proj_size or HIDDEN
        own = torch.nn.functional.one_hot(torch.tensor(direction), 4).double().unsqueeze(-1)
        h = own * state[:hidden]
        initial = (h, own * state[hidden:]) if isinstance(module, nn.LSTM) else h
        output = module(inputs, initial)[0]
        return output[0, hidden:] if reverse else output[-1, :hidden]

    driven = system.drive(inputs)
    states = orbit(system, driven, start)
    torch.testing.assert_close(system.output(states[-1]), last_output(start), **FORWARD)
    product = torch.linalg.multi_dot(list(along(system, states, driven).dense().flip(0)))
    expected = torch.autograd.functional.jacobian(last_output, start)
    torch.testing.assert_close(product[: len(expected)], expected, **JACOBIAN)


CELLS = {
    "rnn tanh": (nn.RNNCell, {}),
    "rnn relu": (nn.RNNCell, {"nonlinearity": "relu"}),
    "gru": (nn.GRUCell, {"bias": False}),
    "lstm": (nn.LSTMCell, {}),
}


@pytest.mark.parametrize("cell, settings", CELLS.values(), ids=CELLS.keys())
def test_cells_step_as_torch_does(cell, settings):
    torch.manual_seed(18)
    module = cell(INPUTS, HIDDEN, **settings).double()
    system = torch_layer(module)
    state, x = draw(5, system.state_size), draw(5, INPUTS)
    if cell is nn.LSTMCell:
        expected = torch.cat(module(x, tuple(state.chunk(2, dim=-1))), dim=-1)
    else:
        expected = module(x, state)
    torch.testing.assert_close(system.step(state, x), expected, **FORWARD)
    assert layer_names(module) == [":0"]
