"""Orthogonal parametrizations: the map by scipy, torch's own beside it, gradients in closed form, and moving bases."""

import copy

import numpy as np
import pytest
import scipy.linalg
import torch
from torch.nn.utils import parametrize

from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, entries_of

N = 6
MAPS = {
    "exp": scipy.linalg.expm,
    "cayley": lambda A: np.linalg.inv(np.eye(len(A)) + A) @ (np.eye(len(A)) - A),
}


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(20), dtype=torch.float64)


def skew(entries, size=N):
    upper = torch.zeros(size, size, dtype=entries.dtype)
    upper[tuple(torch.triu_indices(size, size, 1))] = entries
    return upper - upper.T


def defect(W):
    """‖WᵀW − I‖_F, computed in float64."""
    W = W.detach().double()
    return float(torch.linalg.matrix_norm(W.T @ W - torch.eye(len(W), dtype=torch.float64)))


@pytest.mark.parametrize("chart", MAPS)
def test_the_matrix_is_the_base_times_the_map(chart):
    base = torch.linalg.qr(draw(N, N)).Q
    entries = draw(N * (N - 1) // 2)
    found = Orthogonal(SkewSymmetric(N), chart, base)(entries)
    expected = base.numpy() @ MAPS[chart](skew(entries).numpy())
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-14)
    assert defect(found) < 1e-14


def moving(chart="exp", rebase_every=3, project_every=2):
    torch.manual_seed(25)
    return create(
        "dtriv", input_size=1, state_size=N, chart=chart, rebase_every=rebase_every, project_every=project_every
    )


@pytest.mark.parametrize("chart", MAPS)
def test_the_base_moves_every_k_steps_and_the_matrix_does_not(chart):
    cell = moving(chart).double()
    entries, parametrization = entries_of(cell, "B"), cell.parametrizations.B[0]
    moved = []
    for _ in range(7):
        with torch.no_grad():
            entries.add_(0.1 * draw(entries.numel()))
        before, base = cell.B.detach().clone(), parametrization.base.clone()
        cell.after_optimizer_step()
        torch.testing.assert_close(cell.B.detach(), before, rtol=0, atol=1e-14)
        moved.append(not torch.equal(base, parametrization.base))
        if moved[-1]:
            assert float(entries.detach().abs().max()) == 0
            torch.testing.assert_close(parametrization.base, before, rtol=0, atol=1e-14)
    assert moved == [False, False, True, False, False, True, False]
    assert int(parametrization.steps) == 7


def test_after_a_move_the_gradient_is_that_of_the_new_chart():
    # At A = 0 it is base skew-symmetrised: the entries of Bᵀ G − Gᵀ B, whatever the old chart was.
    cell = moving(rebase_every=1).double()
    entries, G = entries_of(cell, "B"), draw(N, N)
    with torch.no_grad():
        entries.copy_(draw(entries.numel()))
    cell.after_optimizer_step()
    (cell.B * G).sum().backward()
    turned = cell.B.detach().T @ G
    expected = (turned - turned.T)[tuple(torch.triu_indices(N, N, 1))]
    torch.testing.assert_close(entries.grad, expected, rtol=0, atol=1e-13)


def trained(cell, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        generator = torch.Generator().manual_seed(26)
        x = torch.randn(4, cell.state_size, generator=generator)
        state = torch.randn(4, cell.state_size, generator=generator)
        with parametrize.cached():
            for _ in range(3):
                state = cell.step(state, torch.zeros(4, cell.input_size))
        (state - x).square().sum().backward()
        optimizer.step()
        cell.after_optimizer_step()


ORTHOGONAL = [
    ("exprnn", {}, ["B"]),
    ("dtriv", {"rebase_every": 10, "project_every": 3}, ["B"]),
    ("asrnn", {"rebase_every": 10, "chart": "cayley"}, ["W", "U_f"]),
]


@pytest.mark.parametrize("name, config, matrices", ORTHOGONAL)
def test_matrices_stay_orthogonal_in_float32(name, config, matrices):
    torch.manual_seed(27)
    cell = create(name, input_size=1, state_size=24, **config)
    starts = [getattr(cell, matrix).detach().clone() for matrix in matrices]
    trained(cell, torch.optim.RMSprop(cell.parameters(), lr=1e-2), 100)
    for matrix, start in zip(matrices, starts, strict=True):
        W = getattr(cell, matrix)
        assert W.dtype == torch.float32
        assert float((W.detach() - start).abs().max()) > 0.05
        assert defect(W) < 1e-5


def test_a_matrix_that_is_kept_follows_what_it_is_made_of():
    system = frozen(create("exprnn", input_size=2, state_size=8))
    before = system.recurrent().clone()
    changed = torch.randn_like(entries_of(system, "B"))
    expected = torch.linalg.matrix_exp(SkewSymmetric(8)(changed)).T
    names = {"system.parametrizations.B.original": changed}
    torch.testing.assert_close(torch.func.functional_call(Recurrent(system), names), expected)
    torch.testing.assert_close(system.recurrent(), before)
    other = copy.deepcopy(system)
    entries_of(other, "B").copy_(changed)
    torch.testing.assert_close(other.recurrent(), expected)
    torch.testing.assert_close(system.recurrent(), before)


class Recurrent(torch.nn.Module):
    """A system whose recurrent matrix is what a call gives."""

    def __init__(self, system):
        super().__init__()
        self.system = system

    def forward(self):
        return self.system.recurrent()
