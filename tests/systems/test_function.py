"""A function or a module of the user's own, as a system that never changes it."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import from_module
from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
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


@pytest.mark.parametrize("f", [lambda x, h: h, lambda inp, hidden: hidden, nn.GRUCell(2, 2)])
def test_a_function_named_the_other_way_round_is_refused_until_its_order_is_said(f):
    with pytest.raises(UserError, match="input before the state: say order='xh'"):
        from_function(f, 2, 2)
    assert from_function(f, 2, 2, order="xh").order == "xh"


@pytest.mark.parametrize("lead", [(), (2, 5)])
def test_a_cell_of_torchs_with_two_states_steps_as_dynlabs_own(lead):
    torch.manual_seed(2)
    cell = nn.LSTMCell(3, 4)
    ours, own = (frozen(made) for made in (from_function(cell, (4, 4), 3, order="xh"), from_module(cell)))
    h, x = torch.randn(*lead, 8).double(), torch.randn(*lead, 3).double()
    torch.testing.assert_close(ours.step(h, x), own.step(h, x), rtol=0, atol=1e-15)
    torch.testing.assert_close(jacobian(ours, h, x).dense(), jacobian(own, h, x).dense(), rtol=0, atol=1e-15)


class LinearRecurrentUnit(nn.Module):
    """z ↦ λ z + x, with complex parameters."""

    def __init__(self, rates):
        super().__init__()
        self.rates = nn.Parameter(rates)

    def forward(self, z, x):
        return self.rates * z + x


def test_the_eigenvalues_of_a_complex_state_are_its_own_and_their_conjugates():
    values = torch.tensor([0.9 * np.exp(0.3j), 0.5 * np.exp(2j)], dtype=torch.complex64)
    module = LinearRecurrentUnit(values)
    system = frozen(from_function(module, 2, 1, complex_state=True))
    assert system.f.rates.dtype == torch.complex128
    assert module.rates.dtype == torch.complex64
    found = np.linalg.eigvals(jacobian(system, torch.zeros(4).double(), torch.zeros(1).double()).dense())
    exact = values.to(torch.complex128).numpy()
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex([*exact, *exact.conj()]), atol=1e-14)
    state = torch.tensor([1.0, 2.0, 3.0, 4.0]).double()  # z = 1 + 3i, 2 + 4i
    z = exact * np.array([1 + 3j, 2 + 4j]) + 5
    moved = system.step(state, torch.full((1,), 5.0).double()).detach()
    np.testing.assert_allclose(moved, np.concatenate([z.real, z.imag]), rtol=1e-14)


def _halved_in_place(h, x):
    h *= 0.5
    h[..., 1] += h[..., 0] ** 2
    return h


def test_a_function_may_write_on_its_argument():
    state = torch.tensor([0.3, -0.2], dtype=torch.float64)
    system = from_function(_halved_in_place, 2)
    torch.testing.assert_close(system.step(state, torch.zeros(0)), torch.tensor([0.15, -0.0775]).double())
    assert state.tolist() == [0.3, -0.2]


class Keeping(nn.Module):
    """A cell that keeps what it computed, as for a plot or a loss."""

    def __init__(self):
        super().__init__()
        self.linear, self.last = nn.Linear(2, 2), None

    def forward(self, state, input):
        self.last = torch.tanh(self.linear(state))
        return self.last


def test_a_module_that_keeps_its_results_is_analysed_and_copied():
    module = Keeping()
    module(torch.zeros(2), None)  # the results have a history that torch refuses to copy
    assert dl.fixed_points(from_function(module, 2)).attrs["verdict"]
    assert module.last.grad_fn is not None


def test_a_function_of_one_state_is_that_of_each_row():
    def alone(h):
        return np.tanh(2 * (h - 0.5 * h.mean()))

    states = np.array([[0.3, 0.2], [0.6, -0.1], [-0.4, 1.5]])
    system = from_function(lambda h, x: torch.tanh(2 * (h - 0.5 * h.mean())), 2)
    ended = dl.simulate(system, initial_state=states, steps=2)["trajectory"].values[:, -1]
    np.testing.assert_allclose(ended, [alone(alone(state)) for state in states], rtol=1e-13)


REFUSED = [
    (2, lambda h, x: (h, h), "got tuple.*of outputs beside the state"),
    ((1, 1), lambda h, x: h[0], r"\(..., 1\), \(..., 1\), got \(1,\)"),
    (2, lambda h, x: h * (1 + 1j), "say complex_state=True"),
    (2, lambda h, x: torch.stack([0.5 * float(h[0]) + 0 * h[0], h[1]]), r"fails when it is called.*\.item\(\)"),
    (2, _halved_in_place, "compute a new tensor"),  # torch needs what was written over
]


@pytest.mark.parametrize("size, f, sentence", REFUSED)
def test_what_is_no_real_state_is_refused_with_what_to_do(size, f, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.fixed_points(from_function(f, size))
