"""The vanilla cell and its feedback form, by hand and against torch's own cell."""

import numpy as np
import pytest
import torch

from dynlab.errors import UserError
from dynlab.systems import create


def fill(system, W, V, b):
    with torch.no_grad():
        for name, value in {"W": W, "V": V, "b": b}.items():
            getattr(system, name).copy_(torch.tensor(value, dtype=torch.float64))
    return system


@pytest.mark.parametrize(
    "activation, expected",
    [
        ("tanh", [0.7615941559557649, 0.0]),
        ("relu", [1.0, 0.0]),
        ("identity", [1.0, 0.0]),
        ("sigmoid", [0.7310585786300049, 0.5]),
    ],
)
def test_one_step_by_hand(activation, expected):
    # W h + V x + b = (2·1 − 1·2 + 0.5·4 − 1, 1·2 − 2) = (1, 0)
    cell = fill(
        create("vanilla", input_size=1, state_size=2, activation=activation).double(),
        [[2.0, -1.0], [0.0, 1.0]],
        [[0.5], [0.0]],
        [-1.0, -2.0],
    )
    found = cell.step(torch.tensor([1.0, 2.0]).double(), torch.tensor([4.0]).double())
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-15)


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_step_is_that_of_torchs_cell(nonlinearity):
    torch.manual_seed(8)
    theirs = torch.nn.RNNCell(3, 4, nonlinearity=nonlinearity).double()
    ours = create("vanilla", input_size=3, state_size=4, activation=nonlinearity).double()
    fill(ours, theirs.weight_hh.tolist(), theirs.weight_ih.tolist(), (theirs.bias_ih + theirs.bias_hh).tolist())
    h, x = torch.randn(5, 4).double(), torch.randn(5, 3).double()
    torch.testing.assert_close(ours.step(h, x), theirs(x, h), rtol=0, atol=1e-14)


def test_feedback_adds_a_fraction_of_the_vanilla_step():
    torch.manual_seed(9)
    vanilla = create("vanilla", input_size=3, state_size=4).double()
    feedback = create("feedback", input_size=3, state_size=4, step_size=0.25).double()
    feedback.flow.load_state_dict(vanilla.state_dict())
    h, x = torch.randn(5, 4).double(), torch.randn(5, 3).double()
    torch.testing.assert_close(feedback.step(h, x), h + 0.25 * vanilla.step(h, x), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["vanilla", "feedback"])
def test_without_bias_there_is_no_parameter_for_it(name):
    def count(**config):
        system = create(name, input_size=3, state_size=4, **config)
        return sum(parameter.numel() for parameter in system.parameters()), set(system.state_dict())

    with_bias, without = count(), count(bias=False)
    assert (with_bias[0], without[0]) == (16 + 12 + 4, 16 + 12)
    assert {key.rpartition(".")[2] for key in without[1]} == {"W", "V"}


@pytest.mark.parametrize("activation", ["tanh", "identity"])
def test_feedback_stays_at_its_known_equilibrium(activation):
    torch.manual_seed(23)
    system = create("feedback", input_size=3, state_size=4, activation=activation).double()
    x = torch.randn(5, 3).double()
    equilibrium = system.known_equilibrium(x)
    scale = float(equilibrium.detach().abs().max())
    torch.testing.assert_close(system.step(equilibrium, x), equilibrium, rtol=0, atol=1e-14 * (1 + scale))


@pytest.mark.parametrize("activation, W", [("relu", [[1.0, 0.0], [0.0, 1.0]]), ("tanh", [[1.0, 1.0], [1.0, 1.0]])])
def test_no_equilibrium_is_claimed_where_there_may_be_many(activation, W):
    system = fill(create("feedback", input_size=1, state_size=2, activation=activation).flow, W, [[0.0]] * 2, [0.0] * 2)
    assert system.known_equilibrium(torch.zeros(1)) is None


@pytest.mark.parametrize("start", ["qr", "svd"])
@pytest.mark.parametrize("m", [3, 6, 9])
def test_orthogonal_starts(start, m):
    torch.manual_seed(4)
    system = create("vanilla", input_size=m, state_size=6, start=start).double()
    for weight in (system.W, system.V):
        small = weight if weight.shape[0] <= weight.shape[1] else weight.mT
        torch.testing.assert_close(small @ small.mT, torch.eye(len(small), dtype=torch.float64), rtol=0, atol=1e-5)


def test_the_two_orthogonal_starts_are_different_factors():
    torch.manual_seed(4)
    by_qr = create("vanilla", input_size=1, state_size=5, start="qr").W.detach()
    torch.manual_seed(4)
    by_svd = create("vanilla", input_size=1, state_size=5, start="svd").W.detach()
    assert (by_qr - by_svd).abs().max() > 0.1


def test_the_tutorials_start_is_no_orthogonal_matrix():
    """It takes R for Q: upper triangular, with a spectral radius of 0.034, so that nothing is remembered at first."""
    generator = np.random.default_rng(2882)
    R = np.linalg.qr(generator.normal(0, 1024**-0.75, (32, 32)), mode="complete")[1]
    assert np.abs(np.diag(R)).max() == pytest.approx(0.034, abs=5e-4)
    assert np.linalg.norm(R, 2) == pytest.approx(0.057, abs=5e-4)


def test_an_unknown_start_is_said():
    with pytest.raises(UserError, match="start of the weights"):
        create("vanilla", input_size=1, state_size=2, start="qrs")
