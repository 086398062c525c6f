"""FastGRNN and UGRNN against their formulas written out with numpy, EdgeML's initial values, and their gates."""

import numpy as np
import pytest
import torch

from dynlab.systems import create, frozen


def sigmoid(p):
    return 1 / (1 + np.exp(-p))


def make(name, seed=0, **config):
    torch.manual_seed(seed)
    return frozen(create(name, **({"input_size": 3, "state_size": 5} | config)))


def draw(*shape):
    return np.random.default_rng(0).standard_normal(shape)


def step(cell, h, x):
    return cell.step(torch.from_numpy(h), torch.from_numpy(x)).numpy()


@pytest.mark.parametrize("ranks", [{}, {"input_rank": 2}, {"input_rank": 2, "state_rank": 1}])
def test_fastgrnn_is_the_papers_formula(ranks):
    cell = make("fastgrnn", **ranks)
    h, x = draw(7, 5), draw(7, 3)
    W, U = (np.linalg.multi_dot([*map(np.asarray, part), np.eye(k)]) for part, k in ((cell.W, 3), (cell.U, 5)))
    p = x @ W.T + h @ U.T
    z, c = sigmoid(p + cell.b_z.numpy()), np.tanh(p + cell.b_c.numpy())
    expected = z * h + (sigmoid(1.0) * (1 - z) + sigmoid(-4.0)) * c
    np.testing.assert_allclose(step(cell, h, x), expected, rtol=0, atol=1e-15)


def test_ugrnn_is_edgemls_formula():
    cell = make("ugrnn")
    h, x = draw(7, 5), draw(7, 3)
    value = {name: parameter.numpy() for name, parameter in cell.named_parameters()}
    z = sigmoid(x @ value["W_z"].T + h @ value["U_z"].T + value["b_z"])
    c = np.tanh(x @ value["W_c"].T + h @ value["U_c"].T + value["b_c"])
    np.testing.assert_allclose(step(cell, h, x), z * h + (1 - z) * c, rtol=0, atol=1e-15)


def test_hard_thresholding_keeps_the_largest_entries_while_all_are_trained():
    torch.manual_seed(3)
    cell = create("fastgrnn", input_size=4, state_size=10, state_rank=5, density=0.2)
    matrices = [*cell.W, *cell.U]
    assert [int((matrix != 0).sum()) for matrix in matrices] == [8, 10, 10]
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


@pytest.mark.parametrize("name", ["fastgrnn", "ugrnn"])
def test_the_ungated_residual_vanishes_at_a_fixed_point(name):
    cell = make(name, seed=1)
    x, h = torch.from_numpy(draw(3)), torch.zeros(5).double()
    for _ in range(2000):
        h = cell.step(h, x)
    torch.testing.assert_close(cell.step(h, x), h, rtol=0, atol=1e-14)
    assert float(cell.ungated_residual(h, x).abs().max()) < 1e-12
