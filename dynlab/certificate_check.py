"""Check a certificate that `dynlab fixed-points --certificates` wrote: ``python -m dynlab.certificate_check FILE``.

This file needs Python alone and shares no code with what made the certificate: it can be copied, read and run anywhere
(``python certificate_check.py FILE``). It evaluates the network that is written in the file in interval arithmetic
on integers, and checks that

1. each ball holds exactly one fixed point: ‖C (F(m) − m)‖ + ‖I − C (J(X) − I)‖ r < r in the maximum norm (Krawczyk),
   and the smaller ball lies in the larger one, so that both mean the same point;
2. every eigenvalue of the Jacobian there is in the discs that Gershgorin's theorem gives for V⁻¹ J V, each inside the
   disc that is claimed;
3. as many are outside and inside the unit circle as is claimed; connected discs are counted together.

A number is a pair (m, r) of integers: the interval from (m − r) 2^−BITS to (m + r) 2^−BITS. Every rounding widens it.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from math import isqrt
from operator import mul
from typing import Any

Interval = tuple[int, int]
Vector = list[Interval]
Rows = list[list[int]]
Matrix = tuple[Rows, Rows]
Result = tuple[Vector, Matrix | None]

FORMAT = "dynlab certificate 1"
MOST_BITS = 2**16  # more would only take time
EXTRA_BITS = 64  # beyond twice the precision of the proof, so that its own rounding decides what stands
GUARD = 64  # more bits inside the exponential, whose squarings double the error
SMALL = 8  # its argument is halved until it is below 2^−SMALL


class Rejected(Exception):
    """The certificate does not show what it claims; the sentence says what failed."""


class Arithmetic:
    """Intervals (m, r) on a grid of 2^−bits; a matrix is a pair of lists of rows, of all m and of all r."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.one = 1 << bits

    def read(self, text: str, exact: bool = False) -> Interval:
        """A number of the file, ``"<hexadecimal integer>p<exponent of 2>"``."""
        mantissa, exponent = text.split("p")
        value, shift = int(mantissa, 16), int(exponent) + self.bits
        if shift >= 0:
            return value << shift, 0
        rest = value & ((1 << -shift) - 1)
        if rest and exact:
            raise Rejected(f"the number {text} has more digits than {self.bits} bits hold")
        return value >> -shift, 1 if rest else 0

    def vector(self, texts: list[str], exact: bool = False) -> Vector:
        return [self.read(text, exact) for text in texts]

    def matrix(self, rows: list[list[str]]) -> Matrix:
        read = [[self.read(text) for text in row] for row in rows]
        return [[m for m, _ in row] for row in read], [[r for _, r in row] for row in read]

    def times(self, a: Interval, b: Interval) -> Interval:
        (am, ar), (bm, br) = a, b
        return (am * bm) >> self.bits, ((abs(am) * br + abs(bm) * ar + ar * br) >> self.bits) + 2

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        """The product of two matrices."""
        (am, ar), (bm, br) = a, b
        if any(len(row) != len(bm) for row in am):
            raise Rejected(f"two matrices do not fit: one has {len(am[0])} columns, the other {len(bm)} rows")
        columns = list(zip(*bm, strict=True))
        errors = list(zip(*br, strict=True))
        reach = [[abs(m) + r for m, r in zip(*pair, strict=True)] for pair in zip(columns, errors, strict=True)]
        mids, rads = [], []
        for mid, rad in zip(am, ar, strict=True):
            size = [abs(m) for m in mid]
            mids.append([sum(map(mul, mid, column)) >> self.bits for column in columns])
            spread = zip(errors, reach, strict=True)
            rads.append([((sum(map(mul, size, e)) + sum(map(mul, rad, c))) >> self.bits) + 2 for e, c in spread])
        return mids, rads

    def row_sums(self, matrix: Matrix) -> list[int]:
        """Upper bounds on Σ_j |a_ij|, in units of the grid."""
        return [sum(abs(m) + r for m, r in zip(*row, strict=True)) for row in zip(*matrix, strict=True)]

    def exp_minus(self, y: int) -> tuple[int, int]:
        """Integers that e^(−y 2^−bits) lies between, for y ≥ 0."""
        if y >> self.bits > self.bits:
            return 0, 1
        q = self.bits + GUARD
        halvings = max(0, (y >> self.bits).bit_length() + SMALL)
        z = (y << GUARD) >> halvings
        term, total, error, n = 1 << q, 1 << q, 8, 0  # 8: of z, and of all terms left out
        while term:
            n += 1
            term = (term * z >> q) // n
            total += -term if n % 2 else term
            error += 2  # of the term's two roundings, and of those before it, which shrink
        for _ in range(halvings):
            total, error = total * total >> q, 2 * error + 3
        return max(0, (total - error) >> GUARD), ((total + error) >> GUARD) + 1

    def tanh(self, x: Interval) -> tuple[Interval, Interval]:
        """An interval of tanh, and one of its derivative 1/cosh²; both are monotone in |x|."""
        ends = [x[0] - x[1], x[0] + x[1]]
        low, high = (self._tanh_between(end) for end in ends)
        nearest = 0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
        farthest = max(map(abs, ends))
        return _interval(low[0], high[1]), _interval(self._slope(farthest)[0], self._slope(nearest)[1])

    def sigmoid(self, x: Interval) -> tuple[Interval, Interval]:
        half = (x[0] >> 1, (x[1] >> 1) + 1)
        (m, r), (sm, sr) = self.tanh(half)
        return ((self.one + m) >> 1, (r >> 1) + 1), (sm >> 2, (sr >> 2) + 2)

    def relu(self, x: Interval) -> tuple[Interval, Interval]:
        if x[0] - x[1] > 0:
            return x, (self.one, 0)
        if x[0] + x[1] < 0:
            return (0, 0), (0, 0)
        raise Rejected("the argument of a ReLU may be 0: the network is not smooth there")

    def _tanh_between(self, x: int) -> tuple[int, int]:
        low, high = self.exp_minus(2 * abs(x))
        # (1 − e)/(1 + e) falls with e
        least = ((self.one - high) << self.bits) // (self.one + high)
        most = ((self.one - low) << self.bits) // (self.one + low) + 1
        return (least, most) if x >= 0 else (-most, -least)

    def _slope(self, x: int) -> tuple[int, int]:
        low, high = self.exp_minus(2 * x)
        # 4 e/(1 + e)² grows with e up to e = 1
        least, most = (((4 * e) << (2 * self.bits)) // (self.one + e) ** 2 for e in (low, min(high, self.one)))
        return max(least, 0), most + 1


def evaluate(arithmetic: Arithmetic, program: list[dict[str, Any]], box: Vector) -> tuple[Vector, Matrix]:
    """Intervals of the step and of its Jacobian over a box of states."""
    results: list[Result] = []
    for operation in program:
        read = [results[i] for i in operation["reads"]]
        results.append(_operation(arithmetic, operation, read, box))
    value, derivative = results[-1]
    if len(value) != len(box):
        raise Rejected(f"the program maps {len(box)} numbers to {len(value)}")
    return value, _zeros(len(box), len(box)) if derivative is None else derivative


def _operation(arithmetic: Arithmetic, operation: dict[str, Any], read: list[Result], box: Vector) -> Result:
    name, n = operation["name"], len(box)
    if name == "state":
        return box, _diagonal(n, arithmetic.one)
    if name == "constant":
        return arithmetic.vector(operation["values"]), None
    if name == "linear":
        matrix = arithmetic.matrix(operation["values"])
        value, derivative = read[0]
        column = ([[m] for m, _ in value], [[r] for _, r in value])
        # a network without input multiplies its input weights with nothing
        found = arithmetic.product(matrix, column) if value else ([[0] for _ in matrix[0]], [[0] for _ in matrix[0]])
        image = [(m[0], r[0]) for m, r in zip(*found, strict=True)]
        return image, None if derivative is None else arithmetic.product(matrix, derivative)
    if name in ("add", "subtract"):
        sign = 1 if name == "add" else -1
        (a, da), (b, db) = read
        return [(p[0] + sign * q[0], p[1] + q[1]) for p, q in _same(a, b)], _total(da, db, sign)
    if name == "multiply":
        (a, da), (b, db) = read
        slopes = _total(_scaled(arithmetic, b, da), _scaled(arithmetic, a, db), 1)
        return [arithmetic.times(p, q) for p, q in _same(a, b)], slopes
    if name == "part":
        start, stop = operation["span"]
        value, derivative = read[0]
        kept = None if derivative is None else (derivative[0][start:stop], derivative[1][start:stop])
        return value[start:stop], kept
    if name == "join":
        blocks = [_zeros(len(value), n) if derivative is None else derivative for value, derivative in read]
        mids, rads = ([row for block in blocks for row in block[k]] for k in (0, 1))
        return [p for value, _ in read for p in value], (mids, rads)
    if name not in ("tanh", "sigmoid", "relu"):
        raise Rejected(f"the program has the unknown operation {name!r}")
    value, derivative = read[0]
    pairs = [getattr(arithmetic, name)(p) for p in value]
    return [p for p, _ in pairs], _scaled(arithmetic, [slope for _, slope in pairs], derivative)


def _same(a: Vector, b: Vector) -> Iterator[tuple[Interval, Interval]]:
    if len(a) != len(b):
        raise Rejected("an operation of the program combines vectors of different lengths")
    return zip(a, b, strict=True)


def _scaled(arithmetic: Arithmetic, factors: Vector, matrix: Matrix | None) -> Matrix | None:
    if matrix is None:
        return None
    rows = []
    for factor, mids, rads in zip(factors, *matrix, strict=True):
        rows.append([arithmetic.times(factor, pair) for pair in zip(mids, rads, strict=True)])
    return [[m for m, _ in row] for row in rows], [[r for _, r in row] for row in rows]


def _sum(a: Matrix, b: Matrix, sign: int) -> Matrix:
    mids = [[p + sign * q for p, q in zip(*rows, strict=True)] for rows in zip(a[0], b[0], strict=True)]
    return mids, [[p + q for p, q in zip(*rows, strict=True)] for rows in zip(a[1], b[1], strict=True)]


def _total(a: Matrix | None, b: Matrix | None, sign: int) -> Matrix | None:
    """The sum or difference of derivatives, None being 0."""
    if b is None:
        return a
    if a is None:
        return [[sign * m for m in row] for row in b[0]], b[1]
    return _sum(a, b, sign)


def _diagonal(n: int, entry: int) -> Matrix:
    return [[entry * (i == j) for j in range(n)] for i in range(n)], [[0] * n for _ in range(n)]


def _zeros(rows: int, columns: int) -> Matrix:
    return [[0] * columns for _ in range(rows)], [[0] * columns for _ in range(rows)]


def _interval(low: int, high: int) -> Interval:
    middle = (low + high) >> 1
    return middle, max(high - middle, middle - low)


def check_ball(
    arithmetic: Arithmetic, program: list[dict[str, Any]], ball: dict[str, Any]
) -> tuple[Matrix, list[int], int]:
    """Krawczyk's test; the Jacobian over the ball, its centre and its radius."""
    center = arithmetic.vector(ball["center"], exact=True)
    radius = arithmetic.read(ball["radius"], exact=True)[0]
    inverse, n = arithmetic.matrix(ball["inverse"]), len(center)
    value, _ = evaluate(arithmetic, program, center)
    moved = [(v[0] - c[0], v[1]) for v, c in zip(value, center, strict=True)]
    corrections = arithmetic.product(inverse, ([[m] for m, _ in moved], [[r] for _, r in moved]))
    correction = max(arithmetic.row_sums(corrections))
    _, jacobian = evaluate(arithmetic, program, [(m, radius) for m, _ in center])
    identity = _diagonal(n, arithmetic.one)
    defect = _sum(identity, arithmetic.product(inverse, _sum(jacobian, identity, -1)), -1)
    contraction = max(arithmetic.row_sums(defect))
    if not (correction << arithmetic.bits) + contraction * radius < radius << arithmetic.bits:
        raise Rejected("Krawczyk's test fails: the ball is not shown to hold exactly one fixed point")
    return jacobian, [m for m, _ in center], radius


def check_eigenvalues(arithmetic: Arithmetic, jacobian: Matrix, document: dict[str, Any]) -> tuple[int, int]:
    """Gershgorin's discs of V⁻¹ J V, each within its claimed one; how many are outside and inside the unit circle."""
    vr, vi = (arithmetic.matrix(document["vectors"][part]) for part in ("real", "imag"))
    yr, yi = (arithmetic.matrix(document["inverse"][part]) for part in ("real", "imag"))
    n = document["size"]

    def complex_product(ar: Matrix, ai: Matrix, br: Matrix, bi: Matrix) -> tuple[Matrix, Matrix]:
        real = _sum(arithmetic.product(ar, br), arithmetic.product(ai, bi), -1)
        return real, _sum(arithmetic.product(ar, bi), arithmetic.product(ai, br), 1)

    def sums(real: Matrix, imag: Matrix) -> list[int]:
        return [a + b for a, b in zip(arithmetic.row_sums(real), arithmetic.row_sums(imag), strict=True)]

    real, imag = complex_product(yr, yi, vr, vi)
    rho = max(sums(_sum(_diagonal(n, arithmetic.one), real, -1), imag))
    if rho >= arithmetic.one:
        raise Rejected("the inverse of the eigenvectors is not one")
    br, bi = complex_product(yr, yi, arithmetic.product(jacobian, vr), arithmetic.product(jacobian, vi))
    rest = (rho * max(sums(br, bi))) // (arithmetic.one - rho) + 1
    discs = []
    for i, claimed in enumerate(document["eigenvalues"]):
        spread = sum(_modulus(br[1][i][j], bi[1][i][j]) for j in range(n))
        off = sum(_modulus(br[0][i][j], bi[0][i][j]) for j in range(n) if j != i)
        disc = br[0][i][i], bi[0][i][i], off + spread + rest
        place = [arithmetic.read(claimed[key]) for key in ("real", "imag", "radius")]
        apart = _modulus(disc[0] - place[0][0], disc[1] - place[1][0]) + place[0][1] + place[1][1]
        if apart + disc[2] > place[2][0] - place[2][1]:
            raise Rejected(f"eigenvalue {i} is not shown to lie in its disc")
        discs.append(disc)
    if len(discs) != n:
        raise Rejected(f"there are {len(discs)} discs for {n} eigenvalues")
    return _counted(discs, arithmetic.one)


def _modulus(real: int, imag: int) -> int:
    """The least integer that is not below |real + i imag|, or one more."""
    return 0 if real == imag == 0 else isqrt(real * real + imag * imag) + 1


def _counted(discs: list[tuple[int, int, int]], one: int) -> tuple[int, int]:
    number = list(range(len(discs)))
    for i, (xi, yi, ri) in enumerate(discs):
        for j, (xj, yj, rj) in enumerate(discs[:i]):
            if number[i] != number[j] and (xi - xj) ** 2 + (yi - yj) ** 2 <= (ri + rj) ** 2:
                number = [number[i] if k == number[j] else k for k in number]
    outside = inside = 0
    for name in set(number):
        members = [disc for disc, k in zip(discs, number, strict=True) if k == name]
        outside += len(members) * all(x * x + y * y > (one + r) ** 2 for x, y, r in members)
        inside += len(members) * all(r < one and x * x + y * y < (one - r) ** 2 for x, y, r in members)
    return outside, inside


def check(document: dict[str, Any]) -> str:
    """The sentence of what is shown.

    Parameters
    ----------
    document : dict
        What the file holds.

    Raises
    ------
    Rejected
        Where something does not hold.
    """
    if document.get("format") != FORMAT:
        raise Rejected(f"this checks the format {FORMAT!r}, got {document.get('format')!r}")
    program, n = document["program"], document["size"]
    digest = hashlib.sha256(json.dumps(program).encode()).hexdigest()
    if digest != document["digest"]:
        raise Rejected("the stored numbers are not those that the digest is of")
    texts = [text for key in ("ball", "tight_ball") for text in [*document[key]["center"], document[key]["radius"]]]
    needed = max(-int(text.split("p")[1]) for text in texts)
    bits = max(2 * document["precision"], needed)
    if not 0 <= bits <= MOST_BITS:
        raise Rejected(f"numbers are of 0 to {MOST_BITS} bits")
    arithmetic = Arithmetic(bits + EXTRA_BITS)
    _, center, radius = check_ball(arithmetic, program, document["ball"])
    jacobian, near, small = check_ball(arithmetic, program, document["tight_ball"])
    if max(abs(a - b) for a, b in zip(center, near, strict=True)) + small > radius:
        raise Rejected("the two balls are not one within the other")
    if not len(center) == len(near) == n:
        raise Rejected(f"the balls have {len(center)} and {len(near)} dimensions, the network {n}")
    outside, inside = check_eigenvalues(arithmetic, jacobian, document)
    claims = document["claims"]
    if (claims["outside"], claims["inside"], claims["undecided"]) != (outside, inside, n - outside - inside):
        raise Rejected(
            f"{outside} eigenvalues are shown to be outside the unit circle and {inside} inside, not {claims}"
        )
    kind = "unstable" if outside else "stable" if inside == n else "of undecided stability"
    return (
        f"Correct: the {document['system']} with the digest {digest[:16]} has exactly one fixed point in the "
        f"given ball, of radius about {radius / arithmetic.one:.1e}; it is {kind}: {outside} of {n} directions grow, "
        f"{inside} decay."
    )


def main(arguments: Sequence[str]) -> int:
    """Check the files; 0 where all are correct, 1 where one is rejected, 2 where one is no certificate."""
    if not arguments:
        sys.stderr.write("usage: python certificate_check.py FILE...\n")
        return 2
    code = 0
    for name in arguments:
        try:
            with open(name, encoding="utf-8") as file:
                document = json.load(file)
            sys.stdout.write(f"{name}: {check(document)}\n")
        except Rejected as error:
            sys.stdout.write(f"{name}: REJECTED: {error}.\n")
            code = max(code, 1)
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            sys.stderr.write(f"{name}: no certificate: {error!r}\n")
            code = 2
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
