"""Orthogonal parametrizations: the map by scipy, torch's own beside it, gradients in closed form, and moving bases."""

import copy
import math

import geotorch.so
import numpy as np
import pytest
import scipy.linalg
import torch
from torch.nn.utils import parametrizations, parametrize

from dynlab.diagnostics.spectrum import spectrum
from dynlab.errors import UserError
from dynlab.systems import create, frozen
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, cayley, entries_of, polar_factor, skew_start

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


@pytest.mark.parametrize("theirs, chart, factor", [("matrix_exp", "exp", 1.0), ("cayley", "cayley", -0.5)])
def test_torchs_own_is_the_same_map_of_twice_the_numbers(theirs, chart, factor):
    linear = parametrizations.orthogonal(
        torch.nn.Linear(N, N, bias=False).double(), orthogonal_map=theirs, use_trivialization=False
    )
    original = linear.parametrizations.weight.original
    lower = original.detach().tril(-1)  # torch takes the lower triangle L, and L − Lᵀ
    entries = factor * (lower - lower.T)[tuple(torch.triu_indices(N, N, 1))]
    ours = Orthogonal(SkewSymmetric(N), chart)(entries)
    torch.testing.assert_close(ours, linear.weight.detach(), rtol=0, atol=1e-14)
    assert (original.numel(), entries.numel()) == (N * N, N * (N - 1) // 2)


@pytest.mark.parametrize("theirs, chart, factor", [("expm", "exp", 1.0), ("cayley", "cayley", -0.5)])
def test_geotorchs_is_the_same_map_of_twice_the_numbers_from_the_same_base(theirs, chart, factor):
    base, original = polar_factor(draw(N, N)), draw(N, N).flip(0)
    other = geotorch.so.SO(original.shape, triv=theirs)
    other.base = base
    lower = original.tril(-1)
    entries = factor * (lower - lower.T)[tuple(torch.triu_indices(N, N, 1))]
    torch.testing.assert_close(Orthogonal(SkewSymmetric(N), chart, base)(entries), other(original), rtol=0, atol=1e-14)


def test_geotorchs_is_not_orthogonal_enough_in_float32():
    size = 128
    torch.manual_seed(21)
    entries = torch.randn(size * (size - 1) // 2) / math.sqrt(size)
    other = geotorch.so.SO(torch.Size((size, size)), triv="expm")
    other.base = torch.eye(size)
    assert defect(other(skew(entries, size))) > 1e-5
    assert defect(Orthogonal(SkewSymmetric(size))(entries)) < 1e-6


def test_torchs_own_is_not_orthogonal_enough_in_float32():
    size = 128
    torch.manual_seed(21)
    entries = skew_start(size, "henaff") + 0.1 * torch.randn(size * (size - 1) // 2)
    linear = parametrizations.orthogonal(
        torch.nn.Linear(size, size, bias=False), orthogonal_map="matrix_exp", use_trivialization=False
    )
    with torch.no_grad():
        linear.parametrizations.weight.original.copy_(skew(entries, size))
    assert defect(linear.weight) > 1e-5
    assert defect(Orthogonal(SkewSymmetric(size))(entries)) < 1e-6


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


def test_the_cayley_start_turns_by_s_itself():
    torch.manual_seed(23)
    entries = skew_start(8, "cayley")
    torch.manual_seed(23)
    s = torch.empty(4).uniform_(0, math.pi / 2).double()
    angles = np.sort(np.angle(np.linalg.eigvals(cayley(skew(entries.double(), 8)))))
    np.testing.assert_allclose(angles[4:], np.sort(s.numpy()), rtol=0, atol=1e-6)


def test_gradient_of_the_exponential_is_the_frechet_derivative():
    entries, G, direction = draw(N * (N - 1) // 2).requires_grad_(), draw(N, N), draw(N * (N - 1) // 2).flip(0)
    (Orthogonal(SkewSymmetric(N))(entries) * G).sum().backward()
    turned = scipy.linalg.expm_frechet(skew(entries.detach()).numpy(), skew(direction).numpy(), compute_expm=False)
    assert float(entries.grad @ direction) == pytest.approx(float((G.numpy() * turned).sum()), rel=1e-12)


def test_gradient_of_the_scaled_cayley_map_is_scornns():
    # V = (I + A)⁻ᵀ ∂L/∂W (D + Wᵀ), ∂L/∂A = Vᵀ − V (scoRNN, theorem 3.2)
    torch.manual_seed(24)
    cell = create("scornn", input_size=1, state_size=N, rho=0.34).double()
    entries = entries_of(cell, "B")
    with torch.no_grad():
        entries.copy_(draw(N * (N - 1) // 2))
    G = draw(N, N)
    (cell.B * G).sum().backward()
    A, W, eye = skew(entries.detach()), cell.B.detach(), torch.eye(N, dtype=torch.float64)
    D = torch.diag(torch.tensor([1.0, 1, 1, 1, -1, -1], dtype=torch.float64))
    torch.testing.assert_close(W, torch.linalg.solve(eye + A, eye - A) @ D, rtol=0, atol=1e-14)
    V = torch.linalg.solve((eye + A).T, G @ (D + W.T))
    expected = (V.T - V)[tuple(torch.triu_indices(N, N, 1))]
    torch.testing.assert_close(entries.grad, expected, rtol=0, atol=1e-13)


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


def test_a_base_that_moves_once_is_the_start_itself():
    cell = moving(rebase_every=None)
    assert float(entries_of(cell, "B").detach().abs().max()) == 0
    torch.manual_seed(25)
    static = create("exprnn", input_size=1, state_size=N)
    torch.testing.assert_close(cell.B, static.B, rtol=0, atol=1e-7)
    base = cell.parametrizations.B[0].base.clone()
    for _ in range(5):
        cell.after_optimizer_step()
    assert torch.equal(cell.parametrizations.B[0].base, base)


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


@pytest.mark.slow
def test_a_moving_base_stays_orthogonal_in_float32_over_ten_thousand_steps():
    torch.manual_seed(28)
    cell = create("dtriv", input_size=1, state_size=24, rebase_every=10)
    target = polar_factor(torch.randn(24, 24))
    optimizer = torch.optim.RMSprop([entries_of(cell, "B")], lr=1e-3)
    for _ in range(10_000):
        optimizer.zero_grad()
        (cell.B - target).square().sum().backward()
        optimizer.step()
        cell.after_optimizer_step()
    assert int(cell.parametrizations.B[0].steps) == 10_000
    assert defect(cell.B) < 1e-5


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


def test_a_fixed_base_cannot_be_asked_to_move():
    with pytest.raises(UserError, match="no base that could move"):
        Orthogonal(SkewSymmetric(N)).rebase(draw(N * (N - 1) // 2))


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
