"""asRNN: the source's formula with numpy and scipy, its sizes, how it saturates, and that D_f always learns."""

import numpy as np
import pytest
import scipy.linalg
import torch
from automatic import automatic_jacobian

from dynlab.program.differentiation import jacobian
from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import entries_of
from dynlab.tasks.copying import copying


def draw(*shape, seed=40):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make(seed=0, **config):
    torch.manual_seed(seed)
    system = frozen(create("asrnn", **({"input_size": 3, "state_size": 6, "a": 0.3, "b": 2.0} | config)))
    for number, name in enumerate(("W", "U_f")):
        entries = entries_of(system, name)
        entries.copy_(draw(entries.numel(), seed=41 + number))
    return system


def skew(system, name):
    A = np.zeros((6, 6))
    A[np.triu_indices(6, 1)] = entries_of(system, name).detach().numpy()
    return A - A.T


CHARTS = {"exp": scipy.linalg.expm, "cayley": lambda A: np.linalg.inv(np.eye(6) + A) @ (np.eye(6) - A)}


@pytest.mark.parametrize("chart", CHARTS)
def test_step_is_the_papers_formula(chart):
    system, h, x = make(chart=chart), draw(7, 6), draw(7, 3)
    system.b.copy_(draw(6))
    W, U = (CHARTS[chart](skew(system, name)) for name in ("W", "U_f"))
    W_f = U @ np.diag(np.abs(system.S.numpy()) + 0.01)
    z = x.numpy() @ system.V.numpy().T + h.numpy() @ W.T + system.b.numpy()
    expected = np.tanh(z @ W_f.T) @ np.linalg.inv(W_f).T
    np.testing.assert_allclose(system.step(h, x).numpy(), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("config", [{}, {"a": -2.0, "b": -0.3}, {"rebase_every": 5}, {"chart": "cayley"}])
def test_jacobian_with_both_matrices_turned(config):
    system, h, x = make(**config), draw(7, 6), draw(7, 3)
    found = jacobian(system, h, x).dense()
    torch.testing.assert_close(found, automatic_jacobian(system, h, x).dense(), rtol=0, atol=1e-13)
    # ‖J‖ ≤ cond(D_f), which is no bound by 1
    D = system.saturation()
    assert float(torch.linalg.matrix_norm(found, 2).max()) <= float(D.max() / D.min()) * (1 + 1e-12)


def test_the_gradient_by_the_cayley_map_is_the_published_one():
    """scoRNN's: V = (I + A)⁻ᵀ ∂L/∂W (I + Wᵀ), ∂L/∂A = Vᵀ − V."""
    system = make(chart="cayley").requires_grad_()
    G = draw(6, 6, seed=44)
    for name in ("W", "U_f"):
        W, entries = getattr(system, name), entries_of(system, name)
        (found,) = torch.autograd.grad((W * G).sum(), entries)
        V = np.linalg.inv(np.eye(6) + skew(system, name)).T @ G.numpy() @ (np.eye(6) + W.detach().numpy().T)
        np.testing.assert_allclose(found.numpy(), (V.T - V)[np.triu_indices(6, 1)], rtol=0, atol=1e-13)


@pytest.mark.parametrize("chart", CHARTS)
def test_every_gradient_through_time_is_that_of_differences(chart):
    system = make(chart=chart, rebase_every=3).requires_grad_()
    parameters = dict(system.named_parameters())
    x = draw(4, 2, 3)

    def loss(*values):
        state = x.new_zeros(2, 6)
        for t in range(4):
            arguments = (state, x[t])
            state = torch.func.functional_call(system, dict(zip(parameters, values, strict=True)), arguments)
        return (state**2 * torch.arange(1.0, 7.0)).sum()

    system.forward = system.step
    assert torch.autograd.gradcheck(loss, tuple(parameters.values()), eps=1e-6, atol=1e-7)


def test_gradients_may_grow():
    system = make(a=0.1, b=8.0, seed=3)
    found = jacobian(system, 0.01 * draw(50, 6), torch.zeros(50, 3).double()).dense()
    assert float(torch.linalg.matrix_norm(found, 2).max()) > 1
    system = make(a=2.0, b=2.0)
    found = jacobian(system, draw(50, 6), draw(50, 3)).dense()
    assert float(torch.linalg.matrix_norm(found, 2).max()) <= 1 + 1e-12


def parameters(input_size, state_size, outputs):
    modules = (create("asrnn", input_size=input_size, state_size=state_size), torch.nn.Linear(state_size, outputs))
    return sum(p.numel() for module in modules for p in module.parameters())


@pytest.mark.parametrize("size, total", [(122, 16_358), (257, 69_143), (364, 136_874)])
def test_parameters_of_the_mnist_networks(size, total):
    assert parameters(1, size, 10) == total


def test_parameters_of_the_copying_network():
    assert parameters(10, 138, 9) == 21_813


def test_start_is_the_authors():
    torch.manual_seed(42)
    system = create("asrnn", input_size=3, state_size=200, a=0.8, b=3.0, eps=1e-5)
    D = system.saturation().detach()
    assert 0.8 < float(D.min()) < 0.9
    assert 2.9 < float(D.max()) <= 3.0 + 1e-5
    assert torch.equal(system.U_f.detach(), torch.eye(200))
    torch.testing.assert_close(system.V.detach().T @ system.V.detach(), torch.eye(3), rtol=0, atol=1e-6)
    assert float(system.b.detach().abs().max()) == 0
    assert [p.shape for p in system.constrained_parameters()] == [entries_of(system, "W").shape]


def test_a_small_saturation_makes_the_cell_linear():
    # the source's copying setting: D_f = 1e-5, tanh(p) = p (1 − p²/3 …) with p of the order of 1e-5
    system, h, x = make(a=0.0, b=0.0, eps=1e-5), draw(7, 6), draw(7, 3)
    linear = x @ system.V.T + h @ system.W.T
    torch.testing.assert_close(system.step(h, x), linear, rtol=0, atol=1e-8)


def test_the_saturation_learns_from_the_copying_start():
    torch.manual_seed(43)
    system = create("asrnn", input_size=3, state_size=6, a=0.0, b=0.0, eps=0.5).double()
    system.step(draw(7, 6), draw(7, 3)).square().sum().backward()
    gradient = system.S.grad.clone()
    assert float(gradient.abs().min()) > 1e-3
    # the derivative from the right, by a difference
    rise = 1e-6
    with torch.no_grad():
        before = system.step(draw(7, 6), draw(7, 3)).square().sum()
        system.S[2] += rise
        after = system.step(draw(7, 6), draw(7, 3)).square().sum()
    assert float((after - before) / rise) == pytest.approx(float(gradient[2]), rel=1e-4)
    # and what an absolute value would give
    S = torch.zeros(1, requires_grad=True)
    S.abs().sum().backward()
    assert float(S.grad) == 0


def test_a_saturation_that_does_not_learn_stays_and_the_rest_learns():
    torch.manual_seed(44)
    system = create("asrnn", input_size=3, state_size=6, a=0.0, b=0.0, eps=1e-5, learn_saturation=False)
    before = {name: value.clone() for name, value in system.state_dict().items()}
    optimizer = torch.optim.RMSprop(system.parameters(), lr=1e-2)
    state = torch.zeros(7, 6)
    for x in draw(3, 7, 3).float():
        state = system.step(state, x)
    state.square().sum().backward()
    optimizer.step()
    moved = {name for name, value in system.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == set(before) - {"S", "parametrizations.U_f.original"}  # of a linear cell U_f does not matter
    assert torch.equal(system.saturation(), torch.full((6,), 1e-5))


@pytest.mark.parametrize("learns, least, most", [(True, 20, np.inf), (False, 1, 1)])
def test_learned_from_the_copying_start_the_bound_on_the_jacobian_explodes(learns, least, most):
    # a step of RMSprop has about the rate's length whatever the gradient: 2e-4 beside D_f = 1e-5
    torch.manual_seed(45)
    cell = create("asrnn", input_size=10, state_size=20, a=0.0, b=0.0, eps=1e-5, learn_saturation=learns)
    network = torch.nn.ModuleList([cell, torch.nn.Linear(20, 9)])
    optimizer = torch.optim.RMSprop(network.parameters(), lr=2e-4, alpha=0.9)
    train = copying(delay=20, train_size=40, retrain=True).train
    inputs, targets = torch.from_numpy(train.inputs), torch.from_numpy(train.targets)
    quotients = []
    for _ in range(10):
        state, answers = torch.zeros(40, 20), []
        for x in inputs.unbind(1):
            state = cell.step(state, x)
            answers.append(network[1](state))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(torch.stack(answers, dim=2), targets).backward()
        optimizer.step()
        D = cell.saturation().detach()
        quotients.append(float(D.max() / D.min()))
    assert least <= max(quotients) <= most


def test_the_saturation_is_positive_whatever_is_learned():
    system = make(eps=1e-3)
    system.S.copy_(torch.tensor([-3.0, -1e-9, 0.0, 1e-9, 1e-4, 5.0]))
    assert float(system.saturation().min()) >= 1e-3
