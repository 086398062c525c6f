"""Check a certificate that `dynlab fixed-points --certificates` wrote: ``python -m dynlab.certificate_check FILE``.

This file needs Python alone and shares no code with what made the certificate: it can be copied, read and run anywhere
(``python certificate_check.py FILE``). It believes nothing that the certificate says. It reads one step of a network as
a list of elementary operations, evaluates them in interval arithmetic on integers, and checks that

1. each ball holds exactly one fixed point: ‖C (F(m) − m)‖ + ‖I − C (J(X) − I)‖ r < r with r > 0 in the maximum norm
   (Krawczyk), and the smaller ball lies in the larger one, so that both mean the same point;
2. every eigenvalue of the Jacobian there is in the discs that Gershgorin's theorem gives for V⁻¹ J V, each inside the
   disc that is claimed; where k claimed discs are connected and touch no other, they hold k eigenvalues together;
3. as many are outside and inside the unit circle as is claimed; connected discs are counted together.

What is shown is a theorem about the step that is written in the file, in real numbers with those constants. A stored
vector or matrix may have a radius, as where it was computed with rounding: the theorem then holds for each step whose
entries are within that radius of the stored ones. The file holds no checkpoint, so that no checker can tell from it
whose step this is: the proof belongs to a network only if the step of that network, written out again by
`dynlab fixed-points NETWORK --certificates`, has the digest that the verdict names, at the same held input.

A number is a pair (m, r) of integers: the interval from (m − r) 2^−BITS to (m + r) 2^−BITS. Every rounding widens it.
"""

import argparse
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from math import isqrt
from operator import mul
from typing import Any, NamedTuple

Interval = tuple[int, int]
Ends = tuple[int, int]  # integers that a number of the grid lies between
Vector = list[Interval]
Rows = list[list[int]]
Matrix = tuple[Rows, Rows]
Number = tuple[int, int]  # (mantissa, exponent): mantissa · 2^exponent

FORMAT = "dynlab certificate 2"
NUMBER = re.compile("(-?(?:0|[1-9a-f][0-9a-f]{0,39999}))p(-?[0-9]{1,18})")  # a hexadecimal integer, an exponent of 2
DIGEST = re.compile("[0-9a-f]{64}")
MOST_BYTES = 2**27  # of a file: about what a proof about 600 units takes
MOST_DEPTH = 200  # of lists and objects in one another: certificates have 5, and no reader's stack is filled
TOO_DEEP = f"lists and objects stand more than {MOST_DEPTH} deep in one another"
MOST_BITS = 2**13  # more would only take time
MOST_EXPONENT = 1023  # of a power
MOST_ANGLE = 64  # bits before the binary point of a sine's argument
EXTRA_BITS = 64  # beyond twice the precision of the proof, so that its own rounding decides what stands
GUARD = 64  # more bits inside functions, whose steps double their error
SMALL = 8  # arguments of series are halved until they are below 2^−SMALL
USUAL_BITS = 256  # of honest certificates, which take fewer than 1,000 + 50 n products of digits a character
MOST_WORK = 2000, 200  # of them, for each character of the file, and as many more for each state
LITTLE_WORK = 5 * 10**9  # half a minute at most, which is never too much
BESIDE = 24  # characters of an operation besides its name, reads and numbers

# The key of what an operation holds beyond its name and reads; "values" may have a "radius".
HOLDS = {"number": "number", "constant": "values", "linear": "values", "take": "index", "sum": "length"}
HOLDS |= {"modrelu": "values", "power": "number"}
# How many earlier results an operation reads; `join` reads one or more, functions read one.
READS = {"state": 0, "number": 0, "constant": 0, "join": None, "linear": 1, "take": 1, "sum": 1, "negate": 1}
READS |= {"add": 2, "subtract": 2, "multiply": 2, "divide": 2}
FUNCTIONS = ["tanh", "sigmoid", "relu", "abs", "modrelu", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos"]
FUNCTIONS += ["atan", "erf", "softplus", "power"]
READS |= dict.fromkeys(FUNCTIONS, 1)
SIGNS = {"add": [1, 1], "subtract": [1, -1], "negate": [-1]}


class Rejected(Exception):
    """The certificate does not show what it claims; the sentence says what failed."""


class Malformed(Rejected):
    """The file is no certificate; the sentence says where it is none."""


class Operation(NamedTuple):
    """One operation of the program: what it reads, what it holds, and how many numbers its result has."""

    name: str
    reads: list[int]
    held: Any  # a list of rows of numbers, one number, a list of places, or a length
    radius: Number  # how far each number that it holds may be from what it stands for
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
        Length of the program and of all numbers that were read.
    highest : int
        Bits before the binary point that hold each of them.
    """

    def __init__(self) -> None:
        self.characters = 0
        self.highest = 0

    def fields(self, value: Any, keys: Iterable[str], what: str) -> list[Any]:
        """Return the values of an object that has these keys and no others."""
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
        """Return an integer that is written as one."""
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
        """Return ``"<hexadecimal integer>p<exponent of 2>"``, in lower case and ASCII."""
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
        """Return the operations; each reads results that stand before it, of the sizes that it needs."""
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
        keys = ["name", "reads", *([HOLDS[name]] if name in HOLDS else [])]
        keys += ["radius"] if HOLDS.get(name) == "values" and "radius" in entry else []
        _, written, *held = self.fields(entry, keys, what)
        reads = [self.whole(index, f"what {what} reads", 0, len(before) - 1) for index in self.items(written, what)]
        if (len(reads) != READS[name]) if READS[name] is not None else not reads:
            raise Malformed(f"{what} reads {len(reads)} results")
        self.characters += BESIDE + len(name) + len(reads)
        sizes = [before[index].size for index in reads]
        size = sum(sizes) if name == "join" else max(sizes, default=n if name == "state" else 1)
        if name != "join" and any(each not in (1, size) for each in sizes):
            raise Malformed(f"{what} combines vectors of different lengths")
        radius = self.number(held[1], what) if len(held) > 1 else (0, 0)
        if radius[0] < 0:
            raise Malformed(f"the radius of {what} is below 0")
        found, size = self.held(name, held[0], what, size) if held else (None, size)
        return Operation(name, reads, found, radius, size)

    def held(self, name: str, value: Any, what: str, size: int) -> tuple[Any, int]:
        """Return the numbers that an operation holds and the length of its result; `size` is that of what it reads."""
        if name == "linear":
            if not size:
                raise Malformed(f"{what} multiplies no numbers")
            rows = self.matrix(value, what, size)
            return rows, len(rows)
        if HOLDS[name] == "values":
            numbers = self.vector(value, what)
            if name == "modrelu" and len(numbers) not in (1, size):
                raise Malformed(f"{what} combines vectors of different lengths")
            return [numbers], size if name == "modrelu" else len(numbers)
        if name == "take":
            index = [self.whole(each, f"a place of {what}", 0, size - 1) for each in self.items(value, what)]
            self.characters += len(index)
            return index, len(index)
        if name == "sum":
            length = self.whole(value, f"the length of {what}", 1, size)
            if size % length:
                raise Malformed(f"{what} sums groups of {length} of {size} numbers")
            return length, size // length
        mantissa, exponent = self.number(value, what)
        too_large = mantissa.bit_length() + exponent > MOST_EXPONENT.bit_length() or exponent < -MOST_BITS
        if name == "power" and mantissa and too_large:
            raise Rejected(f"the exponent of {what} is beyond {MOST_EXPONENT}, or has far too many digits")
        return (mantissa, exponent), size


class Certificate(NamedTuple):
    """The parts of a document, each of the size and form that it must have."""

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
    """Return the parts of a document.

    Raises
    ------
    Malformed
        If one is missing, or is not of the form that it must have.
    Rejected
        If a radius is not positive, the digest is not that of the program, or the work would have no bound.
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
    places = [reader.fields(disc, ("real", "imag", "radius"), "a disc") for disc in reader.items(discs, "discs", n)]
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
    if _is_too_much(program, n, bits, reader.characters):
        raise Rejected("the certificate asks for far more work than one of its length needs")
    return found._replace(bits=bits + EXTRA_BITS)


def _is_too_much(program: list[Operation], n: int, bits: int, characters: int) -> bool:
    """Return True if the check would take far more products of digits than a certificate of this length needs."""
    products = 60 * n**3  # ten products of matrices, each of the middles and twice of the radii, and a margin
    for operation in program:
        columns = len(operation.held[0]) if operation.name == "linear" and operation.held else 1
        products += 6 * operation.size * (n + 1) * columns
        # the terms of the series at the ends of two intervals, each twice; those of erf are many and long
        products += operation.size * bits * {"erf": 200}.get(operation.name, 8 * (operation.name in FUNCTIONS))
    digits = 2 * bits / 30  # numbers are below 2^bits
    work = products * int(30 + digits**1.6)  # 30: what Python itself takes for one; 1.6: Karatsuba's exponent
    usual = (MOST_WORK[0] + MOST_WORK[1] * n) * max(1.0, bits / USUAL_BITS) ** 1.6 * characters
    return work > max(usual, LITTLE_WORK)


class Arithmetic:
    """Intervals (m, r) on a grid of 2^−bits; a matrix is a pair of lists of rows, of all m and of all r.

    Functions of an interval give one of the value and one of the slope. Those that end in ``_at`` are of one integer x,
    which is the number x 2^−bits, and give two integers that the value lies between.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.one = 1 << bits

    def read(self, number: Number) -> Interval:
        """Return an interval that holds a number of the file."""
        mantissa, exponent = number
        shift = exponent + self.bits
        if shift >= 0 or not mantissa:
            return mantissa << max(shift, 0), 0
        if mantissa.bit_length() <= -shift:  # below the grid, by however much
            return -(mantissa < 0), 1
        return mantissa >> -shift, int(mantissa & ((1 << -shift) - 1) != 0)

    def exactly(self, number: Number) -> int:
        """Return the number itself, which the grid holds."""
        middle, radius = self.read(number)
        if radius:
            raise Rejected(f"a number of a ball has more digits than {self.bits} bits hold")
        return middle

    def matrix(self, rows: list[list[Number]], radius: Number = (0, 0)) -> Matrix:
        """Return intervals of all numbers that are within the radius of those of the file."""
        more = sum(self.read(radius))
        read = [[self.read(number) for number in row] for row in rows]
        return [[m for m, _ in row] for row in read], [[r + more for _, r in row] for row in read]

    def times(self, a: Interval, b: Interval) -> Interval:
        (am, ar), (bm, br) = a, b
        return (am * bm) >> self.bits, ((abs(am) * br + abs(bm) * ar + ar * br) >> self.bits) + 2

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        """Return the product of two matrices."""
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
        """Return upper bounds on Σ_j |a_ij|, in units of the grid."""
        return [sum(abs(m) + r for m, r in zip(*row, strict=True)) for row in zip(*matrix, strict=True)]

    def inverse(self, x: Interval) -> Interval:
        """Return 1/x."""
        least, most = abs(x[0]) - x[1], abs(x[0]) + x[1]
        if least <= 0:
            raise Rejected("a quotient by 0 may be taken")
        m, r = _interval(self.one**2 // most, self.one**2 // least + 1)
        return (m if x[0] > 0 else -m), r

    def bounded(self, x: Interval) -> Interval:
        """Return the interval itself, which is refused where repeated products would fill any memory."""
        if abs(x[0]) + x[1] >= 1 << 2 * self.bits:
            raise Rejected(f"a result of the program is beyond 2^{self.bits}")
        return x

    # Functions of one number

    def exp_at(self, x: int) -> Ends:
        """Return the series of e^z for |z| < 2^−SMALL, squared again and again."""
        whole = abs(x) >> self.bits
        if whole > self.bits:
            if x > 0:
                raise Rejected(f"an exponential of more than {self.bits} is taken")
            return 0, 1
        q = self.bits + GUARD + (2 * whole if x > 0 else 0)
        halvings = whole.bit_length() + SMALL
        z = (abs(x) << (q - self.bits)) >> halvings
        term, total, error, n = 1 << q, 1 << q, 8, 0  # 8: of z, and of all terms left out
        while term:
            n += 1
            term = (term * z >> q) // n
            total += -term if x < 0 and n % 2 else term
            error += 2  # of the term's two roundings, and of those before it, which shrink
        for _ in range(halvings):
            total, error = total * total >> q, ((2 * total + error) * error >> q) + 2
        return _coarser(total, error, q - self.bits, 0)

    def sigmoid_at(self, x: int) -> Ends:
        low, high = self.exp_at(-abs(x))
        if x < 0:  # e/(1 + e) grows with e
            return (low << self.bits) // (self.one + low), (high << self.bits) // (self.one + high) + 1
        return self.one**2 // (self.one + high), self.one**2 // (self.one + low) + 1

    def sigmoid_slope_at(self, x: int) -> Ends:
        low, high = self.exp_at(-abs(x))
        # e/(1 + e)² grows with e up to e = 1
        least, most = ((e << 2 * self.bits) // (self.one + e) ** 2 for e in (low, min(high, self.one)))
        return least, most + 1

    def softplus_at(self, x: int) -> Ends:
        """Enclose max(x, 0) + log(1 + e^−|x|)."""
        low, high = self.exp_at(-abs(x))
        return max(x, 0) + self.log_at(self.one + low)[0], max(x, 0) + self.log_at(self.one + high)[1]

    def log_at(self, x: int) -> Ends:
        """Return the sum k log 2 + 2 artanh((u − 1)/(u + 1)), u = x 2^−k from 1 to 2, for x > 0."""
        q, power = self.bits + GUARD, 1 << (x.bit_length() - 1)
        k = x.bit_length() - 1 - self.bits
        value, error = _odd_series(((x - power) << q) // (x + power), q, 1)
        log_2, wrong = _odd_series((1 << q) // 3, q, 1)
        return _coarser(2 * (value + k * log_2), 2 * (error + abs(k) * wrong), GUARD)

    def atan_at(self, x: int) -> Ends:
        q = self.bits + GUARD
        size, one = abs(x) << GUARD, 1 << q
        value, error = _atan(min(size, one * one // max(size, 1)), q)
        if size > one:
            quarter, wrong = _atan(one, q)
            value, error = 2 * quarter - value, 2 * wrong + error
        return _coarser(value if x > 0 else -value, error, GUARD)

    def erf_at(self, x: int) -> Ends:
        """Enclose erf x by 2/√π e^(−x²) Σ x (2x²)^n/(1 · 3 ⋯ (2n + 1)), or by 1 beyond the grid."""
        whole = x * x >> 2 * self.bits
        if whole > self.bits:
            return (self.one - 1, self.one) if x > 0 else (-self.one, 1 - self.one)
        inner = Arithmetic(self.bits + GUARD + 3 * whole)  # the sum is up to e^(x²)
        q, shift = inner.bits, inner.bits - self.bits
        square = x * x << (q - 2 * self.bits) if q > 2 * self.bits else x * x >> (2 * self.bits - q)
        term, error, n = abs(x) << shift, 0, 0
        total, wrong = term, 0
        while term or 4 * (square + 1) > (2 * n + 3) << q:  # until each term is less than half of the one before
            error = ((error * 2 * (square + 1) + 2 * term) >> q) // (2 * n + 3) + 4
            term = (term * 2 * square >> q) // (2 * n + 3)
            n += 1
            total, wrong = total + term, wrong + error
        m, r = inner.times((total, wrong + 2 * error + 2), inner.gaussian((square, 1)))
        low, high = _coarser(m, r, shift)
        return (low, min(high, self.one)) if x > 0 else (-min(high, self.one), -low)

    def erf_slope_at(self, x: int) -> Ends:
        m, r = self.gaussian((x * x >> self.bits, 1))
        return m - r, m + r

    def gaussian(self, square: Interval) -> Interval:
        """Return 2/√π e^−square."""
        quarter, wrong = _atan(1 << self.bits, self.bits)
        root, _ = self.sqrt((4 * quarter, 4 * wrong))
        factor = self.times((2 * self.one, 0), self.inverse(root))
        return self.times(factor, _interval(self.exp_at(-sum(square))[0], self.exp_at(square[1] - square[0])[1]))

    def circle_at(self, x: int) -> tuple[Interval, Interval]:
        """Return intervals of the sine and the cosine: series for |z| < 2^−SMALL, the angle doubled again and again."""
        doublings = max(0, abs(x).bit_length() - self.bits) + SMALL
        if doublings > MOST_ANGLE + SMALL:
            raise Rejected(f"the sine of a number beyond 2^{MOST_ANGLE} is taken")
        inner = Arithmetic(self.bits + GUARD + 2 * doublings)
        q, shift = inner.bits, inner.bits - self.bits
        z = (abs(x) << shift) >> doublings
        term, sums, n = inner.one, [inner.one, 0], 0
        while term:
            n += 1
            term = (term * z >> q) // n
            sums[n % 2] += -term if n & 2 else term
        cosine, sine = ((total, 8 + 2 * n) for total in sums)
        for _ in range(doublings):
            square, product = inner.times(sine, sine), inner.times(sine, cosine)
            sine, cosine = (2 * product[0], 2 * product[1]), (inner.one - 2 * square[0], 2 * square[1])
        found = _interval(*_coarser(*sine, shift)), _interval(*_coarser(*cosine, shift))
        return (found[0] if x > 0 else (-found[0][0], found[0][1])), found[1]

    # Functions of an interval

    def sigmoid(self, x: Interval) -> tuple[Interval, Interval]:
        return _increasing(self.sigmoid_at, x), _even(self.sigmoid_slope_at, x)

    def tanh(self, x: Interval) -> tuple[Interval, Interval]:
        """Return 2 σ(2x) − 1, whose slope 4 σ′(2x) does not cancel."""
        (m, r), (slope, spread) = self.sigmoid((2 * x[0], 2 * x[1]))
        return (2 * m - self.one, 2 * r), (4 * slope, 4 * spread)

    def exp(self, x: Interval) -> tuple[Interval, Interval]:
        value = _increasing(self.exp_at, x)
        return value, value

    def expm1(self, x: Interval) -> tuple[Interval, Interval]:
        value, slope = self.exp(x)
        return (value[0] - self.one, value[1]), slope

    def log(self, x: Interval) -> tuple[Interval, Interval]:
        if x[0] - x[1] <= 0:
            raise Rejected("a logarithm of 0 may be taken")
        return _increasing(self.log_at, x), self.inverse(x)

    def log1p(self, x: Interval) -> tuple[Interval, Interval]:
        return self.log((self.one + x[0], x[1]))

    def atan(self, x: Interval) -> tuple[Interval, Interval]:
        m, r = self.times(x, x)
        return _increasing(self.atan_at, x), self.inverse((self.one + max(m, r), r))

    def erf(self, x: Interval) -> tuple[Interval, Interval]:
        return _increasing(self.erf_at, x), _even(self.erf_slope_at, x)

    def softplus(self, x: Interval) -> tuple[Interval, Interval]:
        return _increasing(self.softplus_at, x), self.sigmoid(x)[0]

    def sin(self, x: Interval) -> tuple[Interval, Interval]:
        """Enclose sin by the mean value theorem: |sin(m + r) − sin m| ≤ min(r, |cos m| r + r²)."""
        sine, cosine = self.circle_at(x[0])
        return self._spread(sine, cosine, x[1]), self._spread(cosine, sine, x[1])

    def cos(self, x: Interval) -> tuple[Interval, Interval]:
        (m, r), value = self.sin(x)
        return value, (-m, r)

    def _spread(self, value: Interval, slope: Interval, radius: int) -> Interval:
        steep = (abs(slope[0]) + slope[1] + radius) * radius >> self.bits
        return value[0], value[1] + min(radius, steep + 1)

    def relu(self, x: Interval) -> tuple[Interval, Interval]:
        if x[0] - x[1] > 0:
            return x, (self.one, 0)
        if x[0] + x[1] < 0:
            return (0, 0), (0, 0)
        raise Rejected("the argument of a ReLU may be 0: the network is not smooth there")

    def abs(self, x: Interval) -> tuple[Interval, Interval]:
        if abs(x[0]) <= x[1]:
            raise Rejected("the modulus of 0 may be taken: the network is not smooth there")
        return (abs(x[0]), x[1]), (self.one if x[0] > 0 else -self.one, 0)

    def modrelu(self, x: Interval, b: Interval) -> tuple[Interval, Interval]:
        """Enclose sign(x) max(|x| + b, 0): it may jump at 0 where b > 0, and has kinks at |x| = −b where b < 0."""
        (m, r), (bm, br) = x, b
        if abs(m) + r + bm + br < 0:
            return (0, 0), (0, 0)
        if abs(m) > r and abs(m) - r + bm - br > 0:
            return (m + bm if m > 0 else m - bm, r + br), (self.one, 0)
        raise Rejected("the argument of a modReLU may be at its border: the network is not smooth there")

    def sqrt(self, x: Interval) -> tuple[Interval, Interval]:
        if x[0] - x[1] <= 0:
            raise Rejected("a root of 0 may be taken: the network is not smooth there")
        root = _interval(isqrt((x[0] - x[1]) << self.bits), isqrt((x[0] + x[1]) << self.bits) + 1)
        m, r = self.inverse(root)
        return root, (m >> 1, (r >> 1) + 1)

    def power(self, x: Interval, exponent: Number) -> tuple[Interval, Interval]:
        """Enclose x^k and k x^(k − 1): products for a whole k, else e^(k log x)."""
        mantissa, shift = exponent
        if not mantissa:
            return (self.one, 0), (0, 0)
        if shift >= 0 or not mantissa & ((1 << -shift) - 1):
            k = mantissa << shift if shift >= 0 else mantissa >> -shift
            slope = self._whole_power(x, k - 1)
            return self._whole_power(x, k), (k * slope[0], abs(k) * slope[1])
        if x[0] - x[1] <= 0:
            raise Rejected("a broken power of 0 may be taken: the network is not smooth there")
        k_interval = self.read(exponent)
        value = _increasing(self.exp_at, self.times(k_interval, self.log(x)[0]))
        return value, self.times(self.times(value, k_interval), self.inverse(x))

    def _whole_power(self, x: Interval, k: int) -> Interval:
        base, found = self.inverse(x) if k < 0 else x, (self.one, 0)
        for digit in f"{abs(k):b}":
            found = self.bounded(self.times(found, found))
            found = self.bounded(self.times(found, base)) if digit == "1" else found
        return found


def _coarser(value: int, error: int, shift: int, least: int | None = None) -> Ends:
    """The ends of value ± error in units that are 2^shift times as large."""
    low, high = (value - error) >> shift, ((value + error) >> shift) + 1
    return (low if least is None else max(low, least)), high


def _odd_series(z: int, q: int, sign: int) -> Interval:
    """Σ sign^j z^(2j + 1)/(2j + 1) in units of 2^−q, artanh z or arctan z, where z ≤ 1/2 is right to two units."""
    square, power, total, n = z * z >> q, z, 0, 1
    while power:
        total += power // n * (sign if n & 2 else 1)
        power, n = power * square >> q, n + 2
    return total, 8 + 3 * n  # 8: of z, and of all terms left out


def _atan(z: int, q: int) -> Interval:
    """2 arctan(z/(1 + √(1 + z²))) in units of 2^−q, for z ≤ 1."""
    one = 1 << q
    value, error = _odd_series((z << q) // (one + isqrt(one * one + z * z)), q, -1)
    return 2 * value, 2 * error


def _increasing(function: Callable[[int], Ends], x: Interval) -> Interval:
    return _interval(function(x[0] - x[1])[0], function(x[0] + x[1])[1])


def _even(function: Callable[[int], Ends], x: Interval) -> Interval:
    """Enclose an even function that falls with the modulus."""
    return _interval(function(abs(x[0]) + x[1])[0], function(max(0, abs(x[0]) - x[1]))[1])


def _interval(low: int, high: int) -> Interval:
    middle = (low + high) >> 1
    return middle, max(high - middle, middle - low)


def evaluate(
    arithmetic: Arithmetic, program: list[Operation], box: Vector, slopes: bool = True
) -> tuple[Vector, Matrix]:
    """Return intervals of the step, and where `slopes` are asked for of its Jacobian, over a box of states.

    Each result is a matrix: its first column is the value, the others are its derivative by the state.
    """
    columns = range(len(box) if slopes else 0)
    mids = [[m, *(arithmetic.one * (i == j) for j in columns)] for i, (m, _) in enumerate(box)]
    state: Matrix = mids, [[r, *(0 for _ in columns)] for _, r in box]
    results: list[Matrix] = []
    last = {index: number for number, operation in enumerate(program) for index in operation.reads}
    for number, operation in enumerate(program):
        found = _operation(arithmetic, operation, [results[index] for index in operation.reads], state)
        largest = max((max(max(row), -min(row)) for rows in found for row in rows), default=0)
        if largest >> 2 * arithmetic.bits:  # numbers that are squared again and again would fill any memory
            raise Rejected(f"a result of the program is beyond 2^{arithmetic.bits}")
        results.append(found)
        for index in operation.reads:
            if last[index] == number:  # nothing reads it again
                results[index] = [], []
    mids, rads = results[-1]
    return _values(results[-1]), ([row[1:] for row in mids], [row[1:] for row in rads])


def _operation(arithmetic: Arithmetic, operation: Operation, read: list[Matrix], state: Matrix) -> Matrix:
    name, held, size = operation.name, operation.held, operation.size
    if name == "state":
        return state
    if name in ("number", "constant"):
        values = [arithmetic.read(held)] if name == "number" else _vector(arithmetic, operation)
        return _with_values(values, _zeros(size, len(state[0][0])))
    if name == "linear":
        return arithmetic.product(arithmetic.matrix(held, operation.radius), read[0])
    if name == "take":
        return _rows(read[0], held)
    if name == "join":
        return [row for mids, _ in read for row in mids], [row for _, rads in read for row in rads]
    if name == "sum":
        return _total([_rows(read[0], range(k, size * held, held)) for k in range(held)], [1] * held)
    wide = [part if len(part[0]) == size else _rows(part, [0] * size) for part in read]
    if name in SIGNS:
        return _total(wide, SIGNS[name])
    first, last = _values(wide[0]), _values(wide[-1])
    if name in ("multiply", "divide"):
        factors = last if name == "multiply" else list(map(arithmetic.inverse, last))
        found = list(map(arithmetic.times, first, factors))
        other, sign = (first, 1) if name == "multiply" else (list(map(arithmetic.times, found, factors)), -1)
        slopes = _total([_scaled(arithmetic, factors, wide[0]), _scaled(arithmetic, other, wide[1])], [1, sign])
        return _with_values(found, slopes)
    more = [_vector(arithmetic, operation)] if name == "modrelu" else [[held] * size] if name == "power" else []
    pairs = [getattr(arithmetic, name)(*each) for each in zip(first, *more, strict=True)]
    return _with_values([p for p, _ in pairs], _scaled(arithmetic, [slope for _, slope in pairs], wide[0]))


def _vector(arithmetic: Arithmetic, operation: Operation) -> Vector:
    """The vector that an operation holds; one number of a modReLU serves all."""
    mids, rads = arithmetic.matrix(operation.held, operation.radius)
    found = list(zip(mids[0], rads[0], strict=True))
    return found if len(found) == operation.size else found * operation.size


def _rows(result: Matrix, index: Sequence[int]) -> Matrix:
    return [result[0][i] for i in index], [result[1][i] for i in index]


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


def _total(parts: list[Matrix], signs: list[int]) -> Matrix:
    """The sum of matrices, each with its sign."""
    total = _zeros(len(parts[0][0]), len(parts[0][0][0]) if parts[0][0] else 0)
    for part, sign in zip(parts, signs, strict=True):
        total = _sum(total, part, sign)
    return total


def _sum(a: Matrix, b: Matrix, sign: int) -> Matrix:
    mids = [[p + sign * q for p, q in zip(*rows, strict=True)] for rows in zip(a[0], b[0], strict=True)]
    return mids, [[p + q for p, q in zip(*rows, strict=True)] for rows in zip(a[1], b[1], strict=True)]


def _diagonal(n: int, entry: int) -> Matrix:
    return [[entry * (i == j) for j in range(n)] for i in range(n)], [[0] * n for _ in range(n)]


def _zeros(rows: int, columns: int) -> Matrix:
    return [[0] * columns for _ in range(rows)], [[0] * columns for _ in range(rows)]


def check_ball(arithmetic: Arithmetic, program: list[Operation], ball: Ball) -> tuple[Matrix, list[int], int]:
    """Run Krawczyk's test and return the Jacobian over the ball, its centre and its radius."""
    center, radius = [arithmetic.exactly(number) for number in ball.center], arithmetic.exactly(ball.radius)
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
    """Check that Gershgorin's discs of V⁻¹ J V lie in the claimed ones; count those outside and inside |z| = 1."""
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
    """Check a certificate and return the sentence that it shows.

    Parameters
    ----------
    document : dict
        Content of the file.

    Raises
    ------
    Rejected
        If something does not hold; `Malformed`, if it is no certificate at all.
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
    within = any(mantissa for mantissa, _ in (operation.radius for operation in certificate.program))
    more = " So has each step whose numbers are within the radii that are written beside them." if within else ""
    kind = "unstable" if outside else "stable" if inside == n else "of undecided stability"
    reach = Context(prec=2, rounding=ROUND_CEILING).divide(Decimal(radius), Decimal(arithmetic.one))
    return (
        f"Correct: the step that is written in this file, with the digest {certificate.digest}, has exactly one fixed "
        f"point in the given ball, whose radius is at most {reach:.1e}. It is {kind}: {outside} of {n} directions grow "
        f"and {inside} decay.{more}"
    )


def load(name: str) -> Any:
    """Load the JSON document in a file; refuse what JSON leaves open (a key twice, NaN, numbers with a point, depth).

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
    codes = "The exit code is 0 where all are correct, 1 where one is rejected and 2 where one is no certificate."
    parser = argparse.ArgumentParser(description="Check certificates of fixed points.", epilog=codes)
    parser.add_argument("files", nargs="+", metavar="FILE")
    code = 0
    for name in parser.parse_args(arguments).files:
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
