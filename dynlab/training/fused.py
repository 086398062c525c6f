"""torch's own fused kernels for its recurrent layers: the same numbers as stepping to rounding, and much faster."""

from typing import cast

import torch
from torch import Tensor

from dynlab.systems import Map
from dynlab.systems.torch_cells import Cell, GRUCell, LSTMCell, RNNCell
from dynlab.systems.torch_stacks import Stack


def fused_outputs(system: Map, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor] | None:
    """What the system shows after each of its inputs, and its last state; None where torch has no kernel for it.

    Parameters
    ----------
    system : Map
    inputs : Tensor, shape (sample, time, input)
    state : Tensor, shape (sample, state)
        Where it starts.

    Returns
    -------
    (Tensor, shape (sample, time, output), Tensor, shape (sample, state)), or None
    """
    cells = list(system.cells) if isinstance(system, Stack) else [system]
    if not all(isinstance(cell, Cell) for cell in cells):
        return None
    layers = cast(list[Cell], cells)
    if any(layer.weight_hr is not None for layer in layers):  # projections are stepped: rare, and another layout
        return None
    return _run(layers, inputs, state)


def _run(layers: list[Cell], inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    first = layers[0]
    biased = first.bias_ih is not None
    weights = [
        weight
        for layer in layers
        for weight in (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)
        if weight is not None
    ]
    # (sample, state) to (layer, sample, units), an LSTM's h and c apart, as torch has them
    parts = state.unflatten(-1, (len(layers), -1, first.weight_hh.shape[1])).permute(2, 1, 0, 3).contiguous().unbind()
    # has_biases, num_layers, dropout, train, bidirectional, batch_first
    how = (biased, len(layers), 0.0, first.training, False, True)
    last: tuple[Tensor, ...]
    if isinstance(first, LSTMCell):
        shown, *both = torch.lstm(inputs, parts, weights, *how)
        last = tuple(both)
    else:
        run = torch.rnn_tanh
        if isinstance(first, GRUCell):
            run = torch.gru
        elif isinstance(first, RNNCell) and first.activation.function is torch.relu:
            run = torch.rnn_relu
        shown, only = run(inputs, parts[0], weights, *how)
        last = (only,)
    return shown, torch.stack(last).permute(2, 1, 0, 3).flatten(1)
