"""The independent checker accepts what is proved and nothing that was tampered with; its arithmetic encloses."""

import copy
import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
from node import judged, judged_files

from dynlab import certificate_check
from dynlab.certificate_check import Arithmetic, Rejected, check, load, main
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap
from dynlab.systems.torch_layers import torch_layer


def bistable():
    """Two stable points and a saddle between them."""
    cell = create("vanilla", input_size=1, state_size=3).double()
    with torch.no_grad():
        cell.W.copy_(torch.tensor([[1.8, 0.2, 0.0], [0.1, 0.4, -0.3], [0.0, 0.3, 0.4]]))
        cell.b.fill_(0.01)
    return cell


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("proofs")
    torch.manual_seed(0)
    fixed_points(bistable(), at=[0.0], starts=32, certificates=place / "bistable")
    for name, layer in {"gru": torch.nn.GRU(2, 5), "lstm": torch.nn.LSTM(2, 4, 2, proj_size=3)}.items():
        fixed_points(torch_layer(layer), starts=16, certificates=place / name)
    relu = torch_layer(torch.nn.RNN(2, 5, nonlinearity="relu"))
    fixed_points(relu, at=[0.5, -1.0], starts=32, certificates=place / "relu")
    fixed_points(LinearMap([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]]), certificates=place / "jordan")
    return place


@pytest.mark.parametrize(
    "name, stable, unstable", [("bistable", 2, 1), ("gru", 1, 0), ("lstm", 1, 0), ("relu", 1, 0), ("jordan", 1, 0)]
)
def test_what_is_proved_is_found_correct_by_python_alone(folder, name, stable, unstable, tmp_path):
    script = tmp_path / "certificate_check.py"
    script.write_bytes(Path(certificate_check.__file__).read_bytes())
    files = sorted(map(str, (folder / name).iterdir()))
    # -I -S: no dynlab, no numpy, nothing but the standard library
    done = subprocess.run([sys.executable, "-I", "-S", str(script), *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("It is stable") == stable
    assert done.stdout.count("It is unstable: 1 of") == unstable


@pytest.mark.parametrize("layer, size, seed, points", [("GRU", 5, 2, 1), ("RNN", 16, 3, 3)])
def test_discs_of_complex_pairs_are_found_where_they_are_claimed(layer, size, seed, points, tmp_path):
    """A complex entry's spread is √(r² + s²), as in Arb; r + s made the checker's discs larger than the claimed."""
    torch.manual_seed(seed)
    network = getattr(torch.nn, layer)(2, size).double()
    with torch.no_grad():
        network.weight_hh_l0.mul_(3)
    fixed_points(torch_layer(network), starts=16, certificates=tmp_path)
    shown = [check(json.loads(path.read_text())) for path in tmp_path.iterdir()]
    assert len(shown) == points


def scaled(text, factor):
    mantissa, exponent = text.split("p")
    return f"{int(mantissa, 16) * int(factor * 2**20):x}p{int(exponent) - 20}"


def with_radius(document, factor):
    document["ball"]["radius"] = scaled(document["ball"]["radius"], factor)


def with_moved_point(document, factor):
    document["ball"]["center"][0] = scaled(document["ball"]["center"][0], factor)
    document["tight_ball"]["center"][0] = scaled(document["tight_ball"]["center"][0], factor)


def with_other_weight(document):
    linear = next(operation for operation in document["program"] if operation["name"] == "linear")
    linear["values"][0][0] = scaled(linear["values"][0][0], 1 + 2**-20)


def with_other_weight_and_its_digest(document):
    with_other_weight(document)
    document["digest"] = digested(document["program"])


TAMPERINGS = {
    "a smaller radius": (lambda d: with_radius(d, 2**-10), "Krawczyk"),
    "a huge radius": (lambda d: with_radius(d, 2**140), "Krawczyk"),
    "another point": (lambda d: with_moved_point(d, 1 + 2**-15), "Krawczyk"),
    "another weight": (with_other_weight, "digest"),
    "another weight with its digest": (with_other_weight_and_its_digest, "Krawczyk"),
    "another inverse": (lambda d: d["tight_ball"]["inverse"].reverse(), "Krawczyk"),
    "other eigenvectors": (lambda d: d["vectors"]["real"].reverse(), "inverse of the eigenvectors"),
    "a smaller disc": (lambda d: d["eigenvalues"][0].update(radius="1p-500"), "eigenvalue 0"),
    "a moved disc": (lambda d: d["eigenvalues"][0].update(real="1p1"), "eigenvalue 0"),
    "too many outside": (lambda d: d["claims"].update(outside=3, inside=0), "eigenvalues are shown"),
    "fewer dimensions": (lambda d: d["ball"]["center"].pop(), "fit|numbers|lengths"),
    "a missing disc": (lambda d: d["eigenvalues"].pop(), "discs"),
    "a huge precision": (lambda d: d.update(precision=10**400), "8192 bits"),
    "a center of a billion bits": (lambda d: d["ball"]["center"].__setitem__(0, "1p-1000000000"), "8192 bits"),
    "another format": (lambda d: d.update(format="dynlab certificate 0"), "format"),
    "an unknown operation": (lambda d: d["program"][-1].update(name="relish"), "digest"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.parametrize("number", [0, 2])
def test_what_was_tampered_with_is_rejected(folder, name, number):
    document = json.loads((folder / "bistable" / f"fixed-point-{number}.json").read_text())
    check(copy.deepcopy(document))
    change, sentence = TAMPERINGS[name]
    change(document)
    with pytest.raises(Rejected, match=sentence):
        check(document)


def digested(program):
    return certificate_check.hashlib.sha256(json.dumps(program).encode()).hexdigest()


def document_of(program, ball, eigenvalue, claims, precision=128):
    """A certificate of a scalar map, by hand."""
    return {
        "format": certificate_check.FORMAT,
        "system": "by hand",
        "source": None,
        "digest": digested(program),
        "precision": precision,
        "size": 1,
        "program": program,
        "ball": ball,
        "tight_ball": ball,
        "vectors": {"real": [["1p0"]], "imag": [["0p0"]]},
        "inverse": {"real": [["1p0"]], "imag": [["0p0"]]},
        "eigenvalues": [eigenvalue],
        "claims": dict(zip(("outside", "inside", "undecided"), claims, strict=True)),
    }


def number(value):
    mantissa, exponent = float(value).hex().split("p") if value else ("0x0", "0")
    digits = mantissa.replace("0x", "").split(".")
    places = 4 * len(digits[1]) if len(digits) > 1 else 0
    return f"{int(''.join(digits), 16):x}p{int(exponent) - places}"


SHIFTED = [  # h + 0.1 tanh h + 0.11, which is above h everywhere
    {"name": "state", "reads": []},
    {"name": "tanh", "reads": [0]},
    {"name": "constant", "reads": [], "values": [number(0.1)]},
    {"name": "multiply", "reads": [1, 2]},
    {"name": "add", "reads": [0, 3]},
    {"name": "constant", "reads": [], "values": [number(0.11)]},
    {"name": "add", "reads": [4, 5]},
]


@pytest.mark.parametrize("radius", [-1, -1e-3, -1e6, 0, 1e-3, 1, 1e6])
@pytest.mark.parametrize("inverse", [-1e6, -10, 0, 1e6])
@pytest.mark.parametrize("center", [-2, 0, 3])
def test_no_ball_proves_a_fixed_point_of_a_map_without_one(radius, inverse, center):
    ball = {"center": [number(center)], "radius": number(radius), "inverse": [[number(inverse)]]}
    for claims in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        disc = {"real": "1p0", "imag": "0p0", "radius": "1p40"}
        with pytest.raises(Rejected, match=r"radius|Krawczyk"):
            check(document_of(SHIFTED, ball, disc, claims))


def by_hand():
    """A certificate of h/2, which is correct."""
    halved = [
        {"name": "state", "reads": []},
        {"name": "constant", "reads": [], "values": ["1p-1"]},
        {"name": "multiply", "reads": [0, 1]},
    ]
    ball = {"center": ["0p0"], "radius": "1p0", "inverse": [["-1p1"]]}
    disc = {"real": "1p-1", "imag": "0p0", "radius": "1p-30"}
    return document_of(halved, ball, disc, (0, 1, 0))


def test_a_document_by_hand_of_a_true_fixed_point_is_accepted():
    assert "It is stable: 0 of 1 directions grow and 1 decay" in check(by_hand())


# Each is (where, what is written there), in a document that is accepted as it was.
HOSTILE = {
    "radius below 0": (("ball", "radius"), "-1p-20"),
    "radius 0": (("tight_ball", "radius"), "0p0"),
    "upper case": (("ball", "center", 0), "1Fp0"),
    "prefix": (("ball", "center", 0), "0x1fp0"),
    "underscore": (("ball", "center", 0), "1_0p0"),
    "space": (("ball", "center", 0), " 1p0"),
    "line feed": (("ball", "center", 0), "1p0\n"),
    "plus": (("ball", "center", 0), "+1p0"),
    "digits of another script": (("ball", "center", 0), "\u0661p0"),
    "two exponents": (("ball", "center", 0), "1p0p0"),
    "no exponent": (("ball", "center", 0), "1"),
    "nan": (("ball", "center", 0), "nan"),
    "a float": (("ball", "center", 0), 0.0),
    "an integer": (("ball", "center", 0), 0),
    "a truth value": (("size",), True),
    "claims as truth values": (("claims", "outside"), False),
    "null": (("ball", "radius"), None),
    "zeros that stand before a number": (("ball", "center", 0), 30_000 * "0" + "1p-1"),
    "exponent of 25 digits": (("ball", "inverse", 0, 0), "1p" + 25 * "9"),
    "huge": (("ball", "inverse", 0, 0), "1p999999999999"),
    "a million bits": (("ball", "inverse", 0, 0), 250_000 * "f" + "p0"),
    "precision 0": (("precision",), 0),
    "precision below 0": (("precision",), -128),
    "precision that takes days": (("precision",), 2**15 - 1),
    "size 0": (("size",), 0),
    "another size": (("size",), 2),
    "rows of unequal length": (("ball", "inverse", 1), ["1p0"]),
    "no rows": (("ball", "inverse"), []),
    "text for a row": (("ball", "inverse", 0), "1p0"),
    "fewer eigenvectors": (("vectors", "real"), [["1p0"]]),
    "a disc of negative radius": (("eigenvalues", 0, "radius"), "-1p0"),
    "a claim too large": (("claims", "inside"), 4),
    "a claim of more": (("claims", "stable"), 3),
    "a key of one's own": (("theorem",), "every orbit is periodic"),
    "a digest that is none": (("digest",), "0" * 63),
    "a digest of capitals": (("digest",), "A" * 64),
    "no program": (("program",), []),
    "a program that is text": (("program",), "state"),
    "a later result": (("program", 1, "reads"), [1]),
    "a result counted from the end": (("program", 2, "reads"), [-1]),
    "a result numbered by a truth value": (("program", 2, "reads"), [False]),
    "a result numbered by a float": (("program", 2, "reads"), [0.0]),
    "too many reads": (("program", 2, "reads"), [0, 0]),
    "no reads": (("program", -1, "reads"), []),
    "a private name": (("program", -1, "name"), "_slope"),
    "a name that is a list": (("program", -1, "name"), ["tanh"]),
    "an operation with numbers it does not need": (("program", -1, "values"), ["1p0"]),
    "a constant that is a matrix": (("program", 1, "values"), [["1p0"]]),
    "a matrix of too few columns": (("program", 2, "values"), [["1p0"]]),
    "a last result of another size": (("program", -1), {"name": "part", "reads": [0], "span": [0, 2]}),
    "a part beyond the end": (("program", -1), {"name": "part", "reads": [0], "span": [0, 5]}),
    "a part from the end": (("program", -1), {"name": "part", "reads": [0], "span": [-3, 3]}),
    "a part turned round": (("program", -1), {"name": "part", "reads": [0], "span": [3, 0]}),
    "a part of half a number": (("program", -1), {"name": "part", "reads": [0], "span": [0.0, 3]}),
}


def put(document, where, value):
    """The document with a value put somewhere, and the digest of the program that it then has."""
    for key in where[:-1]:
        document = document[key]
    document[where[-1]] = value


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_certificate_may_hold_is_rejected(folder, name, tmp_path, capsys):
    document = json.loads((folder / "bistable" / "fixed-point-0.json").read_text())
    where, value = HOSTILE[name]
    put(document, where, value)
    if where[0] == "program":
        document["digest"] = digested(document["program"])
    with pytest.raises(Rejected):
        check(document)
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document))
    assert main([str(path)]) in (1, 2)
    told = capsys.readouterr()
    assert "Correct" not in told.out
    assert len((told.out + told.err).splitlines()) == 1


@pytest.mark.parametrize("key", [*certificate_check.KEYS, *certificate_check.SHOWS])
def test_a_certificate_that_lacks_something_is_none(folder, key):
    document = json.loads((folder / "bistable" / "fixed-point-0.json").read_text())
    del document[key]
    with pytest.raises(certificate_check.Malformed):
        check(document)


@pytest.mark.parametrize(
    "operations",
    [
        # each result is twice as long, or its numbers have twice as many digits, as the one before
        [{"name": "join", "reads": [k, k]} for k in range(60)],
        [{"name": "join", "reads": [k, k]} for k in range(14)] + 20 * [{"name": "add", "reads": [14, 14]}],
        [{"name": "multiply", "reads": [k, k]} for k in range(1, 60)],
        [{"name": "tanh", "reads": [k]} for k in range(3000)],
    ],
)
def test_a_program_that_would_fill_the_memory_or_the_day_is_rejected_at_once(operations):
    program = [{"name": "state", "reads": []}]
    if operations[0]["name"] == "multiply":
        program.append({"name": "constant", "reads": [], "values": ["1p60"]})
    program += operations
    if operations[0]["name"] == "join":
        program.append({"name": "part", "reads": [len(program) - 1], "span": [0, 1]})
    ball = {"center": ["1p-30000"], "radius": "1p-30000", "inverse": [["-1p0"]]}
    disc = {"real": "1p0", "imag": "0p0", "radius": "1p0"}
    with pytest.raises(Rejected, match=r"beyond|work|numbers"):
        check(document_of(program, ball, disc, (1, 0, 0)))


def test_a_step_may_have_results_without_numbers():
    nothing = [
        {"name": "state", "reads": []},
        {"name": "part", "reads": [0], "span": [0, 0]},
        {"name": "linear", "reads": [1], "values": []},
        {"name": "linear", "reads": [0], "values": [["1p-1"]]},
    ]
    ball = {"center": ["0p0"], "radius": "1p-20", "inverse": [["-2p0"]]}
    disc = {"real": "1p-1", "imag": "0p0", "radius": "1p-10"}
    document = document_of(nothing, ball, disc, (0, 1, 0))
    assert judged([json.dumps(document)]) == [[True, check(document)]]


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "dynlab certificate 1", "format": "dynlab certificate 1"}',
        '{"format": NaN}',
        '{"size": 1e0}',
        '{"size": ' + 5000 * "9" + "}",
        100_000 * "[",
        100_000 * '{"a":',
        "",
        "\ufeff{}",
        "[]",
        "null",
        '"Correct"',
    ],
)
def test_text_that_is_no_certificate_ends_with_2_in_one_line(text, tmp_path, capsys):
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    assert main([str(path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1


def test_the_checker_of_reports_judges_as_this_one(folder):
    """The page's own, under node: it accepts the same in the same words, and rejects all that is rejected here."""
    true = [path.read_text() for path in sorted(folder.rglob("*.json"))]
    false = []
    for tamper, _ in TAMPERINGS.values():
        document = json.loads((folder / "bistable" / "fixed-point-0.json").read_text())
        tamper(document)
        false.append(json.dumps(document))
    for where, value in HOSTILE.values():
        document = json.loads((folder / "bistable" / "fixed-point-0.json").read_text())
        put(document, where, value)
        if where[0] == "program":
            document["digest"] = digested(document["program"])
        false.append(json.dumps(document))
    found = judged(true + false)
    assert found[: len(true)] == [[True, check(json.loads(text))] for text in true]
    assert [holds for holds, _ in found[len(true) :]] == [False] * len(false)


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', "[1.0]", "[1e3]", "[01]", "[NaN]", "[1", "[1] 2", "", '["\t"]', "null"]
)
def test_the_checker_of_reports_takes_no_text_that_json_leaves_open(text):
    ((holds, sentence),) = judged([text])
    assert not holds
    assert any(words in sentence for words in ("same key twice", "no JSON", "no object", POINTED))


def with_source(written):
    """The bytes of a correct certificate whose source is written so."""
    return json.dumps(by_hand()).encode().replace(b'"source": null', b'"source": ' + written)


def nested(depth, opening=b"[", closing=b"]"):
    return depth * opening + b"1" + depth * closing


CORRECT, UNREADABLE = "Correct: the step", "it is no JSON that can be read"
DEEP = f"lists and objects stand more than {certificate_check.MOST_DEPTH} deep in one another"
POINTED = "a number is written with a point or an exponent of 10, or is none"
INSIDE = certificate_check.MOST_DEPTH - 1  # of the document, which is an object itself
BYTES = {
    "no UTF-8 in the source": (with_source(b'"\xff\xfe"'), UNREADABLE),
    "half a pair in the source": (with_source(b'"\xed\xa0\x80"'), UNREADABLE),
    "a letter cut short": (with_source(b'"\xc3"'), UNREADABLE),
    "an overlong letter in the name": (with_source(b"null").replace(b"by hand", b"\xc0\x80"), UNREADABLE),
    "a letter of UTF-8": (with_source('"\u00fc\U0001f600"'.encode()), CORRECT),
    "a byte order mark": (b"\xef\xbb\xbf" + with_source(b"null"), UNREADABLE),
    "lists as deep as may be": (with_source(nested(INSIDE)), CORRECT),
    "lists one deeper": (with_source(nested(INSIDE + 1)), DEEP),
    "empty lists one deeper": (with_source((INSIDE + 1) * b"[" + (INSIDE + 1) * b"]"), DEEP),
    "objects as deep as may be": (with_source(nested(INSIDE, b'{"a":', b"}")), CORRECT),
    "objects one deeper": (with_source(nested(INSIDE + 1, b'{"a":', b"}")), DEEP),
    "lists that fill a stack": (with_source(nested(3000)), DEEP),
    "many lists beside each other": (with_source(b"[" + 3000 * b"[]," + b"[]]"), CORRECT),
    "a deep program": (with_source(b"null").replace(b'"reads": []', b'"reads": ' + nested(1000)), DEEP),
    "all digits that may be": (with_source(4300 * b"9"), CORRECT),
    "all digits that may be and a sign": (with_source(b"-" + 4300 * b"9"), CORRECT),
    "a digit more": (with_source(4301 * b"9"), UNREADABLE),
    "a digit more and a sign": (with_source(b"-" + 4301 * b"9"), UNREADABLE),
    "a point": (with_source(b"1.5"), POINTED),
    "an exponent": (with_source(b"-1E+5"), POINTED),
    "a point and an exponent": (with_source(b"[0.5e-5]"), POINTED),
    "no number": (with_source(b"NaN"), POINTED),
    "infinity": (with_source(b"-Infinity"), POINTED),
    "a point without digits": (with_source(b"1."), UNREADABLE),
    "an exponent without digits": (with_source(b"1e+"), UNREADABLE),
    "a long text": (with_source(b'"' + 20_000_000 * b"x" + b'"'), CORRECT),
    "many escapes": (with_source(b'"' + 100_000 * rb"\\\"\u00e9" + b'"'), CORRECT),
    "an escape that is none": (with_source(rb'"\x41"'), UNREADABLE),
    "a text without an end": (with_source(b'"\\'), UNREADABLE),
    "a line feed in a text": (with_source(b'"\n"'), UNREADABLE),
}


def verdict(path):
    """What Python's checker says of a file, as `node.judged_files` tells it."""
    try:
        return ["Correct", check(load(str(path)))]
    except Rejected as error:
        return [type(error).__name__, str(error)]


@pytest.mark.parametrize("name", BYTES)
def test_both_checkers_read_the_same_bytes_alike(name, tmp_path):
    content, sentence = BYTES[name]
    path = tmp_path / "file.json"
    path.write_bytes(content)
    kind, said = verdict(path)
    assert said.startswith(sentence)
    assert kind == ("Correct" if sentence == CORRECT else "Malformed")
    assert judged_files([path]) == [[kind, said]]


@pytest.mark.parametrize("more, kind", [(0, "Correct"), (1, "Malformed")])
def test_both_checkers_read_files_up_to_the_same_length(more, kind, tmp_path):
    path = tmp_path / "file.json"
    content = with_source(b"null")
    path.write_bytes(content + (certificate_check.MOST_BYTES + more - len(content)) * b" ")
    found, (other,) = verdict(path), judged_files([path])
    path.unlink()  # it is too large to be kept
    assert found == other
    assert found[0] == kind
    assert kind == "Correct" or found[1] == f"it is longer than {certificate_check.MOST_BYTES} bytes"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["none.json", "--help"]])
def test_its_usage_is_told_where_it_is_asked_for(arguments, capsys):
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert told.out.startswith("usage: python certificate_check.py FILE...")
    assert told.err == ""


def test_only_a_regular_file_is_opened(tmp_path, capsys):
    """A named pipe would be waited for until somebody writes into it."""
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        assert certificate_check.main([str(name)]) == 2
        assert capsys.readouterr().err == f"{name}: no certificate: it is no regular file.\n"


def test_neither_a_name_in_the_file_nor_that_of_the_file_can_pretend_a_verdict(folder, tmp_path, capsys):
    document = json.loads((folder / "bistable" / "fixed-point-0.json").read_text())
    document["system"] = "lorenz\nother.json: Correct: all is proved"
    path = tmp_path / "a\nother.json: Correct: all is proved"
    path.write_text(json.dumps(document))
    assert main([str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_exit_codes(folder, tmp_path, capsys):
    good = folder / "bistable" / "fixed-point-0.json"
    document = json.loads(good.read_text())
    with_radius(document, 0.001)
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    assert "REJECTED" in capsys.readouterr().out
    assert main([str(tmp_path / "none.json")]) == main([]) == 2
    bad.write_text('{"format": "dynlab certificate 1"}')
    assert main([str(bad)]) == 2


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@pytest.mark.parametrize("radius", [0.0, 1e-9, 0.7])
def test_its_functions_enclose_theirs_tightly(name, radius):
    arithmetic = Arithmetic(200)
    places = np.concatenate([[0.0, -0.3, 40.0, -800.0, 1e-30], np.random.default_rng(0).normal(0, 4, 20)])

    def grid(value):
        return int(mpmath.nint(mpmath.ldexp(mpmath.mpf(value), 200)))

    def slope(x):
        half = x if name == "tanh" else x / 2
        return mpmath.sech(half) ** 2 / (1 if name == "tanh" else 4)

    def function(x):
        return mpmath.tanh(x) if name == "tanh" else (1 + mpmath.tanh(x / 2)) / 2

    with mpmath.workdps(120):
        for place in places:
            found = getattr(arithmetic, name)((grid(place), grid(radius)))
            inner = [mpmath.mpf(place) + mpmath.mpf(radius) * k / 4 for k in range(-4, 5)]
            for (middle, reach), truth in zip(found, (function, slope), strict=True):
                values = [mpmath.ldexp(truth(x), 200) for x in inner]
                assert middle - reach <= min(values)
                assert max(values) <= middle + reach
                if radius == 0:
                    assert reach <= 16


@pytest.mark.parametrize("bits", [65, 128, 333])
def test_products_hold_every_product_of_their_factors(bits):
    chance, arithmetic = random.Random(bits), Arithmetic(bits)
    for _ in range(200):
        (am, ar), (bm, br) = (
            (
                chance.randrange(-(4**bits), 4**bits) >> chance.randrange(2 * bits),
                chance.choice([0, 1, chance.getrandbits(bits)]),
            )
            for _ in range(2)
        )
        ends = [Fraction(a * b, arithmetic.one) for a in (am - ar, am + ar) for b in (bm - br, bm + br)]
        middle, radius = arithmetic.times((am, ar), (bm, br))
        mids, rads = arithmetic.product(([[am, am]], [[ar, ar]]), ([[bm], [bm]], [[br], [br]]))
        assert middle - radius <= min(ends)
        assert max(ends) <= middle + radius
        assert mids[0][0] - rads[0][0] <= 2 * min(ends)
        assert 2 * max(ends) <= mids[0][0] + rads[0][0]
        # and no wider than rounding makes them
        assert radius <= (max(ends) - min(ends)) / 2 + Fraction(ar * br, arithmetic.one) + 4


@pytest.mark.parametrize("mantissa", [0, 1, -1, 3, -5, 2**80 + 1, -(2**80) - 1])
@pytest.mark.parametrize("exponent", [-(10**17), -200, -129, -128, -127, -60, 0, 7])
def test_a_number_of_the_file_lies_in_its_interval(mantissa, exponent):
    middle, radius = Arithmetic(128).read((mantissa, exponent))
    scaled_by = exponent + 128
    truth = Fraction(mantissa) * (Fraction(2) ** max(scaled_by, -(10**4)))
    assert middle - radius <= truth <= middle + radius
    assert radius <= (truth.denominator > 1)
