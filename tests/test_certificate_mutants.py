"""Certificates changed at random: what the checker still accepts is true by arithmetic that shares nothing with it."""

import copy
import hashlib
import json
import random

import pytest
import torch
from flint import acb, acb_mat, arb, arb_mat, ctx, fmpz
from node import judged

from dynlab.certificate_check import Rejected, check
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap
from dynlab.systems.torch_layers import torch_layer

JUDGED_MUTANTS = 40  # of each family, for the checker of reports
MUTANTS = 80  # of each family; 6,000 of each were tried once: all that was accepted held
BITS = 700  # of the independent arithmetic
NEWTON_STEPS = 14
ERROR = acb(
    arb(0, 2**-100), arb(0, 2**-100)
)  # of an eigenvalue in that arithmetic: defective of order 4 loses 525 bits
SHOWN = {  # families whose certificates are changed, with how many fixed points each has
    "scalar": 3,
    "bistable": 3,
    "henon": 2,
    "jordan": 1,
    "rotation": 1,
    "gru": 1,
    "lstm": 1,
    "relu": 1,
    "fastgrnn": 1,
    "asrnn": 1,
    "urnn": 1,
}


def system(name):
    torch.manual_seed(0)
    layers = {
        "gru": lambda: torch.nn.GRU(1, 3),
        "lstm": lambda: torch.nn.LSTM(1, 2, proj_size=1),
        "relu": lambda: torch.nn.RNN(1, 3, nonlinearity="relu"),
    }
    matrices = {
        "jordan": [[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]],
        "rotation": [[0.0, -1.0], [1.0, 0.0]],
    }
    weights = {"scalar": [[2.0]], "bistable": [[1.8, 0.2], [0.1, 1.4]]}
    if name in layers:
        return torch_layer(layers[name]())
    if name in matrices:
        return LinearMap(matrices[name])
    if name in weights:
        cell = create("vanilla", input_size=1, state_size=len(weights[name])).double()
        with torch.no_grad():
            cell.W.copy_(torch.tensor(weights[name]))
            cell.b.fill_(0.0 if name == "scalar" else 0.01)
        return cell
    sizes = {"henon": {}, "urnn": {"input_size": 1, "hidden_size": 2}}
    return create(name, **sizes.get(name, {"input_size": 1, "state_size": 3}))


@pytest.fixture(scope="module", params=SHOWN)
def originals(request, tmp_path_factory):
    place = tmp_path_factory.mktemp(request.param)
    made = system(request.param)
    fixed_points(made, at=[0.25] * made.input_size, starts=24, certificates=place)
    return [json.loads(path.read_text()) for path in sorted(place.iterdir())]


# --- changes -------------------------------------------------------------------------------------------------------


def places(value, where=()):
    """The paths of all that a document holds."""
    if where:
        yield where
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*where, key))


def at(document, where):
    for key in where:
        document = document[key]
    return document


def put(document, where, value):
    at(document, where[:-1])[where[-1]] = value


def changed_number(text, chance):
    """Another number: turned round, scaled, shifted, its last digits gone or others."""
    try:
        mantissa, exponent = (int(part, base) for part, base in zip(text.split("p"), (16, 10), strict=True))
    except ValueError:
        return "0p0"
    kind = chance.randrange(9)
    if kind == 0:
        mantissa = -mantissa
    elif kind == 1:
        mantissa = 0
    elif kind == 2:
        exponent += chance.choice([-200, -60, -20, -8, -2, -1, 1, 2, 8, 20, 60])
    elif kind == 3:
        mantissa += chance.choice([-1, 1]) << chance.randrange(max(1, mantissa.bit_length()))
    elif kind == 4:
        cut = chance.randrange(max(1, mantissa.bit_length()))
        mantissa, exponent = mantissa >> cut, exponent + cut
    elif kind == 5:
        mantissa, exponent = chance.choice([(1, 0), (-1, 0), (1, -1), (1, 60), (1, -1074), (3, -2), (-1, -30), (1, 10)])
    elif kind == 6:
        mantissa = mantissa * chance.choice([3, 5, 7, 9, -3]) // chance.choice([1, 2, 4, 8])
    elif kind == 7:
        return chance.choice(["1p0p0", "0x1p0", "nan", "1p", "", "1_0p0", "١p0", "1p-99999999", "1p99999999", "-0p0"])
    else:
        return chance.choice([0, 1.5, True, None, [], {}, "p0", -1])
    return f"{mantissa:x}p{exponent}"


def change(document, chance):
    """One change of one part, in place."""
    where = chance.choice(list(places(document)))
    if chance.random() < 0.5:  # of what is small, too
        key = chance.choice(["ball", "tight_ball", "eigenvalues", "claims", "precision", "size", "program"])
        inside = [key, *(place for place in places(document) if place[0] == key)]
        picked = chance.choice(inside)
        where = (picked,) if isinstance(picked, str) else picked
    value = at(document, where)
    if isinstance(value, list) and value:
        changed_list(value, document, chance)
    elif isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if chance.random() < 0.2:
            del value[key]
        else:
            put(document, (*where, key), copy.deepcopy(at(document, chance.choice(list(places(document))))))
    elif isinstance(value, str) and "p" in value:
        put(document, where, changed_number(value, chance))
    elif isinstance(value, int):
        put(document, where, value + chance.choice([-2, -1, 1, 2, 100, -(10**6), 10**6]))
    else:
        names = [
            "modrelu",
            "sqrt",
            "reciprocal",
            "state",
            "tanh",
            "sigmoid",
            "relu",
            "add",
            "subtract",
            "multiply",
            "join",
            "part",
            "linear",
            "exp",
            "",
        ]
        put(document, where, chance.choice(names))


def changed_list(value, document, chance):
    kind = chance.randrange(6)
    index = chance.randrange(len(value))
    if kind == 0:
        value.reverse()
    elif kind == 1:
        del value[index]
    elif kind == 2:
        value.insert(index, copy.deepcopy(chance.choice(value)))
    elif kind == 3:
        value[index] = copy.deepcopy(chance.choice(value))
    elif kind == 4:
        chance.shuffle(value)
    else:
        value[index] = copy.deepcopy(at(document, chance.choice(list(places(document)))))


def together(document, chance):
    """Changes that keep some of the tests' inequalities: an attacker would make these."""
    kind = chance.randrange(7)
    for key in ("ball", "tight_ball") if chance.random() < 0.7 else ("ball",):
        ball, factor = document[key], chance.choice([-1, -(2**20), 2**10, 2**40, 0, 2**90])
        if kind in (0, 1):
            ball["radius"] = scaled(ball["radius"], factor)
        if kind in (1, 2):
            ball["inverse"] = [[scaled(entry, factor) for entry in row] for row in ball["inverse"]]
        if kind == 3:
            document["ball" if key == "tight_ball" else "tight_ball"] = copy.deepcopy(ball)
    if kind in (4, 5):
        for disc in document["eigenvalues"]:
            disc["radius"] = chance.choice(["1p0", "1p10", "-1p0", disc["radius"]])
    if kind in (5, 6):
        n = document["size"]
        outside = chance.randrange(n + 1)
        inside = chance.randrange(n + 1 - outside)
        document["claims"] = {"outside": outside, "inside": inside, "undecided": n - outside - inside}
        document["precision"] = chance.choice([1, 8, 32, 53, 64, 400])


def scaled(text, factor):
    mantissa, exponent = text.split("p")
    return f"{int(mantissa, 16) * factor:x}p{exponent}"


def mutant(original, chance):
    document = copy.deepcopy(original)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        try:
            (together if chance.random() < 0.3 else change)(document, chance)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            break  # an earlier change left nothing to change there
    if chance.random() < 0.9 and "program" in document:
        document["digest"] = hashlib.sha256(json.dumps(document["program"]).encode()).hexdigest()
    return document


# --- truth ---------------------------------------------------------------------------------------------------------


def ball_of(text):
    mantissa, exponent = text.split("p")
    return arb(fmpz(int(mantissa, 16))) * arb(2) ** int(exponent)


def step(program, state):
    """The step and its Jacobian in balls: by dual numbers with one direction after another, entry by entry."""
    n = len(state)
    results = []
    for operation in program:
        name, read = operation["name"], [results[index] for index in operation["reads"]]
        if name == "state":
            found = [(state[i], [arb(int(i == j)) for j in range(n)]) for i in range(n)]
        elif name == "constant":
            found = [(ball_of(text), [arb(0)] * n) for text in operation["values"]]
        elif name == "linear":
            found = [combination([ball_of(text) for text in row], read[0], n) for row in operation["values"]]
        elif name in ("add", "subtract"):
            sign = 1 if name == "add" else -1
            found = [
                (a + sign * b, [p + sign * q for p, q in zip(da, db, strict=True)])
                for (a, da), (b, db) in zip(*read, strict=True)
            ]
        elif name == "multiply":
            found = [
                (a * b, [p * b + a * q for p, q in zip(da, db, strict=True)])
                for (a, da), (b, db) in zip(*read, strict=True)
            ]
        elif name == "part":
            found = read[0][slice(*operation["span"])]
        elif name == "join":
            found = [entry for part in read for entry in part]
        elif name == "modrelu":
            found = [kept_sign(*entry, ball_of(b)) for entry, b in zip(read[0], operation["values"], strict=True)]
        else:
            found = [activated(name, *entry) for entry in read[0]]
        results.append(found)
    return [a for a, _ in results[-1]], [d for _, d in results[-1]]


def combination(row, read, n):
    value = sum((w * a for w, (a, _) in zip(row, read, strict=True)), arb(0))
    return value, [sum((w * d[j] for w, (_, d) in zip(row, read, strict=True)), arb(0)) for j in range(n)]


def kept_sign(a, d, b):
    if abs(a) + b < 0:
        return arb(0), [arb(0)] * len(d)
    assert a > 0 or a < 0
    assert abs(a) + b > 0
    return a + (b if a > 0 else -b), d


def activated(name, a, d):
    if name == "sqrt":
        return a.sqrt(), [p / (2 * a.sqrt()) for p in d]
    if name == "reciprocal":
        return 1 / a, [-p / a**2 for p in d]
    if name == "relu":
        assert a > 0 or a < 0
        return (a, d) if a > 0 else (arb(0), [arb(0)] * len(d))
    scale = 1 if name == "tanh" else arb(0.5)
    ends = [(scale * end).tanh() for end in (a.lower(), a.upper())]
    slopes = [1 / (scale * size).cosh() ** 2 for size in (a.abs_lower(), a.abs_upper())]
    value, slope = ends[0].union(ends[1]), slopes[0].union(slopes[1])
    if name == "sigmoid":
        value, slope = (1 + value) / 2, slope / 4
    return value, [slope * p for p in d]


def assert_true(document):
    """The fixed point is in the ball, alone there, and its eigenvalues are where they are claimed."""
    with ctx.workprec(BITS):
        n = document["size"]
        center = [ball_of(text) for text in document["ball"]["center"]]
        radius = ball_of(document["ball"]["radius"])
        point = newton(document["program"], center, n)
        assert all(abs(p - c) < radius for p, c in zip(point, center, strict=True))
        over = step(document["program"], [c + arb(0, radius) for c in center])[1]
        matrix = arb_mat(over) - identity(n)
        # J(X) − I is regular over the whole ball by another test than the checker's: its middle's exact inverse
        defect = identity(n) - matrix.mid().inv() * matrix
        assert all(sum((abs(entry) for entry in row), arb(0)) < 1 for row in defect.tolist())
        at_point = step(document["program"], point)[1]
        found = [value + ERROR for value in acb_mat(arb_mat(at_point).mid()).eig(algorithm="approx")]
        outside, inside = (sum(bool(side) for side in sides) for sides in zip(*map(sides_of, found), strict=True))
        claims = document["claims"]
        assert claims["outside"] <= outside
        assert claims["inside"] <= inside
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


def sides_of(value):
    return abs(value) > 1, abs(value) < 1


def identity(n):
    return arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def newton(program, center, n):
    point = center
    for _ in range(NEWTON_STEPS):
        value, slopes = step(program, point)
        matrix = arb_mat(slopes) - identity(n)
        moved = arb_mat(n, 1, [v - p for v, p in zip(value, point, strict=True)])
        correction = (matrix.mid().inv() * moved).entries()
        point = [(p - c).mid() for p, c in zip(point, correction, strict=True)]
    return point


def accepted(original, chance):
    """A mutant that the checker accepts, or None."""
    document = mutant(original, chance)
    try:
        check(copy.deepcopy(document))
    except Rejected:
        return None
    return document


def test_what_is_accepted_of_changed_certificates_is_true(originals):
    chance = random.Random(7)
    for original in originals:
        assert_true(original)
    kept = [accepted(chance.choice(originals), chance) for _ in range(MUTANTS)]
    for document in filter(None, kept):
        assert_true(document)


def test_the_checker_of_reports_accepts_what_this_one_does(originals):
    chance = random.Random(11)
    documents = [mutant(chance.choice(originals), chance) for _ in range(JUDGED_MUTANTS)]
    expected = []
    for document in documents:
        try:
            expected.append(check(copy.deepcopy(document)))
        except Rejected:
            expected.append(None)
    found = judged([json.dumps(document) for document in documents])
    assert [sentence if holds else None for holds, sentence in found] == expected
