"""Certificates changed at random: what the checker still accepts is true by Arb, which shares nothing with it."""

import contextlib
import copy
import json
import random
import re

import pytest
from certificates import at, digested, make, times
from flint import acb, acb_mat, arb, arb_mat, ctx, fmpz
from node import judged

from dynlab.certificate_check import Rejected, check
from dynlab.program import Operation, Program
from dynlab.program.enclosure import enclose, identity
from dynlab.program.operations import OPERATIONS

MUTANTS = 40  # of each family; 6,000 of each were tried once: all that was accepted held
BITS = 700  # of the independent arithmetic
NEWTON_STEPS = 14
# Of an eigenvalue in that arithmetic: defective of order 4 loses 525 bits.
ERROR = acb(arb(0, 2**-100), arb(0, 2**-100))


@pytest.fixture(params=["by hand", "henon", "jordan", "gru", "asrnn", "urnn"])
def original(request):
    return make(request.param)


# --- changes -------------------------------------------------------------------------------------------------------

OTHERS = ["1p0p0", "0x1p0", "nan", "", "1p-99999999", "1p99999999", "-0p0", 0, 1.5, True, None, [], {}, -1]
NAMES = [*OPERATIONS, "state", "join", ""]


def places(value, where=()):
    """The paths of all that a document holds."""
    if where:
        yield where
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*where, key))


def changed(value, other, chance):
    """Another value: a number scaled or shifted or with other digits, a list in another order, another part."""
    if isinstance(value, list) and value and chance.random() < 0.8:
        k = chance.randrange(len(value))
        new = chance.choice([[chance.choice(value)], [other], []])
        return chance.choice([value[:k] + new + value[k + chance.randrange(2) :], chance.sample(value, len(value))])
    if isinstance(value, str) and re.fullmatch(r"-?[0-9a-f]+p-?\d+", value):
        mantissa, exponent = int(value.split("p")[0], 16), value.split("p")[1]
        digit = chance.choice([-1, 1]) << chance.randrange(max(1, mantissa.bit_length()))
        shifted = times(value, chance.choice([-1, 0, 1, 3, -3]), chance.choice([-200, -60, -8, -1, 0, 1, 8, 60]))
        return chance.choice([f"{mantissa + digit:x}p{exponent}", shifted, shifted, chance.choice(OTHERS)])
    if isinstance(value, int):
        return value + chance.choice([-2, -1, 1, 2, 100, -(10**6), 10**6])
    return chance.choice([other, chance.choice(NAMES)])


def change(document, chance):
    """One change of one part, in place."""
    every = list(places(document))
    key = chance.choice(["ball", "tight_ball", "eigenvalues", "claims", "precision", "size", "program"])
    where = chance.choice([place for place in every if place[0] == key] if chance.random() < 0.5 else every)
    other = copy.deepcopy(at(document, chance.choice(every)))
    at(document, where[:-1])[where[-1]] = changed(at(document, where), other, chance)


def together(document, chance):
    """Changes that keep some of the tests' inequalities: an attacker would make these."""
    n, kind = document["size"], chance.randrange(4)
    for key in ("ball", "tight_ball") if chance.random() < 0.7 else ("ball",):
        ball, factor = document[key], chance.choice([-1, -(2**20), 2**10, 2**40, 0, 2**90])
        if kind in (0, 1):
            ball["radius"] = times(ball["radius"], factor)
        if kind in (1, 2):
            ball["inverse"] = [[times(entry, factor) for entry in row] for row in ball["inverse"]]
    if kind == 3:
        for disc in document["eigenvalues"]:
            disc["radius"] = chance.choice(["1p0", "1p10", "-1p0", disc["radius"]])
        outside, inside = sorted((chance.randrange(n + 1), chance.randrange(n + 1)))
        document["claims"] = {"outside": outside, "inside": inside - outside, "undecided": n - inside}
        document["precision"] = chance.choice([1, 8, 32, 53, 64, 400])


def mutant(original, chance):
    document = copy.deepcopy(original)
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError, IndexError):  # nothing is left to change
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            (together if chance.random() < 0.3 else change)(document, chance)
    if chance.random() < 0.9 and "program" in document:
        document["digest"] = digested(document["program"])
    return document


# --- truth ---------------------------------------------------------------------------------------------------------


def ball_of(text):
    mantissa, exponent = text.split("p")
    return arb(fmpz(int(mantissa, 16))) * arb(2) ** int(exponent)


def program_of(document, side):
    """The step of a document, its stored numbers moved by `side` times their radii, as exact balls."""
    program = Program(document["size"])
    for entry in document["program"]:
        index, number, constant = tuple(entry.get("index", ())), float(entry.get("length", 0)), None
        sizes = [program.operations[i].size for i in entry["reads"]]
        size = {"state": program.size, "join": sum(sizes)}.get(entry["name"], max(sizes, default=1))
        if "values" in entry:
            rows = entry["values"] if entry["name"] == "linear" else [[text] for text in entry["values"]]
            move = side * ball_of(entry.get("radius", "0p0"))
            constant, size = len(program.made), len(rows) if entry["name"] != "modrelu" else size
            program.made["balls", constant] = arb_mat([[ball_of(text) + move for text in row] for row in rows])
        if "number" in entry:
            number = ball_of(entry["number"]).mid()
        size = len(index) if entry["name"] == "take" else size // int(number) if entry["name"] == "sum" else size
        program.operations.append(
            Operation(entry["name"], tuple(entry["reads"]), size, constant=constant, index=index, number=number)
        )
    program.output = len(program.operations) - 1
    return program


def assert_true(document):
    for side in (-1, 0, 1) if any("radius" in entry for entry in document["program"]) else (0,):
        with ctx.workprec(BITS):
            assert_true_of(document, program_of(document, side))


def assert_true_of(document, program):
    """The fixed point is in the ball, alone there, and its eigenvalues are where they are claimed."""
    n = document["size"]
    center = [ball_of(text) for text in document["ball"]["center"]]
    radius = ball_of(document["ball"]["radius"])
    point = newton(program, center, n)
    assert all(abs(p - c) < radius for p, c in zip(point, center, strict=True))
    matrix = enclose(program, [c + arb(0, radius) for c in center]).derivative - identity(n)
    # J(X) − I is regular over the whole ball by another test than the checker's: its middle's exact inverse
    defect = identity(n) - matrix.mid().inv() * matrix
    assert all(sum((abs(entry) for entry in row), arb(0)) < 1 for row in defect.tolist())
    at_point = enclose(program, point).derivative
    found = [value + ERROR for value in acb_mat(arb_mat(at_point).mid()).eig(algorithm="approx")]
    claims = document["claims"]
    assert claims["outside"] <= sum(bool(abs(value) > 1) for value in found)
    assert claims["inside"] <= sum(bool(abs(value) < 1) for value in found)
    assert claims["outside"] + claims["inside"] + claims["undecided"] == n
    discs = [(acb(ball_of(d["real"]), ball_of(d["imag"])), ball_of(d["radius"])) for d in document["eigenvalues"]]
    for members in connected(discs):
        held = [value for value in found if any(not abs(value - discs[k][0]) > discs[k][1] for k in members)]
        assert len(held) == len(members)


def connected(discs):
    """The sets of discs that touch each other."""
    sets = []
    for k, (place, radius) in enumerate(discs):
        near = [group for group in sets if any(not abs(place - discs[i][0]) > radius + discs[i][1] for i in group)]
        sets = [group for group in sets if group not in near] + [sum(near, [k])]
    return sets


def newton(program, center, n):
    point = center
    for _ in range(NEWTON_STEPS):
        value, slopes = enclose(program, point)
        moved = arb_mat(n, 1, [v - p for v, p in zip(value, point, strict=True)])
        correction = ((slopes - identity(n)).mid().inv() * moved).entries()
        point = [(p - c).mid() for p, c in zip(point, correction, strict=True)]
    return point


def test_what_is_accepted_of_changed_certificates_is_true_and_the_page_accepts_the_same(original):
    chance = random.Random(7)
    assert_true(original)
    documents = [mutant(original, chance) for _ in range(MUTANTS)]
    told = []
    for document in documents:
        try:
            told.append(check(copy.deepcopy(document)))
        except Rejected:
            told.append(None)
            continue
        assert_true(document)
    assert any(told)
    found = judged([json.dumps(document) for document in documents])
    assert [sentence if kind == "Correct" else None for kind, sentence in found] == told
