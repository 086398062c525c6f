"""uRNN, the full-capacity uRNN and KRU against complex numpy: unitary products, Wisdom's step, modReLU, sizes."""

import numpy as np
import pytest
import scipy.linalg
import torch

from dynlab.systems import create, frozen
from dynlab.systems.complex_state import real_form, to_complex
from dynlab.systems.orthogonal import entries_of

N = 6


def draw(*shape, seed=70):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make(name, seed=0, **config):
    torch.manual_seed(seed)
    return frozen(create(name, **({"input_size": 3, "hidden_size": N} | config)))


def modrelu(z, b):
    return z * np.maximum(np.abs(z) + b, 0) / np.abs(z)


def of(state):
    return to_complex(state).numpy()


def product(recurrent):
    """D₃ R₂ F⁻¹ D₂ Π R₁ F D₁ as complex matrices."""
    n = len(recurrent.permutation)
    D = [np.diag(np.exp(1j * phases)) for phases in recurrent.phases.numpy()]
    R = [np.eye(n) - 2 * np.outer(u, u.conj()) / np.vdot(u, u).real for u in of(recurrent.reflections)]
    F = scipy.linalg.dft(n, scale="sqrtn")
    Pi = np.eye(n)[recurrent.permutation.numpy()]
    return D[2] @ R[1] @ F.conj().T @ D[1] @ Pi @ R[0] @ F @ D[0]


@pytest.mark.parametrize("name", ["urnn", "fc-urnn"])
def test_step_is_the_papers_formula(name):
    system, state, x = make(name), draw(7, 2 * N), draw(7, 3)
    system.b.copy_(0.5 * draw(N))
    matrix = system.recurrent.matrix()
    W = matrix[:N, :N].numpy() + 1j * matrix[N:, :N].numpy()
    torch.testing.assert_close(real_form(torch.from_numpy(W)), matrix, rtol=0, atol=1e-15)
    if name == "urnn":
        np.testing.assert_allclose(W, product(system.recurrent), rtol=0, atol=1e-14)
    np.testing.assert_allclose(W.conj().T @ W, np.eye(N), rtol=0, atol=1e-14)
    V = of(system.V.T).T
    expected = modrelu(of(state) @ W.T + x.numpy() @ V.T, system.b.numpy())
    np.testing.assert_allclose(of(system.step(state, x)), expected, rtol=0, atol=1e-14)


def test_gradient_descent_is_wisdoms_multiplicative_step():
    torch.manual_seed(71)
    system, rate = create("fc-urnn", input_size=1, hidden_size=N).double(), 0.03
    optimizer = torch.optim.SGD(system.constrained_parameters(), lr=rate)
    h, target = draw(5, 2 * N), draw(5, 2 * N, seed=72)

    def loss_of(matrix):
        return (torch.tanh(h @ matrix.T) - target).square().sum()

    for _ in range(3):
        matrix = system.recurrent.matrix().detach()
        W = torch.complex(matrix[:N, :N], matrix[N:, :N]).requires_grad_()
        loss_of(real_form(W)).backward()
        G, W = W.grad.numpy(), W.detach().numpy()  # torch's complex gradient is ∂L/∂Re W + i ∂L/∂Im W
        A = G @ W.conj().T - W @ G.conj().T
        expected = np.linalg.inv(np.eye(N) + rate / 2 * A) @ (np.eye(N) - rate / 2 * A) @ W
        optimizer.zero_grad()
        loss_of(system.recurrent.matrix()).backward()
        optimizer.step()
        system.after_optimizer_step()
        found = system.recurrent.matrix().detach()
        torch.testing.assert_close(found, real_form(torch.from_numpy(expected)), rtol=0, atol=1e-13)
        assert float(entries_of(system.recurrent, "W").detach().abs().max()) == 0


def kronecker(system):
    W = np.eye(1)
    for real, imaginary in system.factors.numpy():
        W = np.kron(W, real + 1j * imaginary)
    return W


@pytest.mark.parametrize("activation, function", [("tanh", np.tanh), ("identity", lambda p: p)])
@pytest.mark.parametrize("size", [8])
def test_kru_is_the_papers_formula(size, activation, function):
    system = make("kru", hidden_size=size, activation=activation)
    system.factors.copy_(draw(*system.factors.shape))
    state, x = draw(7, 2 * size), draw(7, 3)
    W = kronecker(system)
    np.testing.assert_allclose(system.matrix().numpy(), W, rtol=0, atol=1e-13)
    z = of(state) @ W.T
    expected = function(np.concatenate([z.real, z.imag], axis=-1) + x.numpy() @ system.V.numpy().T)
    np.testing.assert_allclose(system.step(state, x).numpy(), expected, rtol=0, atol=1e-13)
