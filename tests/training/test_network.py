"""What is trained computes what the system's own steps compute, and its gradient too."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from dynlab import tasks
from dynlab.systems import create
from dynlab.training.network import loss_of, outputs
from dynlab.training.unitwise_sequence import STEPS_AT_ONCE
from dynlab.trajectories import simulation

SIZES = {"input_size": 3}
SYSTEMS = [
    ("rnn", {"hidden_size": 5, "nonlinearity": "relu"}),
    ("lstm", {"hidden_size": 5, "num_layers": 2}),
    ("lstm", {"hidden_size": 5, "proj_size": 2}),
    ("gru", {"hidden_size": 5, "num_layers": 3}),
    ("vanilla", {"state_size": 5}),
    ("antisymmetric", {"state_size": 5, "step_size": 0.3}),
    ("antisymmetric-gated", {"state_size": 5, "step_size": 0.3}),
    ("fastrnn", {"state_size": 5, "activation": "relu"}),
    ("fastgrnn", {"state_size": 5, "state_rank": 2}),
    ("ugrnn", {"state_size": 5}),
    ("cornn", {"hidden_size": 5, "step_size": 0.3}),
    ("dtriv", {"state_size": 6}),
    ("asrnn", {"state_size": 6}),
    ("nnrnn", {"state_size": 6}),
    ("spectral", {"state_size": 6, "reflections": 3}),
    ("soft-orthogonal", {"state_size": 6, "activation": "tanh"}),
    ("ernn", {"state_size": 5, "length": 9, "rank": 2, "eta": 0.2}),
    ("ernn", {"state_size": 5, "length": 7, "rank": None, "eta": 0.4, "inner_steps": 2, "start": "zero", "sign": -1}),
]
# float64 sums in another order, over seven steps
ROUNDING = 1e-13
STEPS = 2 * STEPS_AT_ONCE + 5


def stepped(system, inputs):
    zero = inputs.new_zeros(len(inputs), system.state_size)
    return simulation.orbit(system, inputs, zero)[:, 1:]


@pytest.mark.parametrize("name, config", SYSTEMS, ids=lambda value: str(value))
@pytest.mark.parametrize("every_step", [False, True])
def test_outputs_and_gradients_are_those_of_the_steps(name, config, every_step):
    torch.manual_seed(0)
    system = create(name, **SIZES, **config).double()
    inputs = torch.randn(4, 7, 3, dtype=torch.float64, requires_grad=True)
    (found, last), states = outputs(system, inputs, every_step), stepped(system, inputs)
    expected = system.output(states if every_step else states[:, -1])
    assert (last - states[:, -1]).abs().max() < ROUNDING
    weights = torch.randn_like(expected)
    wanted = [inputs, *system.parameters()]
    by_found = torch.autograd.grad((found * weights).sum(), wanted)
    by_expected = torch.autograd.grad((expected * weights).sum(), wanted)
    assert (found - expected).abs().max() < ROUNDING
    for one, other in zip(by_found, by_expected, strict=True):
        assert (one - other).norm() <= ROUNDING * max(1, float(other.norm()))


@pytest.mark.parametrize("name", ["antisymmetric-gated", "fastgrnn", "cornn", "exprnn", "asrnn", "ernn"])
def test_gradients_of_long_sequences_are_those_of_the_steps(name):
    """Longer than what is differentiated at once, and no multiple of it."""
    torch.manual_seed(1)
    sizes = {"cornn": {"hidden_size": 4}, "ernn": {"state_size": 4, "length": STEPS, "inner_steps": 3, "eta": 0.1}}
    system = create(name, **SIZES, **sizes.get(name, {"state_size": 4})).double()
    inputs = 0.3 * torch.randn(3, STEPS, 3, dtype=torch.float64)
    weights = torch.randn(3, STEPS, system.state_size, dtype=torch.float64)
    wanted = [one for one in system.parameters() if one.requires_grad]
    shown = stepped(system, inputs)
    expected = torch.autograd.grad((system.output(shown) * system.output(weights)).sum(), wanted)
    found = torch.autograd.grad((outputs(system, inputs, True)[0] * system.output(weights)).sum(), wanted)
    for one, other in zip(found, expected, strict=True):
        assert (one - other).norm() <= 1e-11 * float(other.norm())


@pytest.mark.parametrize("name, config", SYSTEMS, ids=lambda value: str(value))
def test_a_sequence_in_two_parts_with_the_state_carried_is_the_sequence(name, config):
    torch.manual_seed(0)
    system = create(name, **SIZES, **config).double()
    if "length" in config:  # its parameters change with the step's number, which starts anew with each part
        system.eta.data = system.eta.data[..., :1].expand_as(system.eta).clone()
    inputs = torch.randn(4, 7, 3, dtype=torch.float64)
    first, state = outputs(system, inputs[:, :3], True)
    second, last = outputs(system, inputs[:, 3:], True, state.detach())
    whole, end = outputs(system, inputs, True)
    assert (torch.cat([first, second], dim=1) - whole).abs().max() < ROUNDING
    assert (last - end).abs().max() < ROUNDING


@pytest.fixture(scope="module")
def copying():
    return tasks.create("copying", symbols=2, delay=3, train_size=20, test_size=7)


def test_the_loss_of_every_step_is_the_mean_over_all_steps(copying):
    answers = torch.randn(5, copying.length, 9, dtype=torch.float64)
    targets = torch.from_numpy(copying.train.targets[:5])
    each = [cross_entropy(answers[n, t], targets[n, t]) for n in range(5) for t in range(copying.length)]
    assert float(loss_of(copying, answers, targets)) == pytest.approx(float(torch.stack(each).mean()), rel=1e-12)
