"""Singular values of long products in multi-precision arithmetic, whatever their range; numbers are Arb's.

The product is kept as Q s T, as `dynlab.numerics.graded_product` keeps it, but with as many digits as a factor spans
and more, so that nothing is lost; then its rows are made orthogonal by Jacobi's rotations.
"""

import math
from contextlib import contextmanager

import flint
import numpy as np
from flint import arb, arb_mat

GUARD_BITS = 300  # beyond the range of the entries of a factor
DOUBLE_SPAN = 2100  # what float64 holds goes from 2^-1022 to 2^1024
ZERO_BITS = 150  # what is left of a column that depends on others is below 2^(this − precision) of its length
SWEEPS = 60


@contextmanager
def precision(bits):
    before = flint.ctx.prec
    flint.ctx.prec = int(bits)
    try:
        yield
    finally:
        flint.ctx.prec = before


def bits_for(matrices):
    """Enough for the singular values of factors, arb_mat, that float64 can tell from 0."""
    spans = [_span(matrix) for matrix in matrices]
    return GUARD_BITS + 3 * min(max(spans, default=0), DOUBLE_SPAN)


def _span(matrix):
    sizes = [abs(entry) for entry in matrix.entries() if entry != 0]
    if not sizes:
        return 0
    exponents = [float(size.log() / arb(2).log()) for size in sizes]
    return int(max(exponents) - min(exponents)) + 1


class Product:
    """Q s T, multiplied from the left; `s` is a list of arb, `zero` says whether a dimension is lost for good."""

    def __init__(self, n):
        self.n = n
        self.Q = _identity(n)
        self.s = [arb(1)] * n
        self.T = _identity(n)

    def multiply(self, factor):
        n = self.n
        image = (factor * self.Q).mid()
        columns = [arb_mat(n, 1, [image[i, j] for i in range(n)]) for j in range(n)]
        lengths = [_length(column) * self.s[j] for j, column in enumerate(columns)]
        order = sorted(range(n), key=lambda j: _key(lengths[j]), reverse=True)
        columns, s = [columns[j] for j in order], [self.s[j] for j in order]
        rows = [arb_mat(1, n, [self.T[j, k] for k in range(n)]) for j in order]
        basis, R = [], [[arb(0)] * n for _ in range(n)]
        for j, column in enumerate(columns):
            for _ in range(2):
                for i, q in enumerate(basis):
                    r = (q.transpose() * column)[0, 0].mid()
                    R[i][j] += r
                    column = (column - q * r).mid()
            size, zero = _length(column), arb(2) ** (ZERO_BITS - flint.ctx.prec) * _length(columns[j])
            R[j][j] = size if size > zero else arb(0)
            basis.append((column * (1 / size)).mid() if size > zero else column * 0)
        new_rows, new_s = [], []
        for i in range(n):
            row, scale = rows[i], (R[i][i] * s[i]).mid()
            for j in range(i + 1, n):
                row = row + rows[j] * (R[i][j] * s[j] / scale) if scale > 0 else row
            size = _length(row)
            new_rows.append((row * (1 / size)).mid())
            new_s.append((scale * size).mid())
        self.Q = arb_mat(n, n, [basis[j][i, 0] for i in range(n) for j in range(n)])
        self.T = arb_mat(n, n, [new_rows[i][0, k] for i in range(n) for k in range(n)])
        self.s = new_s

    def log_singular_values(self):
        """Decreasing, as floats."""
        n = self.n
        rows = [arb_mat(1, n, [self.T[i, k] * self.s[i] for k in range(n)]) for i in range(n)]
        small = arb(2) ** (-GUARD_BITS // 3)
        for _ in range(SWEEPS):
            turned = False
            for i in range(n):
                for j in range(i + 1, n):
                    a, b, c = _dot(rows[i], rows[i]), _dot(rows[j], rows[j]), _dot(rows[i], rows[j])
                    if abs(c) <= small * (a * b).sqrt() or c == 0:
                        continue
                    turned = True
                    zeta = ((b - a) / (2 * c)).mid()
                    t = (1 if zeta >= 0 else -1) / (abs(zeta) + (1 + zeta * zeta).sqrt())
                    cosine = (1 / (1 + t * t).sqrt()).mid()
                    sine = (cosine * t).mid()
                    rows[i], rows[j] = (
                        (rows[i] * cosine - rows[j] * sine).mid(),
                        (rows[i] * sine + rows[j] * cosine).mid(),
                    )
            if not turned:
                break
        return np.array(sorted((_key(_length(row)) for row in rows), reverse=True))


def _identity(n):
    return arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def _dot(a, b):
    return (a * b.transpose())[0, 0].mid()


def _length(vector):
    return sum((entry * entry for entry in vector.entries()), arb(0)).sqrt().mid()


def _key(length):
    return float(length.log()) if length > 0 else -math.inf
