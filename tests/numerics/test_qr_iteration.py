"""The Schur form of large matrices, against matrices whose eigenvalues are known and the identity A = Q T Qᵀ."""

import numpy as np
import pytest

from dynlab.numerics.eigenvalue_sets import matched
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.lapack import geev, schur
from dynlab.numerics.qr_iteration import LARGE, large_schur

N = LARGE + 21
EPS = np.finfo(np.float64).eps


def _rows_of_zeros() -> np.ndarray:
    matrix = np.random.default_rng(1).standard_normal((N, N))
    matrix[::3] = 0.0
    return matrix


def _blocks() -> tuple[np.ndarray, np.ndarray]:
    """A normal matrix of rotations and of real numbers, turned: its eigenvalues are known to rounding."""
    rng = np.random.default_rng(2)
    real, pairs = rng.uniform(-1, 1, N - 100), rng.uniform(0.1, 1, 50) + 1j * rng.uniform(0.1, 1, 50)
    plain = np.diag(np.concatenate([real, np.repeat(pairs.real, 2)]))
    first = np.arange(N - 100, N, 2)
    plain[first, first + 1], plain[first + 1, first] = pairs.imag, -pairs.imag
    turn = np.linalg.qr(rng.standard_normal((N, N)))[0]
    return turn @ plain @ turn.T, np.concatenate([real, pairs, pairs.conj()])


MATRICES = {
    "random": np.random.default_rng(0).standard_normal((N, N)),
    "tiny": 1e-300 * np.random.default_rng(0).standard_normal((N, N)),
    "huge": 1e300 * np.random.default_rng(0).standard_normal((N, N)),
    "rows of zeros": _rows_of_zeros(),
    "a cycle, in which no shift converges": np.roll(np.eye(N), 1, axis=0),
    "one Jordan block": np.eye(N) + np.eye(N, k=1),
    "skew": np.triu(np.ones((N, N)), 1) - np.tril(np.ones((N, N)), -1),
    "zero": np.zeros((N, N)),
    "turned": _blocks()[0],
}


@pytest.mark.parametrize("name", MATRICES)
def test_the_form_is_orthogonally_similar_to_the_matrix(name: str) -> None:
    matrix = MATRICES[name]
    values, T, Q = large_schur(matrix)
    size = np.abs(matrix).max() or 1.0
    norm = np.linalg.norm(matrix / size)
    assert np.linalg.norm(Q @ (T / size) @ Q.T - matrix / size) <= N * EPS * norm
    assert np.linalg.norm(Q.T @ Q - np.eye(N)) <= 20 * N * EPS
    below = T.diagonal(-1) != 0
    assert not np.tril(T, -2).any()
    assert not (below[1:] & below[:-1]).any()  # blocks of two rows at most
    (first,) = np.nonzero(below)
    assert (T.diagonal()[first] == T.diagonal()[first + 1]).all()
    assert (values.imag[first] > 0).all()
    assert (np.sign(T[first, first + 1]) == -np.sign(T[first + 1, first])).all()
    assert (np.delete(values, [*first, *(first + 1)]).imag == 0).all()


def test_eigenvalues_of_a_normal_matrix_are_known() -> None:
    matrix, truth = _blocks()
    for values in (large_schur(matrix)[0], geev(matrix, vectors=False)[0]):
        assert np.abs(values[matched(truth, values)] - truth).max() <= N * EPS


def test_roots_of_unity() -> None:
    values = large_schur(MATRICES["a cycle, in which no shift converges"])[0]
    truth = np.exp(2j * np.pi * np.arange(N) / N)
    assert np.abs(values[matched(truth, values)] - truth).max() <= N * EPS


def test_vectors_are_those_of_the_matrix() -> None:
    matrix = np.geomspace(1, 1e-12, N)[:, None] * MATRICES["random"]  # graded: balanced, small eigenvalues have digits
    values, right, left = geev(matrix, vectors=True)
    pair = np.flatnonzero(values.imag > 0)
    for rows, of, sign in ((right, matrix, 1), (left, matrix.T, -1)):
        vectors = rows.astype(complex)
        vectors[pair], vectors[pair + 1] = rows[pair] + 1j * rows[pair + 1], rows[pair] - 1j * rows[pair + 1]
        wanted = values if sign > 0 else values.conj()
        assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() <= N * EPS
        assert np.linalg.norm(of @ vectors.T - vectors.T * wanted, axis=0).max() <= N * EPS * np.linalg.norm(matrix)
    assert np.isclose(np.linalg.slogdet(matrix)[1], np.log(np.abs(values)).sum(), atol=1e-8)


def test_bounds_hold_of_eigenvalues_that_are_known() -> None:
    matrix, truth = _blocks()
    found = eigenvalues(matrix, 4 * N * EPS)  # what turning it has left in it
    own = matched(truth, found.values)
    assert (np.abs(found.values[own] - truth) <= found.errors[own]).all()
    assert found.errors.max() < 1e-12


def test_a_form_that_does_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynlab.numerics.qr_iteration.STUCK", 0)
    monkeypatch.setattr(
        "dynlab.numerics.qr_iteration.call", lambda name, *arguments: int(name == "dhseqr"), raising=True
    )
    assert np.isnan(schur(MATRICES["random"]).values).all()
