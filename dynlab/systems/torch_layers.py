"""torch's recurrent layers as systems: stacks as one joint state, directions of a bidirectional network one by one."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from dynlab.errors import UserError
from dynlab.systems.base import Map
from dynlab.systems.torch_cells import PARAMETERS, Cell, GRUCell, LSTMCell, RNNCell, Stack

RecurrentModule = nn.RNNBase | nn.RNNCellBase


def torch_layer(module: RecurrentModule, layer: int | None = None, reverse: bool = False) -> Map:
    """A recurrent module of torch as a system, its parameters copied.

    Parameters
    ----------
    module : torch.nn.RNN, GRU, LSTM or one of their Cells
        Dropout between layers is left out, as it is in eval mode; `batch_first` does not matter here.
    layer : int, optional
        One layer, from 0, driven by the complete output of the layers below it. By default the whole stack as one
        system with a joint state, which a bidirectional module does not have.
    reverse : bool
        The reverse direction of that layer.

    Returns
    -------
    Map
        The state of a layer is h, of an LSTM's (h, c).

    Raises
    ------
    UserError
        For another module, a layer that the module lacks, and the joint system of a bidirectional module.

    Examples
    --------
    >>> torch_layer(nn.GRU(3, 5, num_layers=2)).state_size
    10
    """
    names = layer_names(module)
    if layer is None and not reverse:
        if ":0r" in names:
            raise UserError(
                "A bidirectional network has no joint one-step map, since its directions run against each other: "
                f"choose one layer and direction of {', '.join(names)}."
            )
        cells = [_cell(module, index) for index in range(len(names))]
        return cells[0] if len(cells) == 1 else Stack(cells)
    chosen = f":{0 if layer is None else layer}{'r' if reverse else ''}"
    if chosen not in names:
        raise UserError(f"The module has no layer {chosen}: choose from {', '.join(names)}.")
    directions = (False, True) if ":0r" in names else (False,)
    layer = layer or 0
    below = [[_cell(module, lower, direction) for direction in directions] for lower in range(layer)]
    cell = _cell(module, layer, reverse)
    cell.place(below, reverse)
    return cell


def layer_names(module: RecurrentModule) -> list[str]:
    """The layers and directions of a module: ``[":0", ":0r", ":1", ":1r"]`` of a bidirectional one with two layers.

    Raises
    ------
    UserError
        For a module that is no recurrent layer of torch.
    """
    if isinstance(module, nn.RNN | nn.GRU | nn.LSTM):
        directions = ("", "r") if module.bidirectional else ("",)
        return [f":{layer}{direction}" for layer in range(module.num_layers) for direction in directions]
    if isinstance(module, nn.RNNCell | nn.GRUCell | nn.LSTMCell):
        return [":0"]
    raise UserError(
        f"{type(module).__name__} is no recurrent layer of torch: give an RNN, GRU or LSTM or one of their Cells, "
        f"or make a system of its step with from_function."
    )


def rnn(
    input_size: int,
    hidden_size: int,
    num_layers: int = 1,
    nonlinearity: str = "tanh",
    bias: bool = True,
    identity_start: bool = False,
) -> Map:
    """An RNN of torch; see `torch_layer`.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    nonlinearity : {"tanh", "relu"}
    bias : bool
    identity_start : bool
        Recurrent weights start as the identity, biases at 0 and input weights at N(0, 0.03²), after Le, Jaitly and
        Hinton (arXiv 1504.00941), instead of torch's own random start.
    """
    if nonlinearity not in ("tanh", "relu"):
        raise UserError(f"torch's RNN has the nonlinearity tanh or relu, got {nonlinearity!r}; others: vanilla.")
    module = _made(nn.RNN, input_size, hidden_size, num_layers, nonlinearity=nonlinearity, bias=bias)
    if identity_start:
        for name, parameter in module.named_parameters():
            if name.startswith("weight_hh"):
                nn.init.eye_(parameter)
            elif name.startswith("weight_ih"):
                nn.init.normal_(parameter, std=0.03)  # small, not to swamp the recurrent ones
            else:
                nn.init.zeros_(parameter)
    return torch_layer(module)


def gru(input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True) -> Map:
    """A GRU of torch with its initial parameters; see `torch_layer`."""
    return torch_layer(_made(nn.GRU, input_size, hidden_size, num_layers, bias=bias))


def lstm(
    input_size: int,
    hidden_size: int,
    num_layers: int = 1,
    bias: bool = True,
    proj_size: int = 0,
    forget_bias: float | None = None,
) -> Map:
    """An LSTM of torch with its initial parameters; see `torch_layer`.

    Its gates have two biases each: 4 `hidden_size` parameters a layer more than the LSTMs that papers count.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    bias : bool
    proj_size : int
        If positive, h is W_hr (o tanh(c)) of that size.
    forget_bias : float, optional
        Sum of the forget gate's two biases at the start; torch's own random start where it is not given.
    """
    module = _made(nn.LSTM, input_size, hidden_size, num_layers, bias=bias, proj_size=proj_size)
    if forget_bias is not None:
        if not bias:
            raise UserError("forget_bias needs bias=True: an LSTM without biases has no forget bias to set.")
        forget = slice(hidden_size, 2 * hidden_size)
        with torch.no_grad():
            for layer in range(num_layers):
                getattr(module, f"bias_ih_l{layer}")[forget] = forget_bias
                getattr(module, f"bias_hh_l{layer}")[forget] = 0
    return torch_layer(module)


def _made(kind: Callable[..., nn.RNNBase], *sizes: int, **settings: bool | int | str) -> nn.RNNBase:
    try:
        return kind(*sizes, **settings)
    except ValueError as error:
        raise UserError(f"torch's layer does not take these sizes: {error}.") from error


def _cell(module: RecurrentModule, layer: int, reverse: bool = False) -> Cell:
    suffix = f"_l{layer}{'_reverse' if reverse else ''}" if isinstance(module, nn.RNNBase) else ""
    found = {name: getattr(module, name + suffix, None) for name in PARAMETERS}
    weights = {name: value for name, value in found.items() if isinstance(value, Tensor)}
    if isinstance(module, nn.GRU | nn.GRUCell):
        return GRUCell(weights)
    if isinstance(module, nn.LSTM | nn.LSTMCell):
        return LSTMCell(weights)
    return RNNCell(weights, str(module.nonlinearity))
