"""What is trained computes what the system's own steps compute, and its gradient too."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from dynlab import tasks
from dynlab.systems import create
from dynlab.training.network import loss_of, outputs
from dynlab.trajectories import simulation

ROUNDING = 1e-13  # float64 sums in another order, over seven steps
STEPS = 37
LONG = {"cornn": {"hidden_size": 4}, "ernn": {"state_size": 4, "length": STEPS, "inner_steps": 3, "eta": 0.1}}


def made(name, config, samples, steps, scale=1.0):
    torch.manual_seed(0)
    system = create(name, input_size=3, **config).double()
    return system, (scale * torch.randn(samples, steps, 3, dtype=torch.float64)).requires_grad_()


@pytest.mark.parametrize("name", ["lstm", "fastgrnn", "dtriv", "ernn"])
def test_a_sequence_in_two_parts_is_the_whole(name):
    sizes = {"hidden_size": 5, "num_layers": 2} if name == "lstm" else {"state_size": 5}
    system, inputs = made(name, sizes | ({"length": 7} if name == "ernn" else {}), 4, 7)
    if name == "ernn":  # its parameters change with the step's number, which starts anew with each part
        system.eta.data = system.eta.data[..., :1].expand_as(system.eta).clone()
    first, state = outputs(system, inputs[:, :3], True)
    second, last = outputs(system, inputs[:, 3:], True, state.detach())
    whole, end = outputs(system, inputs, True)
    assert (torch.cat([first, second], dim=1) - whole).abs().max() < ROUNDING
    assert (last - end).abs().max() < ROUNDING


@pytest.mark.parametrize("name", ["antisymmetric-gated", "fastgrnn", "cornn", "exprnn", "asrnn", "ernn"])
def test_gradients_of_long_sequences_are_those_of_the_steps(name):
    system, inputs = made(name, LONG.get(name, {"state_size": 4}), 3, STEPS, 0.3)
    states = simulation.orbit(system, inputs, inputs.new_zeros(len(inputs), system.state_size))[:, 1:]
    found, expected = outputs(system, inputs, True)[0], system.output(states)
    wanted = [inputs, *(one for one in system.parameters() if one.requires_grad)]
    weights = torch.randn_like(expected)
    by_found, by_expected = (torch.autograd.grad((one * weights).sum(), wanted) for one in (found, expected))
    for one, other in zip(by_found, by_expected, strict=True):
        assert (one - other).norm() <= 1e-11 * max(1, float(other.norm()))


def test_the_loss_of_every_step_is_the_mean_over_all_steps():
    copying = tasks.create("copying", symbols=2, delay=3, train_size=20, test_size=7)
    answers = torch.randn(5, copying.length, 9, dtype=torch.float64)
    targets = torch.from_numpy(copying.train.targets[:5])
    each = [cross_entropy(answers[n, t], targets[n, t]) for n in range(5) for t in range(copying.length)]
    assert float(loss_of(copying, answers, targets)) == pytest.approx(float(torch.stack(each).mean()), rel=1e-12)
