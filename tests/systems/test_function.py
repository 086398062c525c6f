"""A function or a module of the user's own, as a system that never changes it."""

import numpy as np
import pytest
import torch
from torch import nn

from dynlab.errors import UserError
from dynlab.jacobians import jacobian
from dynlab.systems import from_function, frozen


class Own(nn.Module):
    """A cell as a user writes one, with dropout."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.dropout = nn.Dropout(0.5)

    def forward(self, state, input):
        return torch.tanh(self.inner(self.dropout(torch.cat([state, input], dim=-1))))


def test_a_module_is_copied_and_put_in_eval_mode_and_float64():
    torch.manual_seed(22)
    module = Own()
    system = frozen(from_function(module, 2, 1))
    h, x = torch.randn(4, 2).double(), torch.randn(4, 1).double()
    matrix, bias = module.inner.weight.detach().double(), module.inner.bias.detach().double()
    expected = torch.tanh(torch.cat([h, x], dim=-1) @ matrix.T + bias)
    torch.testing.assert_close(system.step(h, x), expected, rtol=0, atol=1e-14)
    derivative = (1 - expected.square()).unsqueeze(-1) * matrix[:, :2]
    torch.testing.assert_close(jacobian(system, h, x).dense(), derivative, rtol=0, atol=1e-14)
    assert system.name == "Own"
    assert module.training
    assert module.inner.weight.dtype == torch.float32
    assert module.inner.weight.requires_grad


def test_a_function_around_a_float32_module_says_what_to_do():
    cell = nn.GRUCell(1, 3)
    system = from_function(lambda h, x: cell(x, h), 3, 1)
    with pytest.raises(UserError, match="give a module itself"):
        system.step(torch.zeros(1, 3).double(), torch.zeros(1, 1).double())


def test_other_errors_of_the_function_are_its_own():
    system = from_function(lambda h, x: h @ torch.zeros(5, 5), 3, 1)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as raised:
        system.step(torch.zeros(1, 3), torch.zeros(1, 1))
    assert "called as f(state, input), of shapes (1, 3) and (1, 1)" in raised.value.__notes__[0]


def test_a_function_of_numpy_says_that_it_must_be_torchs():
    system = from_function(lambda h, x: np.tanh(h), 2)
    with pytest.raises(UserError, match=r"computes with numpy.*torch\.tanh"):
        jacobian(system, torch.zeros(1, 2), torch.zeros(1, 0)).dense()


def test_a_function_that_returns_another_size_is_refused():
    system = from_function(lambda h, x: h[..., :1], 3)
    with pytest.raises(UserError, match=r"shape \(\.\.\., 3\), got \(4, 1\)"):
        system.step(torch.zeros(4, 3), torch.zeros(4, 0))
