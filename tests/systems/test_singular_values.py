"""SpectralRNN and the soft-orthogonal RNN: reflections one by one, singular values, and steps along the orthogonal."""

import numpy as np
import pytest
import torch

from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import entries_of


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(60), dtype=torch.float64)


def make(name, seed=0, **config):
    torch.manual_seed(seed)
    return frozen(create(name, **({"input_size": 3, "state_size": 6} | config)))


def reflections(entries, n, k):
    """The matrices I − 2 u uᵀ/‖u‖² of the vectors in the lower triangle, row by row."""
    Y = np.zeros((n, k))
    Y[np.tril_indices(n, 0, k)] = entries
    return [np.eye(n) - 2 * np.outer(u, u) / (u @ u) for u in Y.T]


@pytest.mark.parametrize("k", [1, 3, 6])
def test_spectral_is_the_papers_formula(k):
    system = make("spectral", reflections=k, margin=0.4, activation="tanh")
    parametrization, vectors = system.parametrizations.W[0], system.parametrizations.W.original
    parametrization.p.copy_(draw(6))
    system.b.copy_(draw(6))
    left, right = (reflections(part.numpy(), 6, k) for part in vectors)
    h, x = draw(7, 6), draw(7, 3)
    s = 0.8 * (1 / (1 + np.exp(-parametrization.p.numpy())) - 0.5) + 1
    z = h.numpy().T  # the reflections of Q in their order, the scaling, those of U in the reverse order
    for H in right:
        z = H @ z
    z = s[:, None] * z
    for H in reversed(left):
        z = H @ z
    expected = np.tanh(z.T + x.numpy() @ system.V.numpy().T + system.b.numpy())
    np.testing.assert_allclose(system.step(h, x).numpy(), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.svd(system.W.numpy())[1], np.sort(s)[::-1], rtol=0, atol=1e-13)
    assert np.linalg.det(parametrization.orthogonal(vectors[0]).numpy()) == pytest.approx((-1) ** k, abs=1e-12)


def test_soft_orthogonal_is_the_papers_formula():
    system = make("soft-orthogonal", margin=0.3, activation="tanh")
    for name, sign in (("U", 1), ("Q", -1)):
        entries_of(system, name).copy_(sign * draw(15))
    system.p.copy_(draw(6))
    system.b.copy_(draw(6))
    s = 0.6 * (1 / (1 + np.exp(-system.p.numpy())) - 0.5) + 1
    W = system.U.numpy() @ np.diag(s) @ system.Q.numpy().T
    h, x = draw(7, 6), draw(7, 3)
    expected = np.tanh(h.numpy() @ W.T + x.numpy() @ system.V.numpy().T + system.b.numpy())
    np.testing.assert_allclose(system.step(h, x).numpy(), expected, rtol=0, atol=1e-13)
    for name in ("U", "Q"):
        M = getattr(system, name)
        torch.testing.assert_close(M.T @ M, torch.eye(6).double(), rtol=0, atol=1e-13)
    assert float(system.penalty()) == pytest.approx(np.linalg.norm(W.T @ W - np.eye(6)) ** 2, abs=1e-13)


@pytest.mark.parametrize("name", ["spectral", "soft-orthogonal"])
def test_matrices_stay_orthogonal_in_float32(name):
    torch.manual_seed(62)
    system = create(name, input_size=1, state_size=24)
    optimizer = torch.optim.RMSprop(system.parameters(), lr=1e-3)
    h, target = torch.randn(8, 24), torch.randn(8, 24)
    for _ in range(100):
        optimizer.zero_grad()
        (system.step(h, torch.zeros(8, 1)) - target).square().sum().backward()
        optimizer.step()
        system.after_optimizer_step()
    if name == "spectral":
        parametrization = system.parametrizations.W[0]
        matrices = [parametrization.orthogonal(part.double()) for part in system.parametrizations.W.original]
    else:
        matrices = [system.U.double(), system.Q.double()]
    for M in matrices:
        assert float(torch.linalg.matrix_norm(M.T @ M - torch.eye(24).double()).detach()) < 1e-5
    margin = {"spectral": 0.01, "soft-orthogonal": 0.1}[name]
    W = system.W if name == "spectral" else (system.U * system.singular_values()) @ system.Q.mT
    singular = torch.linalg.svdvals(W.detach().double())
    assert 1 - margin - 1e-6 < float(singular[-1]) < float(singular[0]) < 1 + margin + 1e-6
