"""The step of every cell is its paper's formula, written out with numpy and scipy."""

import numpy as np
import pytest
import scipy.linalg
import torch
from cells import draw, make
from scipy.special import expit as sigmoid

import problems
from dynlab.systems.orthogonal import entries_of
from dynlab.systems.urnn import real_form, to_complex

N = 6
EYE = np.eye(N)
H, X = draw(7, N).numpy(), draw(7, 3, seed=11).numpy()
CHARTS = {"exp": scipy.linalg.expm, "cayley": lambda A: np.linalg.inv(EYE + A) @ (EYE - A)}


def modrelu(z, b):
    return z / np.abs(z) * np.maximum(np.abs(z) + b, 0)


ACTIVATIONS = {"tanh": np.tanh, "relu": lambda p: np.maximum(p, 0), "sigmoid": sigmoid}


def arrays(system):
    return {name.removeprefix("flow."): value.numpy() for name, value in system.named_parameters()}


def skew(system, name="B"):
    """A − Aᵀ of the entries that a matrix is made of, which are drawn anew."""
    entries, A = entries_of(system, name), np.zeros((N, N))
    entries.copy_(draw(len(entries), seed=len(name) + ord(name[0])))
    A[np.triu_indices(N, 1)] = entries.numpy()
    return A - A.T


def assert_step(system, expected, state=H):
    found = system.step(torch.from_numpy(state), torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_vanilla_feedback_and_fastrnn(activation):
    for name, kept, share in (("vanilla", 0, 1), ("feedback", 1, 0.25), ("fastrnn", sigmoid(3.0), sigmoid(-3.0))):
        system = make(name, activation=activation, **{"step_size": 0.25} if name == "feedback" else {})
        p = arrays(system)
        U, W = (p["U"], p["W"]) if name == "fastrnn" else (p["W"], p["V"])
        assert_step(system, kept * H + share * ACTIVATIONS[activation](X @ W.T + H @ U.T + p["b"]))


@pytest.mark.parametrize("ranks", [{}, {"input_rank": 2, "state_rank": 1}])
def test_fastgrnn(ranks):
    cell = make("fastgrnn", **ranks)
    W, U = (np.linalg.multi_dot([*map(np.asarray, part), np.eye(k)]) for part, k in ((cell.W, 3), (cell.U, N)))
    p = X @ W.T + H @ U.T
    z, c = sigmoid(p + cell.b_z.numpy()), np.tanh(p + cell.b_c.numpy())
    assert_step(cell, z * H + (sigmoid(1.0) * (1 - z) + sigmoid(-4.0)) * c)


def test_ugrnn():
    cell = make("ugrnn")
    p = arrays(cell)
    z = sigmoid(X @ p["W_z"].T + H @ p["U_z"].T + p["b_z"])
    assert_step(cell, z * H + (1 - z) * np.tanh(X @ p["W_c"].T + H @ p["U_c"].T + p["b_c"]))


def test_cornn():
    network = make("cornn", step_size=0.1, gamma=0.2, epsilon=6.4)
    p, y, z = arrays(network), H, H[::-1]
    new_z = z + 0.1 * (np.tanh(y @ p["W"].T + z @ p["W_velocity"].T + X @ p["V"].T + p["b"]) - 0.2 * y - 6.4 * z)
    assert_step(network, np.hstack([y + 0.1 * new_z, new_z]), np.hstack([y, z]))


@pytest.mark.parametrize("chart", CHARTS)
def test_asrnn(chart):
    system = make("asrnn", a=0.3, b=2.0, chart=chart)
    system.b.copy_(draw(N))
    W, U = (CHARTS[chart](skew(system, name)) for name in ("W", "U_f"))
    W_f = U @ np.diag(np.abs(system.S.numpy()) + 0.01)
    z = X @ system.V.numpy().T + H @ W.T + system.b.numpy()
    assert_step(system, np.tanh(z @ W_f.T) @ np.linalg.inv(W_f).T)


def assert_modrelu_step(system, B):
    """In rows, as in the authors' code."""
    system.b.copy_(0.5 * draw(N))
    assert_step(system, modrelu(X @ system.V.numpy().T + H @ B, system.b.numpy()))


def test_exprnn_modrelu_and_dtriv():
    constrained, free, moved = make("exprnn"), make("modrelu"), make("dtriv")
    np.testing.assert_allclose(free.B, constrained.B, atol=1e-6)  # starts as expRNN does, in float32
    free.B.copy_(draw(N, N))
    assert_modrelu_step(free, free.B.numpy())
    B = scipy.linalg.expm(skew(constrained))
    assert_modrelu_step(constrained, B)
    base = B @ B
    moved.parametrizations.B[0].base.copy_(torch.from_numpy(base))
    assert_modrelu_step(moved, base @ scipy.linalg.expm(skew(moved)))


@pytest.mark.parametrize("rho, negative", [(0.1, 1), (0.5, 3)])
def test_scornn(rho, negative):
    system = make("scornn", rho=rho)
    assert_modrelu_step(system, CHARTS["cayley"](skew(system)) @ np.diag([1.0] * (N - negative) + [-1.0] * negative))


def test_nnrnn_whose_triangle_moves_no_eigenvalue():
    system = make("nnrnn")
    schur, P = system.schur, scipy.linalg.expm(skew(system, "W"))
    schur.T.copy_(draw(12))
    schur.gamma.copy_(torch.tensor([0.9, 1.0, 1.2]))
    rotations = schur.gamma.numpy() * np.exp(1j * schur.theta.numpy())
    triangle = scipy.linalg.block_diag(*([[z.real, -z.imag], [z.imag, z.real]] for z in rotations))
    triangle[tuple(zip(*((i, j) for i in range(N) for j in range(i + 1, N) if i // 2 != j // 2), strict=True))] = (
        schur.T
    )
    assert_modrelu_step(system, P @ triangle @ P.T)
    expected = np.concatenate([rotations, rotations.conj()])
    assert problems.eigenvalue_distance(np.linalg.eigvals(system.W.numpy()), expected) < 1e-10


def reflections(entries, k):
    """The matrices I − 2 u uᵀ/‖u‖² of the vectors in the lower triangle, row by row."""
    Y = np.zeros((N, k))
    Y[np.tril_indices(N, 0, k)] = entries
    return [EYE - 2 * np.outer(u, u) / (u @ u) for u in Y.T]


def assert_step_of_singular_values(system, p, U, Q, margin):
    """W = U diag(s) Qᵀ with s within the margin of 1; W."""
    p.copy_(draw(N))
    system.b.copy_(draw(N))
    s = 2 * margin * (sigmoid(p.numpy()) - 0.5) + 1
    W = U @ np.diag(s) @ Q.T
    assert_step(system, np.tanh(H @ W.T + X @ system.V.numpy().T + system.b.numpy()))
    np.testing.assert_allclose(np.linalg.svd(W)[1], np.sort(s)[::-1], rtol=0, atol=1e-13)
    return W


@pytest.mark.parametrize("k", [1, 6])
def test_spectral(k):
    system = make("spectral", reflections=k, margin=0.4, activation="tanh")
    parametrization, vectors = system.parametrizations.W[0], system.parametrizations.W.original
    # the reflections of Q in their order, the scaling, those of U in the reverse order
    U, Q = (np.linalg.multi_dot([EYE, EYE, *reflections(part.numpy(), k)]) for part in vectors)
    assert_step_of_singular_values(system, parametrization.p, U, Q, 0.4)
    assert np.linalg.det(parametrization.orthogonal(vectors[0]).numpy()) == pytest.approx((-1) ** k, abs=1e-12)


def test_soft_orthogonal():
    system = make("soft-orthogonal", margin=0.3, activation="tanh")
    for name in ("U", "Q"):
        skew(system, name)
    W = assert_step_of_singular_values(system, system.p, system.U.numpy(), system.Q.numpy(), 0.3)
    assert float(system.penalty()) == pytest.approx(np.linalg.norm(W.T @ W - EYE) ** 2, abs=1e-13)


def of(state):
    return to_complex(torch.as_tensor(state)).numpy()


def unitary(recurrent):
    """D₃ R₂ F⁻¹ D₂ Π R₁ F D₁ as complex matrices."""
    D = [np.diag(np.exp(1j * phases)) for phases in recurrent.phases.numpy()]
    R = [EYE - 2 * np.outer(u, u.conj()) / np.vdot(u, u).real for u in of(recurrent.reflections)]
    F = scipy.linalg.dft(N, scale="sqrtn")
    return D[2] @ R[1] @ F.conj().T @ D[1] @ EYE[recurrent.permutation.numpy()] @ R[0] @ F @ D[0]


@pytest.mark.parametrize("name", ["urnn", "fc-urnn"])
def test_urnn_and_the_full_capacity_urnn(name):
    system, state = make(name), draw(7, 2 * N).numpy()
    system.b.copy_(0.5 * draw(N))
    matrix = system.recurrent.matrix()
    W = matrix[:N, :N].numpy() + 1j * matrix[N:, :N].numpy()
    torch.testing.assert_close(real_form(torch.from_numpy(W)), matrix, rtol=0, atol=1e-15)
    if name == "urnn":
        np.testing.assert_allclose(W, unitary(system.recurrent), rtol=0, atol=1e-14)
    np.testing.assert_allclose(W.conj().T @ W, EYE, rtol=0, atol=1e-14)
    expected = modrelu(of(state) @ W.T + X @ of(system.V.T), system.b.numpy())
    assert_step(system, np.hstack([expected.real, expected.imag]), state)


def test_kru():
    system, state, W = make("kru", hidden_size=8), draw(7, 16).numpy(), np.eye(1)
    system.factors.copy_(draw(*system.factors.shape))
    for real, imaginary in system.factors.numpy():
        W = np.kron(W, real + 1j * imaginary)
    z = of(state) @ W.T
    assert_step(system, np.tanh(np.hstack([z.real, z.imag]) + X @ system.V.numpy().T), state)


@pytest.mark.parametrize(
    "start, sign, projection, rank", [("previous", 1, True, 2), ("zero", -1, True, None), ("previous", -1, False, 2)]
)
def test_ernn(start, sign, projection, rank):
    system = make("ernn", length=1, start=start, sign=sign, projection=projection, rank=rank, inner_steps=3)
    system.eta.copy_(torch.tensor([[0.25], [0.5], [0.75]]))
    U = system.U.weight.numpy() if rank is None else EYE + system.U.V.numpy() @ system.U.H.numpy()
    P = U if projection else EYE
    g = H if start == "previous" else 0 * H
    for eta in (0.25, 0.5, 0.75):
        z = g + sign * H
        g = g + eta * (np.maximum((z @ U.T + X @ system.W.numpy().T + system.b.numpy()) @ P.T, 0) - z)
    assert_step(system, g)
    np.testing.assert_allclose(system.recurrent_matrix(), P @ U, rtol=0, atol=1e-14)


@pytest.mark.parametrize("start, sign", [("previous", 1), ("zero", -1)])
def test_an_ernn_with_a_deep_transition_of_no_layers_is_the_ernn_without_projection(start, sign):
    options = {"length": 4, "inner_steps": 3, "start": start, "sign": sign, "eta": 0.2}
    plain = make("ernn", **options, rank=None, projection=False, activation="tanh")
    deep = make("ernn-deep", **options, layers=0)
    for name, value in (("W", plain.W), ("b", plain.b), ("U", plain.U.weight)):
        getattr(deep, name).copy_(value)
    torch.testing.assert_close(deep.step(draw(7, N), draw(7, 3), 2), plain.step(draw(7, N), draw(7, 3), 2))
