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
from certificates import by_hand, certificate, digested, document_of, operation, put
from node import judged, judged_files

from dynlab import certificate_check
from dynlab.certificate_check import Arithmetic, Rejected, check, load, main
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap
from dynlab.systems.torch_layers import torch_layer

WITHIN = "So has each step whose numbers are within the radii"


def bistable():
    """Two stable points and a saddle between them."""
    cell = create("vanilla", input_size=1, state_size=3).double()
    with torch.no_grad():
        cell.W.copy_(torch.tensor([[1.8, 0.2, 0.0], [0.1, 0.4, -0.3], [0.0, 0.3, 0.4]]))
        cell.b.fill_(0.01)
    return cell


def made():
    """Certificates by name: stable and unstable points, layers under held inputs, and steps with rounded matrices."""
    torch.manual_seed(0)
    relu, scaled = torch.nn.RNN(2, 5, nonlinearity="relu"), torch.nn.GRU(2, 5).double()
    with torch.no_grad():
        scaled.weight_hh_l0.mul_(3)
    jordan = LinearMap([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]])
    torch.manual_seed(1)
    drawn = {name: create(name, input_size=2, state_size=3) for name in ("fastgrnn", "asrnn", "modrelu")}
    with torch.no_grad():
        for parameter in drawn["modrelu"].parameters():  # of which an orthogonal matrix has an eigenvalue 1
            parameter.add_(0.1 * torch.randn_like(parameter))
    return {
        "saddle": certificate(bistable(), [0.0, 0.0, 0.0], [0.0]),
        "stable": certificate(bistable(), [0.9, 0.1, 0.0], [0.0]),
        "complex pairs": certificate(torch_layer(scaled), [0.1] * 5),
        "lstm": certificate(torch_layer(torch.nn.LSTM(2, 4, 2, proj_size=3)), [0.0] * 14, [0.5, -1.0]),
        "relu": certificate(torch_layer(relu), [0.3] * 5, [0.5, -1.0]),
        "jordan": certificate(jordan, [0.0] * 3),
        "henon": certificate(create("henon"), [0.6, 0.2]),
        **{name: certificate(system, [0.4, -0.5, 0.3], [0.5, -1.0]) for name, system in drawn.items()},
    }


@pytest.fixture(scope="module")
def documents():
    return made()


@pytest.fixture
def saddle(documents):
    return copy.deepcopy(documents["saddle"])


def test_what_is_proved_is_found_correct_by_python_alone(documents, tmp_path):
    script = tmp_path / "certificate_check.py"
    script.write_bytes(Path(certificate_check.__file__).read_bytes())
    files = {name: tmp_path / f"{name}.json" for name in documents}
    for name, document in documents.items():
        files[name].write_text(json.dumps(document))
    # -I -S: no dynlab, no numpy, nothing but the standard library
    command = [sys.executable, "-I", "-S", str(script), *map(str, files.values())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(zip(documents, done.stdout.splitlines(), strict=True))
    assert "It is unstable: 1 of 3 directions grow and 2 decay." in told["saddle"]
    assert "It is unstable: 1 of 2 directions grow and 1 decay." in told["henon"]
    for name in ("stable", "lstm", "relu", "jordan"):
        assert "It is stable" in told[name]
    assert {name for name, line in told.items() if WITHIN in line} == {"fastgrnn", "asrnn"}


def test_held_inputs_move_the_certified_points(documents):
    """No point but that of the closed forms is 0 in any coordinate."""
    for name in ("relu", "fastgrnn", "asrnn", "modrelu"):
        assert any(int(text.split("p")[0], 16) for text in documents[name]["ball"]["center"])


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


def with_a_wide_matrix(document):
    linear = next(operation for operation in document["program"] if operation["name"] == "linear")
    linear["radius"] = "1p0"
    document["digest"] = digested(document["program"])


TAMPERINGS = {
    "a smaller radius": (lambda d: with_radius(d, 2**-10), "Krawczyk"),
    "a huge radius": (lambda d: with_radius(d, 2**140), "Krawczyk"),
    "another point": (lambda d: with_moved_point(d, 1 + 2**-15), "Krawczyk"),
    "another weight": (with_other_weight, "digest"),
    "another weight with its digest": (with_other_weight_and_its_digest, "Krawczyk"),
    "a matrix of any numbers": (with_a_wide_matrix, "Krawczyk"),
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
def test_what_was_tampered_with_is_rejected(saddle, name):
    change, sentence = TAMPERINGS[name]
    change(saddle)
    with pytest.raises(Rejected, match=sentence):
        check(saddle)


def number(value):
    mantissa, exponent = float(value).hex().split("p") if value else ("0x0", "0")
    digits = mantissa.replace("0x", "").split(".")
    places = 4 * len(digits[1]) if len(digits) > 1 else 0
    return f"{int(''.join(digits), 16):x}p{int(exponent) - places}"


SHIFTED = [  # h + 0.1 tanh h + 0.11, which is above h everywhere
    operation("state"),
    operation("tanh", 0),
    operation("constant", values=[number(0.1)]),
    operation("multiply", 1, 2),
    operation("add", 0, 3),
    operation("number", number=number(0.11)),
    operation("add", 4, 5),
]


@pytest.mark.parametrize("center", [-2, 0, 3])
def test_no_ball_proves_a_fixed_point_of_a_map_without_one(center):
    disc = {"real": "1p0", "imag": "0p0", "radius": "1p40"}
    for radius in (-1, -1e-3, -1e6, 0, 1e-3, 1, 1e6):
        for inverse in (-1e6, -10, 0, 1e6):
            ball = {"center": [number(center)], "radius": number(radius), "inverse": [[number(inverse)]]}
            for claims in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
                with pytest.raises(Rejected, match=r"radius|Krawczyk"):
                    check(document_of(SHIFTED, ball, disc, claims))


def test_a_document_by_hand_of_a_true_fixed_point_is_accepted():
    told = check(by_hand())
    assert "It is stable: 0 of 1 directions grow and 1 decay" in told
    assert WITHIN in told


def test_a_radius_widens_what_is_shown():
    """At a slope of 1/2 ± 2^−40 a disc of radius 2^−60 is too small, and at 1/2 ± 1 nothing is proved."""
    document = by_hand()
    document["eigenvalues"][0]["radius"] = "1p-30"
    document["ball"]["radius"] = document["tight_ball"]["radius"] = "1p-90"
    check(document)
    document["eigenvalues"][0]["radius"] = "1p-60"
    with pytest.raises(Rejected, match="eigenvalue 0"):
        check(document)
    put(document, ("program", 6, "radius"), "1p0")
    with pytest.raises(Rejected, match="Krawczyk"):
        check(document)


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
    "rows of unequal length": (("ball", "inverse", 0), ["1p0", "1p0"]),
    "no rows": (("ball", "inverse"), []),
    "text for a row": (("ball", "inverse", 0), "1p0"),
    "fewer eigenvectors": (("vectors", "real"), []),
    "a disc of negative radius": (("eigenvalues", 0, "radius"), "-1p0"),
    "a claim too large": (("claims", "inside"), 2),
    "a claim of more": (("claims", "stable"), 3),
    "a key of one's own": (("theorem",), "every orbit is periodic"),
    "a digest that is none": (("digest",), "0" * 63),
    "a digest of capitals": (("digest",), "A" * 64),
    "no program": (("program",), []),
    "a program that is text": (("program",), "state"),
    "a later result": (("program", 2, "reads"), [2, 1]),
    "a result counted from the end": (("program", 2, "reads"), [-1, 1]),
    "a result numbered by a truth value": (("program", 2, "reads"), [False, 1]),
    "a result numbered by a float": (("program", 2, "reads"), [0.0, 1]),
    "too many reads": (("program", 2, "reads"), [0, 0, 1]),
    "no reads": (("program", 3, "reads"), []),
    "a private name": (("program", 2), operation("_spread", 0)),
    "an operation that went": (("program", 2), operation("reciprocal", 0)),
    "a slope as an operation": (("program", 2), operation("tanh_slope", 0)),
    "a name that is a list": (("program", 2, "name"), ["tanh"]),
    "vectors that do not fit": (("program", 9), operation("add", 3, 8)),
    "an operation with numbers it does not need": (("program", 9, "values"), ["1p0"]),
    "a constant that is a matrix": (("program", 6, "values"), [["1p0"]]),
    "a matrix of too few columns": (("program", 10, "values"), [[]]),
    "a matrix of too many columns": (("program", 10, "values"), [["1p0", "1p0"]]),
    "a matrix of too many rows": (("program", 10, "values"), [["1p0"], ["1p0"]]),
    "a product with nothing": (("program", 4, "index"), []),
    "a place beyond the end": (("program", 4, "index"), [0, 2]),
    "a place from the end": (("program", 4, "index"), [0, -1]),
    "a place that is a truth value": (("program", 4, "index"), [0, True]),
    "a place that is a float": (("program", 4, "index"), [0, 1.0]),
    "a place beyond all": (("program", 4, "index"), [0, 10**30]),
    "places that are none": (("program", 4, "index"), "01"),
    "groups of nothing": (("program", 5, "length"), 0),
    "groups of less": (("program", 5, "length"), -2),
    "groups that do not divide": (("program", 4, "index"), [1, 0, 1]),
    "a group beyond the end": (("program", 5, "length"), 4),
    "half a group": (("program", 5, "length"), 0.5),
    "a radius below 0": (("program", 6, "radius"), "-1p-40"),
    "a radius that is none": (("program", 6, "radius"), 0),
    "a radius of a number": (("program", 1, "radius"), "1p-40"),
    "a huge radius": (("program", 6, "radius"), "1p900000"),
    "a large exponent": (("program", 8, "number"), "1p10"),
    "an absurd exponent": (("program", 8, "number"), "1p99999999999"),
    "an absurd exponent below 0": (("program", 8, "number"), "-1p99999999999"),
    "an exponent near 0": (("program", 8, "number"), "1p-99999999999"),
    "a broken exponent of 0": (("program", 8, "number"), "3p-1"),
    "an exponent below 0 of 0": (("program", 8, "number"), "-1p0"),
    "a logarithm of 0": (("program", 8), operation("log", 7)),
    "a root of 0": (("program", 8), operation("sqrt", 7)),
    "a quotient by 0": (("program", 8), operation("divide", 7, 7)),
    "a modulus of 0": (("program", 8), operation("abs", 7)),
    "a ReLU of 0": (("program", 8), operation("relu", 7)),
    "a modReLU of other numbers": (("program", 8), operation("modrelu", 7, values=["1p0", "1p0"])),
    "a modReLU that jumps": (("program", 8), operation("modrelu", 7, values=["1p0"])),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_certificate_may_hold_is_rejected(name, tmp_path, capsys):
    document = by_hand()
    put(document, *HOSTILE[name])
    with pytest.raises(Rejected):
        check(document)
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document))
    assert main([str(path)]) in (1, 2)
    told = capsys.readouterr()
    assert "Correct" not in told.out
    assert len((told.out + told.err).splitlines()) == 1


@pytest.mark.parametrize("key", [*certificate_check.KEYS, *certificate_check.SHOWS])
def test_a_certificate_that_lacks_something_is_none(key):
    document = by_hand()
    del document[key]
    with pytest.raises(certificate_check.Malformed):
        check(document)


# Each result is twice as long, or its numbers have twice as many digits, as the one before.
GROWING = {
    "join": [operation("join", k, k) for k in range(60)],
    "add": [operation("join", k, k) for k in range(14)] + 20 * [operation("add", 14, 14)],
    "multiply": [operation("constant", values=["1p60"]), *(operation("multiply", k, k) for k in range(1, 60))],
    "power": [operation("number", number="1p60"), *(operation("power", k, number="3ffp0") for k in range(1, 5))],
    "exp": [operation("number", number="1p60"), operation("exp", 1)],
    "cos": [operation("number", number="1p70"), operation("cos", 1)],
    "tanh": [operation("tanh", k) for k in range(3000)],
}


@pytest.mark.parametrize("name", GROWING)
def test_a_program_that_would_fill_the_memory_or_the_day_is_rejected_at_once(name):
    program = [operation("state"), *GROWING[name]]
    program.append(operation("take", len(program) - 1, index=[0]))
    ball = {"center": ["1p-30000"], "radius": "1p-30000", "inverse": [["-1p0"]]}
    if name not in ("tanh", "add"):
        ball["center"], ball["radius"] = ["1p0"], "1p-60"
    disc = {"real": "1p0", "imag": "0p0", "radius": "1p0"}
    document = document_of(program, ball, disc, (1, 0, 0))
    with pytest.raises(Rejected, match=r"beyond|work|numbers|more than") as rejected:
        check(document)
    assert judged([json.dumps(document)]) == [[False, str(rejected.value)]]


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "dynlab certificate 2", "format": "dynlab certificate 2"}',
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


def test_the_checker_of_reports_judges_as_this_one(documents):
    """The page's own, under node: it accepts the same in the same words, and rejects in the same words."""
    tampered = []
    for tamper, _ in TAMPERINGS.values():
        tampered.append(copy.deepcopy(documents["saddle"]))
        tamper(tampered[-1])
    for where, value in HOSTILE.values():
        tampered.append(by_hand())
        put(tampered[-1], where, value)
    texts = [json.dumps(document) for document in (*documents.values(), by_hand(), *tampered)]
    floats = [k for k, text in enumerate(texts) if "0.0" in text or "1.0" in text or "0.5" in text]
    for k, (text, (holds, sentence)) in enumerate(zip(texts, judged(texts), strict=True)):
        assert holds == (k <= len(documents))
        if k not in floats:  # which the page refuses as it reads them
            assert verdict_of(json.loads(text)) == sentence


def verdict_of(document):
    try:
        return check(document)
    except Rejected as error:
        return str(error)


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


def test_both_checkers_read_the_same_bytes_alike(tmp_path):
    paths = []
    for number, (content, sentence) in enumerate(BYTES.values()):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_bytes(content)
        kind, said = verdict(paths[-1])
        assert said.startswith(sentence)
        assert kind == ("Correct" if sentence == CORRECT else "Malformed")
    assert judged_files(paths) == [verdict(path) for path in paths]


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


def test_only_a_regular_file_is_opened(tmp_path, capsys):
    """A named pipe would be waited for until somebody writes into it."""
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        assert certificate_check.main([str(name)]) == 2
        assert capsys.readouterr().err == f"{name}: no certificate: it is no regular file.\n"


def test_neither_a_name_in_the_file_nor_that_of_the_file_can_pretend_a_verdict(tmp_path, capsys):
    document = by_hand()
    document["system"] = "lorenz\nother.json: Correct: all is proved"
    path = tmp_path / "a\nother.json: Correct: all is proved"
    path.write_text(json.dumps(document))
    assert main([str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_exit_codes(tmp_path, capsys):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    document = by_hand()
    good.write_text(json.dumps(document))
    document["eigenvalues"][0]["radius"] = "1p-60"
    bad.write_text(json.dumps(document))
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    assert "REJECTED" in capsys.readouterr().out
    assert main([str(tmp_path / "none.json")]) == main([]) == 2
    bad.write_text('{"format": "dynlab certificate 2"}')
    assert main([str(bad)]) == 2


FUNCTIONS = {
    "tanh": (mpmath.tanh, lambda x: mpmath.sech(x) ** 2),
    "sigmoid": (lambda x: (1 + mpmath.tanh(x / 2)) / 2, lambda x: mpmath.sech(x / 2) ** 2 / 4),
    "exp": (mpmath.exp, mpmath.exp),
    "expm1": (mpmath.expm1, mpmath.exp),
    "log": (mpmath.log, lambda x: 1 / x),
    "log1p": (mpmath.log1p, lambda x: 1 / (1 + x)),
    "sqrt": (mpmath.sqrt, lambda x: 0.5 / mpmath.sqrt(x)),
    "sin": (mpmath.sin, mpmath.cos),
    "cos": (mpmath.cos, lambda x: -mpmath.sin(x)),
    "atan": (mpmath.atan, lambda x: 1 / (1 + x * x)),
    "erf": (mpmath.erf, lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x)),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), lambda x: (1 + mpmath.tanh(x / 2)) / 2),
}
LEAST = {"log": 0, "sqrt": 0, "log1p": -1}  # arguments are above these
MOST = {"exp": 100, "expm1": 100}  # results beyond 2^200 are refused


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("radius", [0.0, 1e-9, 0.7])
def test_its_functions_enclose_theirs_tightly(name, radius):
    arithmetic = Arithmetic(200)
    drawn = np.random.default_rng(0).normal(0, 4, 20)
    places = np.concatenate([[0.0, -0.3, 13.0, 40.0, -800.0, 800.0, 1e-30, 1e5], drawn])
    least, most = LEAST.get(name, -np.inf), MOST.get(name, np.inf)
    with mpmath.workdps(120):
        for place in places[(places - radius > least) & (places < most)]:
            x, r = (int(mpmath.nint(mpmath.ldexp(mpmath.mpf(value), 200))) for value in (place, radius))
            inner = [mpmath.ldexp(x + mpmath.mpf(r) * k / 4, -200) for k in range(-4, 5)]
            for (middle, reach), truth in zip(getattr(arithmetic, name)((x, r)), FUNCTIONS[name], strict=True):
                values = [mpmath.ldexp(truth(y), 200) for y in inner]
                assert middle - reach <= min(values)
                assert max(values) <= middle + reach
                if radius == 0:
                    assert reach <= 1024 * (1 + abs(values[4]) / 2**200) ** 2


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
