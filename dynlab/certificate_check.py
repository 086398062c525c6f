"""Check a certificate that `dynlab fixed-points --certificates` wrote: ``python -m dynlab.certificate_check FILE``.

This file needs Python alone and shares no code with what made the certificate: it can be copied, read and run anywhere
(``python certificate_check.py FILE``). It believes nothing that the certificate says. It reads one step of a network as
a list of elementary operations, evaluates them in interval arithmetic on integers, and checks that

1. each ball holds exactly one fixed point: ‖C (F(m) − m)‖ + ‖I − C (J(X) − I)‖ r < r with r > 0 in the maximum norm
   (Krawczyk), and the smaller ball lies in the larger one, so that both mean the same point;
2. every eigenvalue of the Jacobian there is in the discs that Gershgorin's theorem gives for V⁻¹ J V, each inside the
   disc that is claimed; where k claimed discs are connected and touch no other, they hold k eigenvalues together;
3. as many are outside and inside the unit circle as is claimed; connected discs are counted together.

What is shown is a theorem about the step that is written in the file, in real numbers with those constants. The file
holds no checkpoint, so that no checker can tell from it whose step this is: the proof belongs to a network only if the
step of that network, written out again by `dynlab fixed-points NETWORK --certificates`, has the digest that the verdict
names, at the same held input.

A number is a pair (m, r) of integers: the interval from (m − r) 2^−BITS to (m + r) 2^−BITS. Every rounding widens it.
"""

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from math import isqrt
from operator import mul
from typing import Any, NamedTuple

Interval = tuple[int, int]
Vector = list[Interval]
Rows = list[list[int]]
Matrix = tuple[Rows, Rows]
Number = tuple[int, int]  # (mantissa, exponent): mantissa · 2^exponent

FORMAT = "dynlab certificate 1"
NUMBER = re.compile("(-?(?:0|[1-9a-f][0-9a-f]{0,39999}))p(-?[0-9]{1,18})")  # a hexadecimal integer, an exponent of 2
DIGEST = re.compile("[0-9a-f]{64}")
MOST_BYTES = 2**27  # of a file: about what a proof about 600 units takes
MOST_DEPTH = 200  # of lists and objects in one another: certificates have 5, and no reader's stack is filled
TOO_DEEP = f"lists and objects stand more than {MOST_DEPTH} deep in one another"
MOST_BITS = 2**13  # more would only take time
EXTRA_BITS = 64  # beyond twice the precision of the proof, so that its own rounding decides what stands
GUARD = 64  # more bits inside the exponential, whose squarings double the error
SMALL = 8  # its argument is halved until it is below 2^−SMALL
USUAL_BITS = 256  # of honest certificates, which take fewer than 1,000 + 50 n products of digits a character
MOST_WORK = 2000, 200  # of them, for each character of the file, and as many more for each state
LITTLE_WORK = 5 * 10**9  # half a minute at most, which is never too much for a file that is not too long for it
MOST_OF_A_CHARACTER = 10**6

# How many earlier results an operation reads; `join` reads one or more.
READS = {
    "state": 0,
    "constant": 0,
    "linear": 1,
    "add": 2,
    "subtract": 2,
    "multiply": 2,
    "reciprocal": 1,
    "sqrt": 1,
    "tanh": 1,
    "sigmoid": 1,
    "relu": 1,
    "modrelu": 1,
    "part": 1,
    "join": None,
}
HOLDS = {"constant": "values", "linear": "values", "modrelu": "values", "part": "span"}  # a key beyond name and reads


USAGE = """usage: python certificate_check.py FILE...

Checks each certificate of a fixed point. The exit code is 0 where all are correct, 1 where one is rejected and 2 where
one is no certificate.
"""


class Rejected(Exception):
    """The certificate does not show what it claims; the sentence says what failed."""


class Malformed(Rejected):
    """The file is no certificate; the sentence says where it is none."""


class Operation(NamedTuple):
    """One operation of the program: what it reads, its constants, and how many numbers its result has."""

    name: str
    reads: list[int]
    numbers: list[list[Number]]
    span: tuple[int, int]
    size: int


class Ball(NamedTuple):
    """A ball of the maximum norm and the matrix C of Krawczyk's test."""

    center: list[Number]
    radius: Number
    inverse: list[list[Number]]


class Reader:
    """Takes a document apart: every type, key, sign and size is looked at before a number is used.

    Attributes
    ----------
    characters : int
        How long the numbers that were read are together.
    highest : int
        Bits before the binary point that hold each of them.
    """

    def __init__(self) -> None:
        self.characters = 0
        self.highest = 0

    def fields(self, value: Any, keys: Iterable[str], what: str) -> list[Any]:
        """The values of an object that has these keys and no others."""
        if type(value) is not dict:
            raise Malformed(f"{what} is no object")
        keys = list(keys)
        missing = [key for key in keys if key not in value]
        if missing:
            raise Malformed(f"{what} lacks {missing[0]!r}")
        if len(value) != len(keys):
            raise Malformed(f"{what} has keys beyond {', '.join(keys)}")
        return [value[key] for key in keys]

    def whole(self, value: Any, what: str, least: int, most: int | None = None) -> int:
        """An integer that is written as one."""
        if type(value) is not int or value < least or (most is not None and value > most):
            raise Malformed(f"{what} is no whole number {f'from {least}' if most is None else f'{least} to {most}'}")
        return value

    def items(self, value: Any, what: str, length: int | None = None) -> list[Any]:
        if type(value) is not list:
            raise Malformed(f"{what} is no list")
        if length is not None and len(value) != length:
            raise Malformed(f"there are {len(value)} {what} where {length} belong")
        return value

    def number(self, text: Any, what: str) -> Number:
        """``"<hexadecimal integer>p<exponent of 2>"``, in lower case and ASCII."""
        match = NUMBER.fullmatch(text) if type(text) is str else None
        if match is None:
            raise Malformed(f"{what} holds something that is no number of the form 1f3p-52")
        mantissa, exponent = int(match[1], 16), int(match[2])
        self.characters += len(text)
        self.highest = max(self.highest, mantissa.bit_length() + exponent if mantissa else 0)
        return mantissa, exponent

    def vector(self, values: Any, what: str, length: int | None = None) -> list[Number]:
        return [self.number(text, what) for text in self.items(values, f"numbers in {what}", length)]

    def matrix(self, rows: Any, what: str, columns: int, length: int | None = None) -> list[list[Number]]:
        return [self.vector(row, what, columns) for row in self.items(rows, f"rows in {what}", length)]

    def complex_matrix(self, parts: Any, what: str, n: int) -> list[list[list[Number]]]:
        return [self.matrix(rows, what, n, n) for rows in self.fields(parts, ("real", "imag"), what)]

    def ball(self, written: Any, what: str, n: int) -> Ball:
        center, radius, inverse = self.fields(written, ("center", "radius", "inverse"), what)
        found = Ball(
            self.vector(center, f"the center of {what}", n),
            self.number(radius, f"the radius of {what}"),
            self.matrix(inverse, f"the inverse of {what}", n, n),
        )
        if found.radius[0] <= 0:
            raise Rejected(f"the radius of {what} is not above 0")
        return found

    def program(self, written: Any, n: int) -> list[Operation]:
        """The operations; each reads results that stand before it, of the sizes that it needs."""
        operations: list[Operation] = []
        for number, entry in enumerate(self.items(written, "operations")):
            operations.append(self.operation(entry, f"operation {number}", operations, n))
        if not operations or operations[-1].size != n:
            raise Malformed(f"the last operation of the program does not give {n} numbers")
        return operations

    def operation(self, entry: Any, what: str, before: list[Operation], n: int) -> Operation:
        name = entry.get("name") if type(entry) is dict else None
        if type(name) is not str or name not in READS:
            raise Malformed(f"{what} of the program is an unknown operation")
        keys = ("name", "reads", HOLDS[name]) if name in HOLDS else ("name", "reads")
        _, written, *held = self.fields(entry, keys, what)
        reads = [self.whole(index, f"what {what} reads", 0, len(before) - 1) for index in self.items(written, what)]
        if (len(reads) != READS[name]) if READS[name] is not None else not reads:
            raise Malformed(f"{what} reads {len(reads)} results")
        self.characters += len(name) + len(reads)
        sizes = [before[index].size for index in reads] or [n]
        if name != "join" and sizes[0] != sizes[-1]:
            raise Malformed(f"{what} combines vectors of different lengths")
        numbers: list[list[Number]] = []
        span, size = (0, 0), sum(sizes) if name == "join" else sizes[0]
        if name == "constant":
            numbers = [self.vector(held[0], what)]
            size = len(numbers[0])
        elif name == "linear":
            numbers = self.matrix(held[0], what, size)
            size = len(numbers)
        elif name == "modrelu":
            numbers = [self.vector(held[0], what, size)]
        elif name == "part":
            start, stop = self.items(held[0], f"ends of {what}", 2)
            start = self.whole(start, f"the start of {what}", 0, size)
            span = start, self.whole(stop, f"the end of {what}", start, size)
            size = span[1] - start
        return Operation(name, reads, numbers, span, size)


class Certificate(NamedTuple):
    """What a document holds, each part of it of the size and form that it must have."""

    size: int
    digest: str
    bits: int
    program: list[Operation]
    ball: Ball
    tight: Ball
    vectors: list[list[list[Number]]]
    inverse: list[list[list[Number]]]
    discs: list[list[Number]]
    claims: list[int]


KEYS = ("format", "system", "source", "digest", "precision", "size", "program", "ball", "tight_ball")
SHOWS = ("vectors", "inverse", "eigenvalues", "claims")


def read(document: Any) -> Certificate:
    """The parts of a document.

    Raises
    ------
    Malformed
        Where one is missing, or is not of the form that it must have.
    Rejected
        Where a radius is not positive, the digest is not that of the program, or the work would have no bound.
    """
    reader = Reader()
    if type(document) is dict and document.get("format") != FORMAT:
        raise Malformed(f"this checks the format {FORMAT!r}, and the file has another one")
    _, system, _, digest, precision, size, written, *balls = reader.fields(document, KEYS + SHOWS, "the certificate")
    vectors, inverse, discs, claims = balls[2:]
    if type(system) is not str or type(digest) is not str or not DIGEST.fullmatch(digest):
        raise Malformed("the name or the digest is none")
    if hashlib.sha256(json.dumps(written).encode()).hexdigest() != digest:
        raise Rejected("the stored numbers are not those that the digest is of")
    n = reader.whole(size, "the size", 1)
    precision = reader.whole(precision, "the precision", 1)
    program = reader.program(written, n)
    ball, tight = reader.ball(balls[0], "the ball", n), reader.ball(balls[1], "the tight ball", n)
    if len(reader.items(discs, "eigenvalues")) != n:
        raise Malformed(f"there are {len(discs)} discs for {n} eigenvalues")
    places = [reader.fields(disc, ("real", "imag", "radius"), "a disc") for disc in discs]
    found = Certificate(
        n,
        digest,
        0,
        program,
        ball,
        tight,
        reader.complex_matrix(vectors, "the eigenvectors", n),
        reader.complex_matrix(inverse, "their inverse", n),
        [reader.vector(place, "a disc", 3) for place in places],
        [
            reader.whole(count, "a claim", 0, n)
            for count in reader.fields(claims, ("outside", "inside", "undecided"), "claims")
        ],
    )
    exact = [number for each in (ball, tight) for number in (*each.center, each.radius)]
    deepest = max(-exponent if mantissa else 0 for mantissa, exponent in exact)
    bits = max(2 * precision, deepest, reader.highest)
    if sum(operation.size for operation in program) > reader.characters:
        raise Rejected("the program's results have more numbers than the file has characters")
    if bits > MOST_BITS:
        raise Rejected(f"the certificate asks for numbers of more than {MOST_BITS} bits")
    if _work(program, n, bits) > _most_work(reader.characters, n, bits):
        raise Rejected("the certificate asks for far more work than one of its length needs")
    return found._replace(bits=bits + EXTRA_BITS)


def _most_work(characters: int, n: int, bits: int) -> float:
    """The work that a certificate of this length may ask for."""
    more = max(1.0, bits / USUAL_BITS) ** 1.6
    usual = (MOST_WORK[0] + MOST_WORK[1] * n) * more * characters
    return min(max(usual, LITTLE_WORK), MOST_OF_A_CHARACTER * characters)


def _work(program: list[Operation], n: int, bits: int) -> int:
    """About how many products of digits the check takes."""
    products = 60 * n**3  # ten products of matrices, each of the middles and twice of the radii, and a margin
    for operation in program:
        columns = len(operation.numbers[0]) if operation.name == "linear" and operation.numbers else 1
        products += 6 * operation.size * (n + 1) * columns
        if operation.name in ("tanh", "sigmoid"):
            products += 4 * operation.size * bits  # the terms of eight exponentials
    digits = 2 * bits / 30  # numbers are below 2^bits
    return products * int(30 + digits**1.6)  # 30: what Python itself takes for one; 1.6: Karatsuba's exponent


class Arithmetic:
    """Intervals (m, r) on a grid of 2^−bits; a matrix is a pair of lists of rows, of all m and of all r."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.one = 1 << bits

    def read(self, number: Number) -> Interval:
        """An interval that holds a number of the file."""
        mantissa, exponent = number
        shift = exponent + self.bits
        if shift >= 0 or not mantissa:
            return mantissa << max(shift, 0), 0
        if mantissa.bit_length() <= -shift:  # below the grid, by however much
            return -(mantissa < 0), 1
        return mantissa >> -shift, int(mantissa & ((1 << -shift) - 1) != 0)

    def exactly(self, number: Number) -> int:
        """The number itself, which the grid holds."""
        middle, radius = self.read(number)
        if radius:
            raise Rejected(f"a number of a ball has more digits than {self.bits} bits hold")
        return middle

    def matrix(self, rows: list[list[Number]]) -> Matrix:
        read = [[self.read(number) for number in row] for row in rows]
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

    def modrelu(self, x: Interval, b: Interval) -> tuple[Interval, Interval]:
        """sign(x) max(|x| + b, 0): it may jump at 0 where b > 0, and has kinks at |x| = −b where b < 0."""
        (m, r), (bm, br) = x, b
        if abs(m) + r + bm + br < 0:
            return (0, 0), (0, 0)
        if abs(m) > r and abs(m) - r + bm - br > 0:
            return (m + bm if m > 0 else m - bm, r + br), (self.one, 0)
        raise Rejected("the argument of a modReLU may be at its border: the network is not smooth there")

    def reciprocal(self, x: Interval) -> tuple[Interval, Interval]:
        least, most = abs(x[0]) - x[1], abs(x[0]) + x[1]
        if least <= 0:
            raise Rejected("a quotient by 0 may be taken")
        (m, r) = _interval(self.one**2 // most, self.one**2 // least + 1)
        found = (m if x[0] > 0 else -m), r
        square = self.times(found, found)
        return found, (-square[0], square[1])

    def sqrt(self, x: Interval) -> tuple[Interval, Interval]:
        if x[0] - x[1] <= 0:
            raise Rejected("a root of 0 may be taken: the network is not smooth there")
        root = _interval(isqrt((x[0] - x[1]) << self.bits), isqrt((x[0] + x[1]) << self.bits) + 1)
        (m, r), _ = self.reciprocal(root)
        return root, (m >> 1, (r >> 1) + 1)

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


def evaluate(
    arithmetic: Arithmetic, program: list[Operation], box: Vector, slopes: bool = True
) -> tuple[Vector, Matrix]:
    """Intervals of the step, and where `slopes` are asked for of its Jacobian, over a box of states.

    Each result is a matrix: its first column is the value, the others are its derivative by the state.
    """
    columns = range(len(box) if slopes else 0)
    mids = [[m, *(arithmetic.one * (i == j) for j in columns)] for i, (m, _) in enumerate(box)]
    state: Matrix = mids, [[r, *(0 for _ in columns)] for _, r in box]
    results: list[Matrix] = []
    for operation in program:
        found = _operation(arithmetic, operation, [results[index] for index in operation.reads], state)
        largest = max((abs(entry) for rows in found for row in rows for entry in row), default=0)
        if largest.bit_length() > 2 * arithmetic.bits:  # numbers that are squared again and again would fill any memory
            raise Rejected(f"a result of the program is beyond 2^{arithmetic.bits}")
        results.append(found)
    mids, rads = results[-1]
    return _values(results[-1]), ([row[1:] for row in mids], [row[1:] for row in rads])


def _operation(arithmetic: Arithmetic, operation: Operation, read: list[Matrix], state: Matrix) -> Matrix:
    name, width = operation.name, len(state[0][0])
    if name == "state":
        return state
    if name == "constant":
        values = [arithmetic.read(number) for number in operation.numbers[0]]
        return _with_values(values, _zeros(len(values), width))
    if name == "linear":
        if not read[0][0]:  # a network without input multiplies its input weights with nothing
            return _zeros(operation.size, width)
        return arithmetic.product(arithmetic.matrix(operation.numbers), read[0])
    if name in ("add", "subtract"):
        return _sum(read[0], read[1], 1 if name == "add" else -1)
    if name == "part":
        mids, rads = (rows[slice(*operation.span)] for rows in read[0])
        return mids, rads
    if name == "join":
        mids, rads = ([row for block in read for row in block[k]] for k in (0, 1))
        return mids, rads
    first, last = _values(read[0]), _values(read[-1])
    if name == "multiply":
        slopes = _sum(_scaled(arithmetic, last, read[0]), _scaled(arithmetic, first, read[1]), 1)
        return _with_values([arithmetic.times(p, q) for p, q in zip(first, last, strict=True)], slopes)
    if name == "modrelu":
        thresholds = [arithmetic.read(number) for number in operation.numbers[0]]
        pairs = [arithmetic.modrelu(p, b) for p, b in zip(first, thresholds, strict=True)]
    else:
        function = {"tanh": arithmetic.tanh, "sigmoid": arithmetic.sigmoid, "relu": arithmetic.relu}
        function |= {"sqrt": arithmetic.sqrt, "reciprocal": arithmetic.reciprocal}
        pairs = [function[name](p) for p in first]
    return _with_values([p for p, _ in pairs], _scaled(arithmetic, [slope for _, slope in pairs], read[0]))


def _values(result: Matrix) -> Vector:
    return [(mids[0], rads[0]) for mids, rads in zip(*result, strict=True)]


def _with_values(values: Vector, result: Matrix) -> Matrix:
    """The result with this first column."""
    mids, rads = ([[pair[k], *row[1:]] for pair, row in zip(values, result[k], strict=True)] for k in (0, 1))
    return mids, rads


def _scaled(arithmetic: Arithmetic, factors: Vector, matrix: Matrix) -> Matrix:
    rows = []
    for factor, mids, rads in zip(factors, *matrix, strict=True):
        rows.append([arithmetic.times(factor, pair) for pair in zip(mids, rads, strict=True)])
    return [[m for m, _ in row] for row in rows], [[r for _, r in row] for row in rows]


def _sum(a: Matrix, b: Matrix, sign: int) -> Matrix:
    mids = [[p + sign * q for p, q in zip(*rows, strict=True)] for rows in zip(a[0], b[0], strict=True)]
    return mids, [[p + q for p, q in zip(*rows, strict=True)] for rows in zip(a[1], b[1], strict=True)]


def _diagonal(n: int, entry: int) -> Matrix:
    return [[entry * (i == j) for j in range(n)] for i in range(n)], [[0] * n for _ in range(n)]


def _zeros(rows: int, columns: int) -> Matrix:
    return [[0] * columns for _ in range(rows)], [[0] * columns for _ in range(rows)]


def _interval(low: int, high: int) -> Interval:
    middle = (low + high) >> 1
    return middle, max(high - middle, middle - low)


def check_ball(arithmetic: Arithmetic, program: list[Operation], ball: Ball) -> tuple[Matrix, list[int], int]:
    """Krawczyk's test; the Jacobian over the ball, its centre and its radius."""
    center, radius = [arithmetic.exactly(number) for number in ball.center], arithmetic.exactly(ball.radius)
    if radius <= 0:
        raise Rejected("the radius of a ball is not above 0")
    inverse, n = arithmetic.matrix(ball.inverse), len(center)
    value, _ = evaluate(arithmetic, program, [(m, 0) for m in center], slopes=False)
    moved = [[v[0] - c] for v, c in zip(value, center, strict=True)], [[v[1]] for v in value]
    correction = max(arithmetic.row_sums(arithmetic.product(inverse, moved)))
    _, jacobian = evaluate(arithmetic, program, [(m, radius) for m in center])
    identity = _diagonal(n, arithmetic.one)
    defect = _sum(identity, arithmetic.product(inverse, _sum(jacobian, identity, -1)), -1)
    contraction = max(arithmetic.row_sums(defect))
    if not (correction << arithmetic.bits) + contraction * radius < radius << arithmetic.bits:
        raise Rejected("Krawczyk's test fails: the ball is not shown to hold exactly one fixed point")
    return jacobian, center, radius


def check_eigenvalues(arithmetic: Arithmetic, jacobian: Matrix, certificate: Certificate) -> tuple[int, int]:
    """Gershgorin's discs of V⁻¹ J V, each within its claimed one; how many are outside and inside the unit circle."""
    vr, vi = map(arithmetic.matrix, certificate.vectors)
    yr, yi = map(arithmetic.matrix, certificate.inverse)
    n = certificate.size

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
    for i, claimed in enumerate(certificate.discs):
        spread = sum(_modulus(br[1][i][j], bi[1][i][j]) for j in range(n))
        off = sum(_modulus(br[0][i][j], bi[0][i][j]) for j in range(n) if j != i)
        disc = br[0][i][i], bi[0][i][i], off + spread + rest
        place = [arithmetic.read(number) for number in claimed]
        apart = _modulus(disc[0] - place[0][0], disc[1] - place[1][0]) + place[0][1] + place[1][1]
        if apart + disc[2] > place[2][0] - place[2][1]:
            raise Rejected(f"eigenvalue {i} is not shown to lie in its disc")
        discs.append(disc)
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


def check(document: Any) -> str:
    """The sentence of what is shown.

    Parameters
    ----------
    document : dict
        What the file holds.

    Raises
    ------
    Rejected
        Where something does not hold; `Malformed`, where it is no certificate at all.
    """
    try:
        certificate = read(document)
    except (TypeError, ValueError, RecursionError) as error:  # of json, for what it cannot write
        raise Malformed(f"the program cannot be written as JSON: {type(error).__name__}") from error
    arithmetic = Arithmetic(certificate.bits)
    _, center, radius = check_ball(arithmetic, certificate.program, certificate.ball)
    jacobian, near, small = check_ball(arithmetic, certificate.program, certificate.tight)
    if max(abs(a - b) for a, b in zip(center, near, strict=True)) + small > radius:
        raise Rejected("the two balls are not one within the other")
    outside, inside = check_eigenvalues(arithmetic, jacobian, certificate)
    n = certificate.size
    if certificate.claims != [outside, inside, n - outside - inside]:
        raise Rejected(
            f"{outside} eigenvalues are shown to be outside the unit circle, {inside} inside and "
            f"{n - outside - inside} on neither side, which is not what is claimed"
        )
    kind = "unstable" if outside else "stable" if inside == n else "of undecided stability"
    reach = Context(prec=2, rounding=ROUND_CEILING).divide(Decimal(radius), Decimal(arithmetic.one))
    return (
        f"Correct: the step that is written in this file, with the digest {certificate.digest}, has exactly one fixed "
        f"point in the given ball, whose radius is at most {reach:.1e}. It is {kind}: {outside} of {n} directions grow "
        f"and {inside} decay."
    )


def load(name: str) -> Any:
    """The JSON document in a file; what JSON leaves open (a key twice, NaN, numbers with a point, depth) is refused.

    Raises
    ------
    Malformed, OSError
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise Malformed("an object has the same key twice")
        return dict(pairs)

    def refused(text: str) -> Any:
        raise Malformed("a number is written with a point or an exponent of 10, or is none")

    try:
        text = _content(name).decode("utf-8")
        document = json.loads(text, object_pairs_hook=once, parse_float=refused, parse_constant=refused)
    except RecursionError as error:
        raise Malformed(TOO_DEEP) from error
    except ValueError as error:
        raise Malformed("it is no JSON that can be read") from error
    _check_depth(document)
    return document


def _content(name: str) -> bytes:
    if not stat.S_ISREG(os.stat(name).st_mode):  # another program's pipe would be waited for without end
        raise Malformed("it is no regular file")
    with open(name, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise Malformed(f"it is longer than {MOST_BYTES} bytes")
    return content


def _check_depth(document: Any) -> None:
    """Refuse lists and objects that stand more than `MOST_DEPTH` deep in one another."""
    level: list[Any] = [[document]]
    for _ in range(MOST_DEPTH + 1):
        inside = (inner for each in level for inner in (each.values() if type(each) is dict else each))
        level = [inner for inner in inside if type(inner) in (dict, list)]
    if level:
        raise Malformed(TOO_DEEP)


def main(arguments: Sequence[str]) -> int:
    """Check the files; 0 where all are correct, 1 where one is rejected, 2 where one is no certificate."""
    if not arguments:
        sys.stderr.write(USAGE)
        return 2
    if {"-h", "--help"} & set(arguments):  # a file of that name is ./--help
        sys.stdout.write(USAGE)
        return 0
    code = 0
    for name in arguments:
        shown = name if name.isascii() and name.isprintable() else ascii(name)  # no line of its own making
        try:
            sys.stdout.write(f"{shown}: {check(load(name))}\n")
        except (Malformed, OSError, ValueError) as error:  # ValueError: of a name that no file can have
            sys.stderr.write(f"{shown}: no certificate: {error}.\n")
            code = 2
        except Rejected as error:
            sys.stdout.write(f"{shown}: REJECTED: {error}.\n")
            code = max(code, 1)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
