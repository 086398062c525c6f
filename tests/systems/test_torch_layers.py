"""torch's own recurrent layers compute what torch does."""

import pytest
import torch
from torch import nn

from dynlab.systems import frozen
from dynlab.systems.torch_layers import layer_names, torch_layer
from dynlab.trajectories.simulation import orbit

KINDS = {
    "rnn tanh": (nn.RNN, {}),
    "rnn relu": (nn.RNN, {"nonlinearity": "relu"}),
    "gru": (nn.GRU, {}),
    "lstm": (nn.LSTM, {}),
    "lstm projected": (nn.LSTM, {"proj_size": 2}),
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
    for parameter in made.parameters():  # weights three times torch's start: gates and slopes of every size
        parameter.data.mul_(3)
    return made


def outputs(system, inputs):
    start = torch.zeros(len(inputs), system.state_size, dtype=torch.float64)
    return system.output(orbit(system, system.drive(inputs), start)[:, 1:])


@pytest.mark.parametrize("layers, two", [(1, False), (3, False), (2, True)])
def test_each_direction_of_a_stack_computes_what_torch_does(kind, layers, two):
    module, inputs = make(kind, num_layers=layers, bidirectional=two), draw(5, TIMES, INPUTS)
    for reverse, expected in enumerate(module(inputs)[0].chunk(1 + two, dim=-1)):
        output = outputs(frozen(torch_layer(module, 1, bool(reverse)) if two else torch_layer(module)), inputs)
        torch.testing.assert_close(output.flip(1) if reverse else output, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_cells_step_as_torch_does(cell):
    module = cell(INPUTS, HIDDEN).double()
    system = torch_layer(module)
    state, x = draw(5, system.state_size), draw(5, INPUTS)
    expected = torch.cat(module(x, state.chunk(2, dim=-1)), dim=-1) if cell is nn.LSTMCell else module(x, state)
    torch.testing.assert_close(system.step(state, x), expected, rtol=0, atol=1e-12)
    assert layer_names(module) == [":0"]
