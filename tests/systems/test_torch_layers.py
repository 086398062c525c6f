"""torch's own recurrent layers compute what torch does."""

import pytest
import torch
from torch import nn

from dynlab.systems import frozen
from dynlab.systems.torch_layers import layer_names, torch_layer
from dynlab.trajectories.simulation import orbit

FORWARD = {"rtol": 0, "atol": 1e-12}

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


@pytest.mark.parametrize("layers", [1, 3])
def test_stack_computes_what_torch_does(kind, layers):
    module = make(kind, num_layers=layers)
    system = frozen(torch_layer(module))
    inputs = draw(5, TIMES, INPUTS)
    states = orbit(system, system.drive(inputs), torch.zeros(5, system.state_size, dtype=torch.float64))
    torch.testing.assert_close(system.output(states[:, 1:]), module(inputs)[0], **FORWARD)


def test_directions_of_a_bidirectional_network_compute_what_torch_does(kind):
    module = make(kind, num_layers=2, bidirectional=True)
    inputs = draw(5, TIMES, INPUTS)
    forward, backward = module(inputs)[0].chunk(2, dim=-1)
    for reverse, expected in ((False, forward), (True, backward)):
        system = frozen(torch_layer(module, 1, reverse))
        assert system.network_input_size == INPUTS
        states = orbit(system, system.drive(inputs), torch.zeros(5, system.state_size, dtype=torch.float64))
        output = system.output(states[:, 1:])
        torch.testing.assert_close(output.flip(1) if reverse else output, expected, **FORWARD)


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
