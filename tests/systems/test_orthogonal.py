"""Orthogonal parametrizations: the map by scipy, torch's own beside it, gradients in closed form, and moving bases."""

import copy
import math

import numpy as np
import pytest
import scipy.linalg
import torch
from torch.nn.utils import parametrize

from dynlab.diagnostics.spectrum import spectrum
from dynlab.errors import UserError
from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, cayley, entries_of, skew_start

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


@pytest.mark.parametrize("size", [6, 7])
def test_starts_turn_planes_by_angles_in_their_ranges(size):
    torch.manual_seed(22)
    a = skew(skew_start(size, "cayley"), size).diagonal(1)[::2]
    assert bool(((a > -1) & (a <= 0)).all())
    angles = np.angle(np.linalg.eigvals(cayley(skew(skew_start(size, "cayley").double(), size))))
    assert np.abs(angles).max() <= math.pi / 2
    assert (np.abs(angles) > 1e-3).sum() == 2 * (size // 2)
    a = skew(skew_start(1000, "henaff"), 1000).diagonal(1)[::2]
    assert float(a.abs().max()) <= math.pi
    assert float(a.var()) == pytest.approx(math.pi**2 / 3, rel=0.15)
    assert float(skew_start(size, "zero").abs().max()) == 0


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


def test_every_m_moves_the_base_is_projected():
    cell = moving().double()
    parametrization = cell.parametrizations.B[0]
    parametrization.base.mul_(1.01)  # as rounding might, but larger
    defects = []
    for _ in range(6):
        cell.after_optimizer_step()
        defects.append(defect(cell.B) > 1e-3)
    assert defects == [True] * 5 + [False]


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


def test_a_run_resumes_exactly_between_two_moves_of_the_base():
    cell = moving()
    optimizer = torch.optim.RMSprop(cell.parameters(), lr=1e-2)
    trained(cell, optimizer, 4)
    saved = copy.deepcopy((cell.state_dict(), optimizer.state_dict()))
    trained(cell, optimizer, 5)
    again = moving()
    again.load_state_dict(saved[0])
    optimizer = torch.optim.RMSprop(again.parameters(), lr=1e-2)
    optimizer.load_state_dict(saved[1])
    trained(again, optimizer, 5)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in cell.state_dict().items())


ORTHOGONAL = [
    ("exprnn", {}, ["B"]),
    ("dtriv", {"rebase_every": 10, "project_every": 3}, ["B"]),
    ("scornn", {}, ["B"]),
    ("asrnn", {"rebase_every": 10}, ["W", "U_f"]),
    ("asrnn", {"chart": "cayley"}, ["W", "U_f"]),
]


@pytest.mark.parametrize("name, config, matrices", ORTHOGONAL)
def test_matrices_stay_orthogonal_in_float32(name, config, matrices):
    torch.manual_seed(27)
    cell = create(name, input_size=1, state_size=24, **config)
    starts = [getattr(cell, matrix).detach().clone() for matrix in matrices]
    trained(cell, torch.optim.RMSprop(cell.parameters(), lr=1e-2), 300)
    for matrix, start in zip(matrices, starts, strict=True):
        W = getattr(cell, matrix)
        assert W.dtype == torch.float32
        assert float((W.detach() - start).abs().max()) > 0.05
        assert defect(W) < 1e-5


@pytest.mark.parametrize(
    "name, config, message",
    [
        ("exprnn", {"init": "henaf"}, "did you mean 'henaff'"),
        ("exprnn", {"chart": "expm"}, "did you mean 'exp'"),
        ("dtriv", {"rebase_every": 0}, "got 0 and 100"),
        ("dtriv", {"project_every": 0}, "got 100 and 0"),
        ("scornn", {"rho": 1.5}, "between 0 and 1, got 1.5"),
        ("asrnn", {"chart": "caley"}, "did you mean 'cayley'"),
        ("asrnn", {"eps": 0.0}, r"positive eps \(1e-5 in place of 0\)"),
        ("asrnn", {"a": 1.0, "b": 0.0}, "a <= b"),
    ],
)
def test_misuse_is_one_sentence(name, config, message):
    with pytest.raises(UserError, match=message):
        create(name, input_size=1, state_size=4, **config)


@pytest.fixture
def exponentials(monkeypatch):
    """How often a matrix exponential was taken."""
    taken, exponential = [], torch.linalg.matrix_exp
    monkeypatch.setattr(torch.linalg, "matrix_exp", lambda A: taken.append(1) or exponential(A))
    return taken


def test_a_frozen_copy_makes_its_matrix_once(exponentials):
    system = frozen(create("exprnn", input_size=2, state_size=8))
    inputs = torch.randn(20, 3, 2, dtype=torch.float64)
    state = torch.zeros(3, 8, dtype=torch.float64)
    for t, input in enumerate(inputs):
        state = system.step(state, input, t)
    assert len(exponentials) == 1
    spectrum(create("exprnn", input_size=2, state_size=8), inputs.transpose(0, 1).numpy(), times=5)
    assert len(exponentials) <= 5


@pytest.mark.parametrize("change", ["in place", "another", "a copy", "another dtype"])
def test_a_matrix_that_is_kept_follows_what_it_is_made_of(change):
    system = frozen(create("exprnn", input_size=2, state_size=8))
    before = system.recurrent().clone()
    changed = torch.randn_like(entries_of(system, "B"))
    expected = torch.linalg.matrix_exp(SkewSymmetric(8)(changed)).T
    if change == "in place":
        entries_of(system, "B").copy_(changed)
        found = system.recurrent()
    elif change == "another":
        names = {"parametrizations.B.original": changed}
        found = torch.func.functional_call(Recurrent(system), {f"system.{name}": one for name, one in names.items()})
        again = {name: one.clone().mul_(0) for name, one in names.items()}
        none = torch.func.functional_call(Recurrent(system), {f"system.{name}": one for name, one in again.items()})
        torch.testing.assert_close(none, torch.eye(8, dtype=torch.float64))
        torch.testing.assert_close(system.recurrent(), before)
    elif change == "a copy":
        other = copy.deepcopy(system)
        entries_of(other, "B").copy_(changed)
        found = other.recurrent()
        torch.testing.assert_close(system.recurrent(), before)
    else:
        found = frozen(system, torch.float32).recurrent()
        assert found.dtype == torch.float32
        expected = before.float()
    torch.testing.assert_close(found, expected)


class Recurrent(torch.nn.Module):
    """A system whose recurrent matrix is what a call gives."""

    def __init__(self, system):
        super().__init__()
        self.system = system

    def forward(self):
        return self.system.recurrent()


def test_the_matrix_of_ones_own_module_is_always_made_anew():
    """An average of weights moves them by ``.data``, of which torch keeps no count."""
    system = create("exprnn", input_size=2, state_size=8).requires_grad_(False)
    system.recurrent()
    entries_of(system, "B").data.zero_()
    torch.testing.assert_close(system.recurrent(), torch.eye(8))
    assert spectrum(system, np.zeros((1, 3, 2)), times=2).eigenvalue.shape[-1] == 8
