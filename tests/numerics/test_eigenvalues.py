"""Enclosures of eigenvalues against Arb's own rigorous ones, at 40 digits and more, of the matrix as stored."""

import numpy as np
import pytest
from flint import acb, acb_mat, ctx

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.numerics.eigenvalues import AXIS, CIRCLE, eigenvalues_and_errors, enclosed_anew
from dynlab.numerics.kinds import kind_of_flow, kind_of_map
from dynlab.systems.textbook import LinearMap

BITS = 400


def arb_eigenvalues(matrix):
    n = len(matrix)
    return acb_mat(n, n, [acb(float(entry)) for entry in matrix.ravel()]).eig(multiple=True, algorithm="rump")


def farthest(matrix, values, errors):
    """The largest distance to the nearest true eigenvalue, as a share of its bound, and whether each has its own."""
    with ctx.workprec(BITS):
        true = arb_eigenvalues(matrix)
        shares, owners = [], []
        for value, error in zip(values, errors, strict=True):
            distances = [float(abs(each - acb(value.real, value.imag)).upper()) for each in true]
            shares.append(min(distances) / error)
            owners.append(int(np.argmin(distances)))
    return np.array(shares), owners


def skewed(generator, blocks, skew):
    """S B S⁻¹ with a condition of S of about 10^skew."""
    n = len(blocks)
    first, second = (np.linalg.qr(generator.standard_normal((n, n)))[0] for _ in range(2))
    basis = first @ np.diag(10 ** generator.uniform(0, skew, n)) @ second
    return basis @ blocks @ np.linalg.inv(basis)


def rotations(generator, n):
    """Complex pairs, on and about the unit circle."""
    blocks = np.zeros((n, n))
    for k in range(0, n - 1, 2):
        modulus, angle = generator.choice([0.3, 1 - 1e-9, 1 + 1e-12, 1.7]), generator.uniform(0.1, 3)
        c, s = modulus * np.cos(angle), modulus * np.sin(angle)
        blocks[k : k + 2, k : k + 2] = [[c, -s], [s, c]]
    return blocks


FAMILIES = {
    "random": lambda g, n: g.standard_normal((n, n)) / np.sqrt(n),
    "symmetric": lambda g, n: (lambda a: a + a.T)(g.standard_normal((n, n))),
    "orthogonal": lambda g, n: np.linalg.qr(g.standard_normal((n, n)))[0],
    "complex": lambda g, n: skewed(g, rotations(g, n), 1),
    "not normal": lambda g, n: skewed(g, np.diag(g.uniform(-2, 2, n)), 5),
    "triangular": lambda g, n: np.triu(g.standard_normal((n, n)), 1) * 10 + np.diag(1 + 1e-3 * np.arange(n)),
    "clustered": lambda g, n: skewed(g, np.diag(1 + 1e-7 * g.uniform(-1, 1, n)), 1),
    "graded": lambda g, n: g.standard_normal((n, n)) * 10.0 ** (np.subtract.outer(np.arange(n), np.arange(n)) / 3),
    "single precision": lambda g, n: g.standard_normal((n, n)).astype(np.float32).astype(float),
    "huge": lambda g, n: 1e30 * g.standard_normal((n, n)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_enclosure_is_below_the_true_error(family):
    """All eigenvalues enclosed anew, whether near a border or not: 3,580 of ten families in all."""
    generator = np.random.default_rng(3)
    bettered, count, largest = 0, 0, 0.0
    for n in [2, 3, 5, 8] * 17 + [26, 26]:
        matrix = FAMILIES[family](generator, n)
        values, right = np.linalg.eig(matrix)
        order = np.argsort(-np.abs(values), kind="stable")
        values, right = values[order].astype(complex), right[:, order].astype(complex)
        first = eigenvalues_and_errors(matrix)[1]
        found, errors = enclosed_anew(matrix, values, right, first, np.ones(n, dtype=bool), 0.0)
        shares, owners = farthest(matrix, found, errors)
        largest = max(largest, shares.max())
        alone = errors < first
        assert len(set(np.array(owners)[alone])) == alone.sum()  # no eigenvalue is found twice
        bettered, count = bettered + alone.sum(), count + n
    assert largest <= 1
    assert count == 358
    assert bettered >= 0.95 * count


@pytest.mark.parametrize("split", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
def test_nearly_defective_eigenvalues_are_told_apart_or_left(split):
    """Three eigenvalues split^(1/3) apart, of a Jordan block with `split` in its corner, beside two others."""
    generator = np.random.default_rng(5)
    for _ in range(40):
        jordan = np.eye(3) + np.eye(3, k=1) + split * np.eye(3, k=-2)
        blocks = np.block([[jordan, generator.standard_normal((3, 2))], [np.zeros((2, 3)), np.diag([0.5, -0.25])]])
        matrix = skewed(generator, blocks, 1)
        found, errors = eigenvalues_and_errors(matrix, border=CIRCLE)
        shares, owners = farthest(matrix, found, errors)
        assert shares.max() <= 1
        sharp = errors < 1e-3 * split ** (1 / 3)
        assert len(set(np.array(owners)[sharp])) == sharp.sum()


@pytest.mark.parametrize("size", [1, 2, 4, 7])
@pytest.mark.parametrize("border", [CIRCLE, AXIS])
def test_what_is_defective_or_multiple_on_its_border_stays_undecided(size, border):
    value = 1.0 if border == CIRCLE else 0.0
    rotation = np.linalg.qr(np.random.default_rng(size).standard_normal((size, size)))[0]
    for block in (value * np.eye(size) + np.eye(size, k=1), value * np.eye(size)):
        for basis in (np.eye(size), rotation):
            kind = (kind_of_map if border == CIRCLE else kind_of_flow)(
                *eigenvalues_and_errors(basis @ block @ basis.T, 1e-15 * size, border=border)
            )
            assert kind.undecided == size
            assert kind.stable == -1


def test_an_error_of_the_matrix_moves_the_eigenvalue_no_farther_than_its_disc():
    """Of matrices A + E with ‖E‖₂ at its bound, the worst E included: of the eigenvectors, y xᴴ/(‖y‖‖x‖)."""
    generator = np.random.default_rng(1)
    tightest = []
    for _ in range(200):
        matrix = skewed(generator, np.diag([1 - 1e-7, *generator.uniform(-0.9, 0.9, 3)]), 1)
        error = 10.0 ** generator.uniform(-9, -5)
        values, right = np.linalg.eig(matrix)
        index = np.argmin(np.abs(values - 1))
        found, errors = enclosed_anew(
            matrix, values.astype(complex), right.astype(complex), np.full(4, 1e-2), np.arange(4) == index, error
        )
        left = np.linalg.inv(right)[index]
        worst = np.outer(left / np.linalg.norm(left), right[:, index] / np.linalg.norm(right[:, index])).real
        for change in (worst, -worst, (lambda e: e / np.linalg.norm(e, 2))(generator.standard_normal((4, 4)))):
            moved = np.linalg.eigvals(matrix + error * change)
            assert np.abs(moved - found[index]).min() <= errors[index] + 1e-11  # what LAPACK itself leaves
        tightest.append(np.abs(np.linalg.eigvals(matrix + error * worst) - found[index]).min() / errors[index])
    assert np.median(tightest) > 0.95  # and no disc is much larger than it must be


def test_a_linear_map_is_classified_as_it_is_stored():
    """[[1 ∓ 1e-9, 1e6], [0, 1/2]]: condition 2e6, which the first bound does not separate from 1."""
    for value, stable in ((1 - 1e-9, 1), (1 + 1e-9, 0), (1 - 2.0**-53, -1)):
        ds = fixed_points(LinearMap([[value, 1e6], [0.0, 0.5]]), starts=4)
        assert ds["stable"].values.tolist() == [stable]
    assert eigenvalues_and_errors(np.array([[1 - 1e-9, 1e6], [0.0, 0.5]]))[1][0] > 1e-4


def test_what_a_disc_cannot_separate_is_not_enclosed_at_a_cost():
    """An error of the matrix beyond what is asked: the first bound stays as it was."""
    matrix = np.array([[1 - 1e-9, 1.0], [0.0, 0.5]])
    first = eigenvalues_and_errors(matrix, 1e-6)
    again = eigenvalues_and_errors(matrix, 1e-6, border=CIRCLE)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
