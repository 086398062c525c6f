"""nnRNN: the real Schur form with numpy and scipy, eigenvalues that its triangle does not touch, and its sizes."""

import numpy as np
import pytest
import scipy.linalg
import torch

import problems
from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import entries_of


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(50), dtype=torch.float64)


@pytest.fixture
def system():
    torch.manual_seed(51)
    system = frozen(create("nnrnn", input_size=3, state_size=6))
    entries = entries_of(system, "W")
    entries.copy_(draw(entries.numel()))
    system.schur.T.copy_(draw(12))
    system.schur.gamma.copy_(torch.tensor([0.9, 1.0, 1.2]))
    return system


def schur_form(system):
    """P and Θ + T, written out."""
    A = np.zeros((6, 6))
    A[np.triu_indices(6, 1)] = entries_of(system, "W").numpy()
    blocks = [
        gamma * np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
        for gamma, theta in zip(system.schur.gamma.tolist(), system.schur.theta.tolist(), strict=True)
    ]
    triangle = scipy.linalg.block_diag(*blocks)
    places = [(i, j) for i in range(6) for j in range(i + 1, 6) if i // 2 != j // 2]
    for (i, j), value in zip(places, system.schur.T.tolist(), strict=True):
        triangle[i, j] = value
    return scipy.linalg.expm(A - A.T), triangle


def test_step_is_the_papers_formula(system):
    P, triangle = schur_form(system)
    h, x = draw(7, 6).numpy(), draw(7, 3).numpy()
    z = x @ system.V.numpy().T + h @ (P @ triangle @ P.T)
    expected = np.sign(z) * np.maximum(np.abs(z) + system.b.numpy(), 0)
    np.testing.assert_allclose(system.step(draw(7, 6), draw(7, 3)).numpy(), expected, rtol=0, atol=1e-13)


def test_eigenvalues_are_the_rotations_whatever_the_triangle(system):
    gamma, theta = system.schur.gamma.numpy(), system.schur.theta.numpy()
    expected = np.concatenate([gamma * np.exp(1j * theta), gamma * np.exp(-1j * theta)])
    assert problems.eigenvalue_distance(np.linalg.eigvals(system.W.numpy()), expected) < 1e-10
    # the triangle of the authors' code, which overlaps the blocks, moves them
    overlapping = schur_form(system)[1] + np.diag([0.3, 0, 0.3, 0, 0.3], k=1)
    assert problems.eigenvalue_distance(np.linalg.eigvals(overlapping), expected) > 0.05
