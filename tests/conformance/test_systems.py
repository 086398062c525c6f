"""What every system in the table keeps: its Jacobian, its batch, its dtype, its configuration."""

import json

import pytest
import torch

from dynlab.program.differentiation import jacobian
from dynlab.systems import SYSTEMS, Flow, Map, create, frozen
from dynlab.systems.examples import LENGTH as TIMES
from dynlab.systems.examples import example_config
from dynlab.training.network import outputs
from dynlab.trajectories.simulation import orbit


def variant(name, inputs=3, units=4, **settings):
    return name, example_config(name, inputs, units) | settings


# Every system of the table as its required arguments make it, and what their settings can make of some.
VARIANTS = [
    variant("lstm", num_layers=2, proj_size=2, forget_bias=1.0),
    variant("gru", num_layers=3, bias=False),
    variant("rnn", nonlinearity="relu", bias=False),
    variant("antisymmetric", units=5, step_size=0.3, sigma_w=2.0),
    variant("antisymmetric-gated", units=5, step_size=0.3, sigma_w=2.0),
    variant("cornn", units=3, step_size=0.3, gamma=1.2, epsilon=0.7),
    variant("vanilla", inputs=0, activation="sigmoid", bias=False),
    variant("vanilla", activation="relu"),
    variant("vanilla", activation="identity"),
    variant("fastgrnn", units=5, input_rank=2, state_rank=3, density=0.6),
    variant("scornn", units=5, rho=0.4),
    variant("dtriv", init="henaff", chart="cayley", rebase_every=None),
    variant("asrnn", a=0.5, b=1.5, chart="cayley"),
    variant("spectral", units=5, reflections=3, margin=0.3, activation="tanh"),
    variant("kru", units=2, activation="identity"),
    variant("ernn-exact", sign=-1, activation="relu", projection=False),
    variant("ernn", units=5, inner_steps=3, rank=2, eta=0.3),
    variant("ernn", inner_steps=2, activation="tanh", sign=-1, start="zero", rank=None, projection=False, eta=0.4),
    variant("ernn-deep", layers=2, inner_steps=2, start="zero", sign=-1, eta=0.3),
]
CASES = [*((name, example_config(name)) for name in SYSTEMS), *VARIANTS]

STEPS_TOLERANCE = 1e-11  # a few steps in another order of sums, through quotients of matrices


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{len(case[1])}")
def case(request):
    return request.param


@pytest.fixture
def system(case):
    torch.manual_seed(1)
    name, config = case
    system = frozen(create(name, **config))
    if name == "ernn":
        system.eta.mul_(torch.linspace(0.5, 1.5, system.eta.numel(), dtype=torch.float64).reshape(system.eta.shape))
    return system


@pytest.fixture
def batch(system):
    """States and inputs of 2 sequences, and the numbers of their steps."""
    generator = torch.Generator().manual_seed(2)
    draw = {"generator": generator, "dtype": torch.float64}
    states = torch.randn(2, TIMES, system.state_size, **draw)
    return states, torch.randn(2, TIMES, system.input_size, **draw), torch.arange(TIMES)


def evolve(system, *arguments):
    return system.velocity(*arguments) if isinstance(system, Flow) else system.step(*arguments)


def test_elements_of_a_batch_do_not_see_each_other(system, batch):
    states, inputs, times = batch
    together = evolve(system, states, inputs, times)
    alone = [evolve(system, states[s, t], inputs[s, t], t) for s in range(len(states)) for t in range(TIMES)]
    alone = torch.stack(alone).reshape(together.shape)
    torch.testing.assert_close(together, alone, rtol=1e-13, atol=1e-13)


def test_float32_computes_the_same_in_float32(system, batch):
    states, inputs, times = batch
    single = frozen(system, torch.float32)
    found = evolve(single, states.float(), inputs.float(), times)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), evolve(system, *batch), rtol=1e-4, atol=1e-4)
    matrices = jacobian(single, states.float(), inputs.float(), times).dense()
    assert matrices.dtype == torch.float32
    torch.testing.assert_close(matrices.double(), jacobian(system, *batch).dense(), rtol=1e-4, atol=1e-4)


def test_configuration_and_state_dict_make_an_equal_system(system, batch):
    config = json.loads(json.dumps(system.config))
    again = frozen(create(system.name, **config))
    again.load_state_dict(system.state_dict())
    assert torch.equal(evolve(again, *batch), evolve(system, *batch))
    assert again.config == system.config


TRAINED = [case for case in CASES if list(create(case[0], **case[1]).parameters())]


@pytest.mark.parametrize("name, config", TRAINED, ids=lambda part: part if isinstance(part, str) else "")
def test_every_parameter_learns(name, config):
    torch.manual_seed(5)
    system = create(name, **config).double()
    learned = system.initial_state()
    start = torch.zeros(system.state_size, dtype=torch.float64) if learned is None else learned
    states = orbit(system, torch.randn(3, TIMES, system.input_size, dtype=torch.float64), start.expand(3, -1))
    states.square().sum().backward()
    gradients = {key: value.grad for key, value in system.named_parameters() if value.numel()}
    assert gradients
    assert [key for key, gradient in gradients.items() if not torch.isfinite(gradient).all()] == []
    assert [key for key, gradient in gradients.items() if not gradient.any()] == []
    known = {id(value) for value in system.parameters()}
    assert {id(value) for value in system.constrained_parameters()} <= known


BOUNDED = [case for case in CASES if create(case[0], **case[1]).state_bound() is not None]


@pytest.mark.parametrize("name, config", BOUNDED, ids=lambda part: part if isinstance(part, str) else "")
def test_a_step_from_within_the_bound_stays_within_it(name, config):
    torch.manual_seed(4)
    system = frozen(create(name, **config))
    assert isinstance(system, Map)
    # Weights ten times their start saturate the cells: the bound is approached, not merely obeyed.
    for parameter in system.parameters():
        parameter.mul_(10)
    bound = system.state_bound()
    assert bound.shape == (system.state_size,)
    finite = torch.isfinite(bound)
    reach = bound.nan_to_num(posinf=3.0)
    states = (2 * torch.rand(200, system.state_size, dtype=torch.float64) - 1) * reach
    inputs = 5 * torch.randn(200, system.input_size, dtype=torch.float64)
    found = system.step(states, inputs).abs()[:, finite] / bound[finite]
    assert found.max() <= 1
    assert found.max() > 0.9


def test_a_trained_sequence_is_its_steps(system):
    """However training runs it: by unit, by torch's kernels, step by step."""
    if isinstance(system, Flow):
        pytest.skip("what is trained is a map")
    system.requires_grad_(True)
    torch.manual_seed(2)
    inputs = 0.5 * torch.randn(2, TIMES, system.input_size, dtype=torch.float64)
    initial = 0.5 * torch.randn(2, system.state_size, dtype=torch.float64)
    wanted = [one for one in system.parameters() if one.requires_grad]
    states, (shown, found) = orbit(system, inputs, initial)[:, 1:], outputs(system, inputs, True, initial)
    expected = states[:, -1]
    torch.testing.assert_close(shown, system.output(states), rtol=STEPS_TOLERANCE, atol=STEPS_TOLERANCE)
    torch.testing.assert_close(found, expected, rtol=STEPS_TOLERANCE, atol=STEPS_TOLERANCE)
    if wanted:
        gradients = [torch.autograd.grad(last.sum(), wanted, materialize_grads=True) for last in (found, expected)]
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other, rtol=STEPS_TOLERANCE, atol=STEPS_TOLERANCE)
