"""torch's own fused kernels for its recurrent layers: the same numbers as stepping to rounding, and much faster."""

from typing import cast

import torch
from torch import Tensor

from dynlab.systems import Map
from dynlab.systems.torch_cells import Cell, GRUCell, LSTMCell, RNNCell
from dynlab.systems.torch_stacks import Stack


def fused_outputs(system: Map, inputs: Tensor) -> Tensor | None:
    """What the system shows after each of its inputs, from the zero state; None where torch has no kernel for it.

    Parameters
    ----------
    system : Map
    inputs : Tensor, shape (sample, time, input)

    Returns
    -------
    Tensor, shape (sample, time, output), or None
    """
    cells = list(system.cells) if isinstance(system, Stack) else [system]
    if not all(isinstance(cell, Cell) for cell in cells):
        return None
    layers = cast(list[Cell], cells)
    if any(layer.weight_hr is not None for layer in layers):  # projections are stepped: rare, and another layout
        return None
    return _run(layers, inputs)


def _run(layers: list[Cell], inputs: Tensor) -> Tensor:
    first = layers[0]
    biased = first.bias_ih is not None
    weights = [
        weight
        for layer in layers
        for weight in (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)
        if weight is not None
    ]
    zero = inputs.new_zeros(len(layers), inputs.shape[0], first.weight_hh.shape[1])
    # has_biases, num_layers, dropout, train, bidirectional, batch_first
    how = (biased, len(layers), 0.0, first.training, False, True)
    if isinstance(first, LSTMCell):
        return torch.lstm(inputs, (zero, zero), weights, *how)[0]
    if isinstance(first, GRUCell):
        return torch.gru(inputs, zero, weights, *how)[0]
    if isinstance(first, RNNCell) and first.activation.function is torch.relu:
        return torch.rnn_relu(inputs, zero, weights, *how)[0]
    return torch.rnn_tanh(inputs, zero, weights, *how)[0]
