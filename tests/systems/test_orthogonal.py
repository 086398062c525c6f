"""Matrices that stay orthogonal or unitary while they learn: moving bases, gradients in closed form, float32."""

import numpy as np
import pytest
import torch
from cells import draw, make
from torch.nn.utils import parametrize

from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import entries_of
from dynlab.systems.urnn import real_form

N = 6


def moving(chart="exp", rebase_every=3):
    return make("dtriv", chart=chart, rebase_every=rebase_every, project_every=2).requires_grad_(True)


@pytest.mark.parametrize("chart", ["exp", "cayley"])
def test_the_base_moves_every_k_steps_and_the_matrix_does_not(chart):
    cell = moving(chart)
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


def test_after_a_move_the_gradient_is_that_of_the_new_chart():
    # At A = 0 it is base skew-symmetrised: the entries of Bᵀ G − Gᵀ B, whatever the old chart was.
    cell = moving(rebase_every=1)
    entries, G = entries_of(cell, "B"), draw(N, N)
    with torch.no_grad():
        entries.copy_(draw(entries.numel()))
    cell.after_optimizer_step()
    (cell.B * G).sum().backward()
    turned = cell.B.detach().T @ G
    expected = (turned - turned.T)[tuple(torch.triu_indices(N, N, 1))]
    torch.testing.assert_close(entries.grad, expected, rtol=0, atol=1e-13)


def test_gradient_descent_of_the_full_capacity_urnn_is_wisdoms_multiplicative_step():
    system, rate = make("fc-urnn").requires_grad_(True), 0.03
    optimizer = torch.optim.SGD(system.constrained_parameters(), lr=rate)
    h, target = draw(5, 2 * N), draw(5, 2 * N, seed=72)

    def loss_of(matrix):
        return (torch.tanh(h @ matrix.T) - target).square().sum()

    for _ in range(2):
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


TRAINED = [
    ("exprnn", {}, 1e-2),
    ("dtriv", {"rebase_every": 10, "project_every": 3}, 1e-2),
    ("asrnn", {"rebase_every": 10, "chart": "cayley"}, 1e-2),
    ("spectral", {"margin": 0.01}, 1e-3),
    ("soft-orthogonal", {"margin": 0.1}, 1e-3),
]


@pytest.mark.parametrize("name, config, rate", TRAINED)
def test_singular_values_stay_within_the_margin_while_a_matrix_learns_in_float32(name, config, rate):
    """A margin of 0 is that of orthogonal matrices."""
    torch.manual_seed(27)
    cell = create(name, input_size=1, state_size=24, **config)
    optimizer = torch.optim.RMSprop(cell.parameters(), lr=rate)
    state, target = draw(2, 4, 24).float()

    def matrix():
        return cell.weights()[0] if "margin" in config else cell.B if hasattr(cell, "B") else cell.W

    start = matrix().detach()
    for _ in range(35):
        optimizer.zero_grad()
        with parametrize.cached():
            (cell.step(cell.step(state, torch.zeros(4, 1)), torch.zeros(4, 1)) - target).square().sum().backward()
        optimizer.step()
        cell.after_optimizer_step()
    found = matrix().detach()
    assert found.dtype == torch.float32
    assert float((found - start).abs().max()) > 2 * rate
    off = (torch.linalg.svdvals(found.double()) - 1).abs().max()
    assert off < config.get("margin", 0) + 2e-6


def test_the_saturation_of_an_asrnn_learns_from_the_copying_start():
    """Its slope at 0 is that from the right, where that of an absolute value is 0."""
    system, h, x = make("asrnn", a=0.0, b=0.0, eps=0.5), draw(7, N), draw(7, 3)
    system.S.requires_grad_(True)
    before = system.step(h, x).square().sum()
    before.backward()
    with torch.no_grad():
        system.S[2] += 1e-6
        rise = float(system.step(h, x).square().sum() - before) / 1e-6
    assert rise == pytest.approx(float(system.S.grad[2]), rel=1e-4) != 0


def test_hard_thresholding_keeps_the_largest_entries_while_all_are_trained():
    torch.manual_seed(3)
    cell = create("fastgrnn", input_size=4, state_size=10, state_rank=5, density=0.2)
    matrices = [*cell.W, *cell.U]
    optimizer = torch.optim.SGD(cell.parameters(), lr=1.0)
    h, x = torch.randn(6, 10), torch.randn(6, 4)
    supports = [matrix != 0 for matrix in matrices]
    for _ in range(5):
        optimizer.zero_grad()
        cell.step(h, x).square().sum().backward()
        optimizer.step()
        moved = [matrix.detach().clone() for matrix in matrices]
        cell.after_optimizer_step()
        for matrix, dense in zip(matrices, moved, strict=True):
            kept = matrix != 0
            assert float(dense[kept].abs().min()) >= float(dense[~kept].abs().max())
            assert torch.equal(matrix[kept], dense[kept])
    assert any(not torch.equal(matrix != 0, support) for matrix, support in zip(matrices, supports, strict=True))
    assert [int((matrix != 0).sum()) for matrix in matrices] == [8, 10, 10]


@pytest.mark.parametrize("start", ["qr", "svd"])
def test_orthogonal_starts(start):
    torch.manual_seed(4)
    system = frozen(create("vanilla", input_size=9, state_size=6, start=start))
    for weight in (system.W, system.V):
        torch.testing.assert_close(weight @ weight.mT, torch.eye(6).double(), rtol=0, atol=1e-5)
