"""Matrices whose eigenvalues are hard to know, and what their eigenvalues are, in many digits."""

import mpmath
import numpy as np

DIGITS = 60
MORE_DIGITS = 600  # of matrices that are defective to rounding: m equal eigenvalues have an m-th of them


def skewed(generator, blocks, skew):
    """S B S⁻¹ with a condition of S of about 10^skew."""
    n = len(blocks)
    first, second = (orthogonal(generator, n) for _ in range(2))
    basis = first @ np.diag(10 ** generator.uniform(0, skew, n)) @ second
    return basis @ blocks @ np.linalg.inv(basis)


def orthogonal(generator, n):
    return np.linalg.qr(generator.standard_normal((n, n)))[0]


def rotations(generator, n):
    """Complex pairs, on and about the unit circle."""
    blocks = np.zeros((n, n))
    for k in range(0, n - 1, 2):
        modulus, angle = generator.choice([0.3, 1 - 1e-9, 1 + 1e-12, 1.7]), generator.uniform(0.1, 3)
        c, s = modulus * np.cos(angle), modulus * np.sin(angle)
        blocks[k : k + 2, k : k + 2] = [[c, -s], [s, c]]
    return blocks


def jordan(generator, n):
    """Jordan blocks of random sizes up to 5 and eigenvalues that come more than once."""
    blocks, start = np.zeros((n, n)), 0
    while start < n:
        size = min(int(generator.integers(1, 6)), n - start)
        value, link = generator.choice([0.0, 1.0, -0.5, 0.9, generator.normal()]), generator.choice([1.0, 1e-3, 10.0])
        blocks[start : start + size, start : start + size] = value * np.eye(size) + link * np.eye(size, k=1)
        start += size
    return blocks


def nearly_defective(generator, n):
    """Jordan blocks in another basis, and noise from rounding to 1e-6."""
    basis = int(generator.integers(3))
    blocks = jordan(generator, n)
    if basis == 1:
        Q = orthogonal(generator, n)
        blocks = Q @ blocks @ Q.T
    elif basis == 2:
        blocks = skewed(generator, blocks, 1)
    noise = 10.0 ** generator.choice([-16, -14, -12, -10, -8, -6])
    return blocks + noise * generator.standard_normal((n, n))


def defective_pairs(generator, n):
    """Complex pairs that come twice or more, in Jordan blocks, with noise about as large as rounding and larger."""
    angle, modulus = generator.uniform(0.1, 3), generator.choice([0.5, 1.0, 1.3])
    turn = modulus * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    blocks = np.zeros((n, n))
    blocks[: n - n % 2, : n - n % 2] = np.kron(np.eye(n // 2), turn) + np.kron(np.eye(n // 2, k=1), np.eye(2))
    Q = orthogonal(generator, n)
    return Q @ blocks @ Q.T + generator.choice([0, 1e-13, 1e-9]) * generator.standard_normal((n, n))


def graded_jordan(generator, n):
    """A Jordan block whose rows and columns have all sizes, D J D⁻¹, each entry changed by a share of itself."""
    d = 10.0 ** (generator.uniform(-1, 1) * np.arange(n))
    block = (generator.choice([0.5, 1.0, -2.0]) * np.eye(n) + np.eye(n, k=1)) * np.divide.outer(d, d)
    noise = 10.0 ** generator.choice([-16, -12, -8]) * generator.standard_normal((n, n))
    return block * (1 + noise) + noise * np.divide.outer(d, d)


def companion(generator, n):
    """Of polynomials with random coefficients, and with roots that nearly coincide."""
    matrix = np.eye(n, k=1)
    several = generator.random() < 0.5
    matrix[-1] = -np.poly(generator.choice([1, 0.9, 0.5, -1], n))[:0:-1] if several else generator.standard_normal(n)
    return matrix


FAMILIES = {
    "random": lambda g, n: g.standard_normal((n, n)) / np.sqrt(n),
    "orthogonal": orthogonal,
    "complex": lambda g, n: skewed(g, rotations(g, n), 1),
    "not normal": lambda g, n: skewed(g, np.diag(g.uniform(-2, 2, n)), 5),
    "triangular": lambda g, n: np.triu(g.standard_normal((n, n)), 1) * 10 + np.diag(1 + 1e-3 * np.arange(n)),
    "clustered": lambda g, n: skewed(g, np.diag(1 + 1e-7 * g.uniform(-1, 1, n)), 1),
    "graded": lambda g, n: g.standard_normal((n, n)) * 10.0 ** (np.subtract.outer(np.arange(n), np.arange(n)) / 3),
    "rows of all sizes": lambda g, n: 10.0 ** g.uniform(-8, 0, n)[:, None] * g.standard_normal((n, n)),
    "huge": lambda g, n: 1e30 * g.standard_normal((n, n)),
    "tiny": lambda g, n: 1e-160 * g.standard_normal((n, n)),
    "of low rank": lambda g, n: g.standard_normal((n, max(1, n // 2))) @ g.standard_normal((max(1, n // 2), n)),
    "dead units": lambda g, n: (g.random(n) < 0.5)[:, None] * g.standard_normal((n, n)),
    "nearly defective": nearly_defective,
    "defective pairs": defective_pairs,
    "graded Jordan blocks": graded_jordan,
    "companion": companion,
}
DEFECTIVE = ("nearly defective", "defective pairs", "graded Jordan blocks", "companion")


def exact(matrix, digits=DIGITS):
    """All eigenvalues of the matrix as it is stored, as mpmath's complex numbers."""
    if len(matrix) == 1:
        return [mpmath.mpc(matrix[0, 0])]
    with mpmath.workdps(digits):
        return [mpmath.mpc(value) for value in mpmath.eig(mpmath.matrix(matrix.tolist()), left=False, right=False)]


def distances(values, true):
    """|value − true|, shape (n, n), of arrays of complex numbers and mpmath's, without cancellation."""
    with mpmath.workdps(DIGITS):
        return np.array([[float(abs(mpmath.mpc(value) - other)) for other in true] for value in values])
