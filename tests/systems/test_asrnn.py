"""asRNN: the source's formula with numpy and scipy, its sizes, how it saturates, and that D_f always learns."""

import numpy as np
import pytest
import scipy.linalg
import torch

from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import entries_of


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
