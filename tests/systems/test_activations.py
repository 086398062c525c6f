"""Slopes of activations at saturated units, against multi-precision numbers, and as automatic differentiation has them.

A slope of e^-80 has all its digits: none is the difference of numbers close to 1.
"""

import pytest
import torch
from automatic import automatic_jacobian
from torch import nn
from torch.overrides import TorchFunctionMode

from dynlab.program.differentiation import jacobian, jacobian_and_error
from dynlab.systems import create, from_function, frozen
from dynlab.systems.torch_layers import torch_layer

CELLS = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}
# Families with tanh or σ whose step has no difference of numbers close to 1, as a GRU's 1 − z.
SATURATING = {
    "rnn": {"input_size": 2, "hidden_size": 4, "num_layers": 2},
    "lstm": {"input_size": 2, "hidden_size": 4, "num_layers": 2},
    "vanilla": {"input_size": 2, "state_size": 4, "activation": "sigmoid"},
    "antisymmetric-gated": {"input_size": 2, "state_size": 4},
    "fastgrnn": {"input_size": 2, "state_size": 4},
}


class Exact(torch.autograd.Function):
    """tanh or σ with a slope that keeps its digits where torch's own, 1 − tanh², cancels."""

    generate_vmap_rule = True

    @staticmethod
    def forward(p, name):
        return getattr(p, name)()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.name = inputs[1]

    @staticmethod
    def backward(ctx, gradient):
        (p,) = ctx.saved_tensors
        half = p.abs() if ctx.name == "tanh" else p.abs() / 2
        small = torch.exp(-2 * half)
        slope = (2 * torch.exp(-half) / (1 + small)).square()  # 1/cosh²
        return gradient * (slope if ctx.name == "tanh" else slope / 4), None


class ExactSlopes(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func.__name__ in ("tanh", "sigmoid") and func is not Exact.apply:
            with torch._C.DisableTorchFunction():
                return Exact.apply(args[0], func.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("name", SATURATING)
def test_saturated_entries_are_those_of_automatic_differentiation_with_exact_slopes(name, scale):
    torch.manual_seed(7)
    system = frozen(create(name, **SATURATING[name]))
    for parameter in system.parameters():
        parameter.mul_(scale)
    h = torch.randn(20, system.state_size, dtype=torch.float64)
    x = torch.randn(20, system.input_size, dtype=torch.float64)
    found = jacobian(system, h, x).dense()
    assert scale == 1 or float(found.abs().min()) < 1e-12
    with ExactSlopes():
        expected = automatic_jacobian(system, h, x).dense()
    # in sums of terms of different size the smaller ones lose digits, and pre-activations of 100 lose two
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-290)


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_of_torch_in_a_function_is_the_same_layer_within_the_errors(kind):
    torch.manual_seed(8)
    cell = CELLS[kind](2, 3).double().requires_grad_(False)
    for parameter in cell.parameters():
        parameter.mul_(20)

    def step(state, input):
        if kind != "lstm":
            return cell(input, state)
        return torch.cat(cell(input, (state[..., :3], state[..., 3:])), dim=-1)

    layer = frozen(torch_layer(cell))
    own = from_function(step, layer.state_size, 2)
    h, x = torch.randn(20, layer.state_size).double(), torch.randn(20, 2).double()
    (one, error), (other, other_error) = (jacobian_and_error(system, h, x) for system in (own, layer))
    assert bool(((one - other).abs() <= error + other_error).all())
    assert float(error.max()) < 1e-11 * float(one.abs().max())
    torch.testing.assert_close(own.step(h, x), layer.step(h, x), rtol=0, atol=1e-13)
