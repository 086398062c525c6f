"""expRNN, dtriv and scoRNN: the sources' formulas with numpy and scipy, their sizes and starts, and norms that stay."""

import numpy as np
import pytest
import scipy.linalg
import torch

from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import entries_of


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(30), dtype=torch.float64)


def make(name, seed=0, **config):
    torch.manual_seed(seed)
    system = frozen(create(name, **({"input_size": 3, "state_size": 6} | config)))
    entries = entries_of(system, "B")
    entries.copy_(draw(entries.numel()))
    return system


def skew(system):
    A = np.zeros((system.state_size, system.state_size))
    A[np.triu_indices_from(A, 1)] = entries_of(system, "B").numpy()
    return A - A.T


def by_hand(system, B, h, x):
    z = x @ system.V.numpy().T + h @ B  # rows, as in the authors' code
    return np.sign(z) * np.maximum(np.abs(z) + system.b.numpy(), 0)


def test_exprnn_is_the_papers_formula():
    system, h, x = make("exprnn"), draw(7, 6), draw(7, 3)
    expected = by_hand(system, scipy.linalg.expm(skew(system)), h.numpy(), x.numpy())
    np.testing.assert_allclose(system.step(h, x).numpy(), expected, rtol=0, atol=1e-13)


def test_modrelu_is_exprnn_let_free():
    torch.manual_seed(32)
    free, h, x = frozen(create("modrelu", input_size=3, state_size=6)), draw(7, 6), draw(7, 3)
    torch.manual_seed(32)
    constrained = frozen(create("exprnn", input_size=3, state_size=6))
    torch.testing.assert_close(free.step(h, x), constrained.step(h, x), rtol=0, atol=1e-6)  # B is stored in float32
    free.B.copy_(draw(6, 6))
    expected = by_hand(free, free.B.numpy(), h.numpy(), x.numpy())
    np.testing.assert_allclose(free.step(h, x).numpy(), expected, rtol=0, atol=1e-13)
    assert {key for key, _ in free.named_parameters()} == {"V", "b", "B"}
    assert free.constrained_parameters() == []


def test_dtriv_is_exprnn_from_another_base():
    system, h, x = make("dtriv"), draw(7, 6), draw(7, 3)
    base = scipy.linalg.expm(skew(make("exprnn", seed=1)) / 3)
    system.parametrizations.B[0].base.copy_(torch.from_numpy(base))
    expected = by_hand(system, base @ scipy.linalg.expm(skew(system)), h.numpy(), x.numpy())
    np.testing.assert_allclose(system.step(h, x).numpy(), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("rho, negative", [(0.0, 0), (0.1, 1), (0.5, 3), (1.0, 6)])
def test_scornn_is_the_papers_formula(rho, negative):
    system, h, x = make("scornn", rho=rho), draw(7, 6), draw(7, 3)
    A, eye = skew(system), np.eye(6)
    D = np.diag([1.0] * (6 - negative) + [-1.0] * negative)
    expected = by_hand(system, np.linalg.inv(eye + A) @ (eye - A) @ D, h.numpy(), x.numpy())
    np.testing.assert_allclose(system.step(h, x).numpy(), expected, rtol=0, atol=1e-13)
    assert float(torch.linalg.det(system.B)) == pytest.approx((-1.0) ** negative, abs=1e-12)
