"""What rounding leaves in Jacobians: every entry lies within its bound of the one in multi-precision arithmetic."""

import math

import numpy as np
import pytest
import torch
from exact_products import precision
from exact_steps import exact_jacobian
from flint import arb
from saturated_networks import FAMILIES, network

from dynlab.checkpoints import from_module
from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds
from dynlab.jacobians import automatic_jacobian, jacobian, jacobian_and_error
from dynlab.numerics.running_error import RunningErrors, Untracked
from dynlab.simulation import orbit
from dynlab.systems import create, from_function, frozen
from dynlab.systems.examples import example
from dynlab.systems.torch_layers import torch_layer

BITS = 1500  # slopes of e^-700 keep their digits beside others of 1
SEEDS = 6
LARGEST_TIME = 12
STEPS = (0, -1)  # of an orbit, where its Jacobians are compared
# In units of one rounding of the entry, where it is larger than the true error: how much wider half the bounds may be.
MEDIAN_WIDTH = 100


def compared(family, seed):
    """Entries' true errors, bounds and roundings, at two states of one network's orbit."""
    system, inputs, start = network(family, seed, largest_time=LARGEST_TIME)
    states = orbit(system, inputs, start)
    found, bound = jacobian_and_error(system, states[:-1], inputs, torch.arange(len(inputs)))
    errors, bounds, values = [], [], []
    for t in STEPS if torch.isfinite(states).all() else ():  # an exact ERNN need not have an equilibrium
        with precision(BITS):
            exact = exact_jacobian(system, states[:-1][t], inputs[t], t % len(inputs)).entries()
            mine = found.expand(len(inputs), *found.shape[-2:])[t].ravel().tolist()
            errors += [float(abs(a - arb(b)).upper()) for a, b in zip(exact, mine, strict=True)]
        values += mine
        bounds += bound.expand(len(inputs), *bound.shape[-2:])[t].ravel().tolist()
    return np.array(errors), np.array(bounds), np.abs(values)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_lies_within_its_bound(family):
    networks = [compared(family, seed) for seed in range(SEEDS)]
    errors, bounds, values = (np.concatenate(part) for part in zip(*networks, strict=True))
    assert len(errors)
    assert (errors <= bounds).all()
    # an entry that is exact, as those of a dead unit, has no bound to be judged
    stated = (bounds > 0) & np.isfinite(bounds) & (values > 0)
    width = bounds[stated] / np.maximum(errors, np.finfo(float).eps / 2 * values)[stated]
    assert not stated.any() or np.median(width) <= MEDIAN_WIDTH or "ernn" in family  # there pre-activations are nested


def test_the_values_are_those_of_the_operator_to_rounding():
    system, inputs, start = network("lstm-2", 3, largest_time=LARGEST_TIME)
    states = orbit(system, inputs, start)[:-1]
    found, bound = jacobian_and_error(system, states, inputs)
    plain = jacobian(system, states, inputs).dense()
    torch.testing.assert_close(found, plain, rtol=1e-9, atol=1e-290)
    assert (bound <= 1e-9 * plain.abs() + 1e-290).all()


@pytest.mark.parametrize("name", ["modrelu", "exprnn", "nnrnn", "urnn", "asrnn", "vanilla"])
def test_the_values_at_rest_are_those_of_the_operator(name):
    """At a state and an input of 0 a modReLU of positive b has the slope 0: comparisons with 0 are the tensors' own."""
    system = frozen(example(name))
    if hasattr(system, "b"):
        system.b.fill_(0.1)
    if name == "vanilla":
        system.b.zero_()
    h, x = torch.zeros(1, system.state_size).double(), torch.zeros(1, system.input_size).double()
    torch.testing.assert_close(jacobian_and_error(system, h, x)[0], jacobian(system, h, x).dense())


@pytest.mark.parametrize("size", [1, 2, 4, 16])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_a_system_without_a_closed_form_has_an_estimate_that_is_larger(activation, size):
    torch.manual_seed(3)
    cell = frozen(create("vanilla", input_size=2, state_size=size, activation=activation))
    own = from_function(cell.step, size, 2)
    h, x = torch.randn(20, size).double(), torch.randn(20, 2).double()
    exact, bound = jacobian_and_error(cell, h, x)
    found, estimate = jacobian_and_error(own, h, x)
    assert ((found - exact).abs() <= estimate).all()
    assert (estimate > bound).all()
    assert float(estimate.max()) < 1e-12
    torch.testing.assert_close(found, automatic_jacobian(own, h, x).dense(), rtol=0, atol=0)


def test_float32_has_bounds_of_its_own():
    torch.manual_seed(4)
    system = frozen(create("gru", input_size=2, hidden_size=4), torch.float32)
    h, x = torch.randn(20, 4), torch.randn(20, 2)
    found, bound = jacobian_and_error(system, h, x)
    precise = jacobian(frozen(system), h.double(), x.double()).dense()
    assert found.dtype == bound.dtype == torch.float32
    assert ((found.double() - precise).abs() <= bound).all()


def test_a_slope_that_underflows_is_no_exact_zero():
    system = frozen(create("vanilla", input_size=0, state_size=1, bias=True))
    with torch.no_grad():
        system.W.fill_(2.0)
        system.b.fill_(400.0)
    found, bound = jacobian_and_error(system, torch.ones(1).double(), torch.zeros(0).double())
    assert float(found) == 0
    assert 0 < float(bound) < 1e-300


def test_a_dead_unit_is_an_exact_zero():
    system = frozen(create("vanilla", input_size=0, state_size=2, activation="relu"))
    with torch.no_grad():
        system.b.copy_(torch.tensor([-3.0, 3.0]))
    found, bound = jacobian_and_error(system, torch.zeros(2).double(), torch.zeros(0).double())
    assert (found[0] == 0).all()
    assert (bound[0] == 0).all()
    assert (bound[1] < 1e-15 * found[1].abs() + 1e-300).all()


def test_a_slope_whose_side_of_the_kink_rounding_decides_is_not_known():
    p = torch.tanh(torch.tensor([0.5, 0.6], dtype=torch.float64))
    with RunningErrors():
        slope = (torch.tanh(torch.tensor([0.5, 0.5], dtype=torch.float64)) - p > 0).to(p.dtype)
    assert slope.error.tolist() == [1.0, 0.0]


def test_a_doubt_that_something_certain_settles_is_none():
    """Of each pair of operands the first is doubtful: "and" is settled by what is false, "or" by what is true."""
    half = torch.tensor(0.5, dtype=torch.float64)
    with RunningErrors():
        p = torch.tanh(half)
        doubtful, false, true = p > math.tanh(0.5), p > 2, p < 2
        found = [doubtful & false, false & doubtful, doubtful & true, doubtful | true, doubtful | false]
    assert [float(each.error) for each in found] == [0.0, 0.0, 1.0, 0.0, 1.0]


def test_a_modrelu_that_is_closed_is_an_exact_zero_at_rest_too():
    """At z = 0 its sign is not known, and neither does it matter: abs(z) + b is far below 0."""
    system = frozen(create("exprnn", input_size=0, state_size=3))
    with torch.no_grad():
        system.b.fill_(-0.1)
    found, bound = jacobian_and_error(system, torch.zeros(3).double(), torch.zeros(0).double())
    assert (found == 0).all()
    assert (bound == 0).all()


def test_what_has_no_rule_is_said():
    with RunningErrors(), pytest.raises(Untracked, match="cumsum"):
        torch.cumsum(torch.tanh(torch.ones(2)), dim=0)


def test_along_the_diagonal_of_a_stack_nothing_is_lost():
    """Its blocks and their bounds are those of the whole; outside of them the matrix is there, and no bound."""
    torch.manual_seed(0)
    system = frozen(torch_layer(torch.nn.LSTM(3, 4, num_layers=2)))
    state, x = torch.randn(5, 16, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    whole, bound = jacobian_and_error(system, state, x)
    found, errors = jacobian_and_error(system, state, x, diagonal=True)
    inside = torch.block_diag(*(torch.ones(size, size) for size in system.blocks)).bool()
    assert system.blocks == (8, 8)
    assert torch.equal(found[:, inside], whole[:, inside])
    assert torch.equal(errors[:, inside], bound[:, inside])
    assert torch.allclose(found, whole, rtol=1e-13, atol=1e-15)
    assert torch.isinf(errors[:, ~inside]).all()


@pytest.mark.parametrize(
    "written, slope",
    [
        (lambda h: torch.exp(h) / (1 + torch.exp(h)), lambda h: 1 / (2 * math.cosh(h / 2)) ** 2),
        (lambda h: (torch.exp(2 * h) - 1) / (torch.exp(2 * h) + 1), lambda h: 1 / math.cosh(h) ** 2),
        (lambda h: torch.nn.functional.softsign(2 * h), lambda h: 2 / (1 + 2 * h) ** 2),
        (lambda h: h / torch.sqrt(1 + h * h), lambda h: (1 + h * h) ** -1.5),
        (lambda h: 0.5 * h + 1e8 * (torch.cos(h) ** 2 + torch.sin(h) ** 2 - 1), lambda h: 0.5),
        (lambda h: torch.exp(h) - h, math.expm1),
    ],
    ids=["logistic", "tanh by exponentials", "softsign", "h/√(1 + h²)", "a large zero", "exp(h) − h"],
)
def test_a_users_derivative_that_cancels_lies_within_its_error(written, slope):
    states = torch.logspace(-6, 1.2, 60, dtype=torch.float64)[:, None]
    system = from_function(lambda h, x: written(h), state_size=1)
    found, error = jacobian_and_error(system, states, states[:, :0])
    exact = np.array([slope(h) for h in states[:, 0].tolist()])
    assert (np.abs(found[:, 0, 0].numpy() - exact) <= error[:, 0, 0].numpy()).all()


@pytest.mark.parametrize("system", [torch.nn.RNN(1, 3, nonlinearity="relu", bias=False).double(), None])
def test_at_a_kink_the_error_holds_the_slopes_of_both_sides(system):
    one = from_function(lambda h, x: 2 * torch.relu(h) - 0.5 * torch.relu(-h), state_size=3)
    made = one if system is None else from_module(system)
    W = 2 * torch.eye(3) if system is None else system.weight_hh_l0.detach()
    found, error = jacobian_and_error(made, torch.zeros(3, dtype=torch.float64), torch.zeros(made.input_size).double())
    assert ((found - W).abs() <= error).all()
    verdict = eigenvalue_bounds(made, np.zeros((5, made.input_size)), max_log_gradient=0.0).attrs["verdict"]
    assert "undecided" in verdict


def test_where_torch_cannot_batch_a_derivative_it_is_taken_entry_by_entry():
    """z̄² has the real Jacobian 2 [[a, −b], [−b, −a]], at tanh(h) with its slope."""

    def written(h, x):
        w = torch.complex(torch.tanh(h[..., 0]), h[..., 1]).conj() ** 2
        return torch.stack([w.real, w.imag], dim=-1)

    h = torch.randn(5, 2, dtype=torch.float64)
    a, b = torch.tanh(h[:, 0]), h[:, 1]
    exact = 2 * torch.stack([a, -b, -b, -a], dim=-1).reshape(-1, 2, 2)
    exact[:, :, 0] /= torch.cosh(h[:, :1]) ** 2
    found = automatic_jacobian(from_function(written, state_size=2), h, h[:, :0]).dense()
    torch.testing.assert_close(found, exact)
