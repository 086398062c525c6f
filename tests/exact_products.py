"""Singular values of long products in multi-precision arithmetic, whatever their range; numbers are Arb's.

The product is kept as Q s T, as `dynlab.numerics.graded_product` keeps it, but with as many digits as a factor spans
and more, so that nothing is lost; then its rows are made orthogonal by Jacobi's rotations.
"""

import math

import numpy as np
from flint import arb, arb_mat, ctx

GUARD_BITS = 300  # beyond the range of the entries of a factor
DOUBLE_SPAN = 2100  # what float64 holds goes from 2^-1022 to 2^1024
ZERO_BITS = 150  # what is left of a column that depends on others is below 2^(this − precision) of its length
SWEEPS = 60
precision = ctx.workprec


def bits_for(matrices):
    """Enough for the singular values of factors, arb_mat, that float64 can tell from 0."""
    spans = [0.0]
    for matrix in matrices:
        exponents = [float(abs(entry).log()) / math.log(2) for entry in matrix.entries() if entry != 0]
        spans.append(max(exponents, default=0) - min(exponents, default=0))
    return GUARD_BITS + 3 * min(int(max(spans)) + 1, DOUBLE_SPAN)


class Product:
    """Q s T, multiplied from the left: columns of Q, numbers s, and rows of T."""

    def __init__(self, n):
        units = [[int(i == j) for j in range(n)] for i in range(n)]
        self.columns, self.rows = ([arb_mat(*shape, each) for each in units] for shape in ((n, 1), (1, n)))
        self.s = [arb(1)] * n

    def multiply(self, factor):
        n = len(self.s)
        images = [(factor * column).mid() for column in self.columns]
        order = sorted(range(n), key=lambda j: _key(_length(images[j]) * self.s[j]), reverse=True)
        images, s, rows = ([each[j] for j in order] for each in (images, self.s, self.rows))
        self.columns, R = [], [[arb(0)] * n for _ in range(n)]
        for j, image in enumerate(images):
            column = image
            for _ in range(2):
                for i, q in enumerate(self.columns):
                    r = _dot(q.transpose(), column.transpose())
                    R[i][j] += r
                    column = (column - q * r).mid()
            size, zero = _length(column), arb(2) ** (ZERO_BITS - ctx.prec) * _length(image)
            R[j][j] = size if size > zero else arb(0)
            self.columns.append((column * (1 / size)).mid() if size > zero else column * 0)
        for i, row in enumerate(rows):
            scale = (R[i][i] * s[i]).mid()
            for j in range(i + 1, n):
                row = row + rows[j] * (R[i][j] * s[j] / scale) if scale > 0 else row
            size = _length(row)
            self.rows[i], self.s[i] = (row * (1 / size)).mid(), (scale * size).mid()

    def log_singular_values(self):
        """Decreasing, as floats."""
        n, rows = len(self.s), [row * s for row, s in zip(self.rows, self.s, strict=True)]
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
                    one, other = rows[i] * cosine - rows[j] * sine, rows[i] * sine + rows[j] * cosine
                    rows[i], rows[j] = one.mid(), other.mid()
            if not turned:
                break
        return np.array(sorted((_key(_length(row)) for row in rows), reverse=True))


def _dot(a, b):
    return (a * b.transpose())[0, 0].mid()


def _length(vector):
    return sum((entry * entry for entry in vector.entries()), arb(0)).sqrt().mid()


def _key(length):
    return float(length.log()) if length > 0 else -math.inf
