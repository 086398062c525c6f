"""The independent checker accepts what is proved and nothing that was forged; its arithmetic encloses."""

import copy
import functools
import itertools
import json
import operator
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
from certificates import DRAWN, MAKERS, at, by_hand, document_of, make, operation, put, times
from node import judged, judged_files

from dynlab import certificate_check
from dynlab.certificate_check import Arithmetic, Rejected, check, load, main
from dynlab.proofs.document import written
from dynlab.systems import from_function

WITHIN = "So has each step whose numbers are within the radii"


@pytest.fixture(scope="module")
def documents():
    return {name: make(name) for name in MAKERS}


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
    assert all("It is stable" in told[name] for name in ("stable", "lstm", "relu", "jordan", "by hand"))
    assert {name for name, line in told.items() if WITHIN in line} == {"fastgrnn", "asrnn", "urnn", "by hand"}
    for name in ("relu", *DRAWN):  # which a held input moves from 0
        assert any(int(text.split("p")[0], 16) for text in documents[name]["ball"]["center"])


# --- forgeries -----------------------------------------------------------------------------------------------------

GONE = object()


def by(factor, exponent=0):
    return functools.partial(times, factor=factor, exponent=exponent)


turned, shorter = operator.itemgetter(slice(None, None, -1)), operator.itemgetter(slice(None, -1))
# What is changed in the certificate of the saddle, and what is wrong then.
TAMPERED = [
    ({"ball radius": by(1, -10)}, "Krawczyk"),
    ({"ball radius": by(1, 140)}, "Krawczyk"),
    ({"ball center 0": by(2**15 + 1, -15), "tight_ball center 0": by(2**15 + 1, -15)}, "Krawczyk"),
    ({"program linear values 0 0": by(2**20 + 1, -20)}, "Krawczyk"),
    ({"program linear values 0 0": by(2**20 + 1, -20), "digest": 64 * "0"}, "digest"),
    ({"program linear radius": "1p0"}, "Krawczyk"),
    ({"tight_ball inverse": turned}, "Krawczyk"),
    ({"vectors real": turned}, "inverse of the eigenvectors"),
    ({"eigenvalues 0 radius": "1p-500"}, "eigenvalue 0"),
    ({"eigenvalues 0 real": "1p1"}, "eigenvalue 0"),
    ({"claims outside": 3, "claims inside": 0}, "eigenvalues are shown"),
    ({"ball center": shorter}, "fit|numbers|lengths"),
    ({"eigenvalues": shorter}, "discs"),
    ({"precision": 10**400}, "8192 bits"),
    ({"ball center 0": "1p-1000000000"}, "8192 bits"),
    ({"format": "dynlab certificate 0"}, "format"),
]
NUMBERS = ["1Fp0", "0x1fp0", "1_0p0", " 1p0", "1p0\n", "+1p0", "\u0661p0", "1p0p0", "1", "nan", 0.0, 0]
# What no certificate may hold at a place of the one by hand.
HOSTILE = {
    "ball radius": ["-1p-20", None],
    "tight_ball radius": ["0p0"],
    "ball center 0": [*NUMBERS, 30_000 * "0" + "1p-1"],
    "ball inverse 0 0": ["1p" + 25 * "9", "1p999999999999", 250_000 * "f" + "p0"],
    "ball inverse 0": [["1p0", "1p0"], "1p0"],
    "ball inverse": [[]],
    "size": [True, 0, 2],
    "precision": [0, -128, 2**15 - 1],
    "vectors real": [[]],
    "eigenvalues 0 radius": ["-1p0"],
    "claims outside": [False],
    "claims inside": [2],
    "claims stable": [3],
    "theorem": ["every orbit is periodic"],
    "digest": [63 * "0", 64 * "A"],
    "program": [[], "state"],
    "program 2 reads": [[2, 1], [-1, 1], [False, 1], [0.0, 1], [0, 0, 1]],
    "program 3 reads": [[]],
    "program 2": [operation(name, 0) for name in ("_spread", "reciprocal", "tanh_slope", "relish")],
    "program 2 name": [["tanh"]],
    "program 9": [operation("add", 3, 8)],
    "program 9 values": [["1p0"]],
    "program 6 values": [[["1p0"]]],
    "program 10 values": [[[]], [["1p0", "1p0"]], [["1p0"], ["1p0"]]],
    "program 4 index": [[], [0, 2], [0, -1], [0, True], [0, 1.0], [0, 10**30], "01", [1, 0, 1]],
    "program 5 length": [0, -2, 4, 0.5],
    "program 6 radius": ["-1p-40", 0, "1p900000"],
    "program 1 radius": ["1p-40"],
    "program 8 number": ["1p10", "1p99999999999", "-1p99999999999", "1p-99999999999", "3p-1", "-1p0"],
    # at the fixed point 0: infinite, or with a slope that is no number
    "program 8": [
        *(operation(name, 7) for name in ("log", "sqrt", "abs", "relu")),
        operation("divide", 7, 7),
        operation("modrelu", 7, values=["1p0", "1p0"]),
        operation("modrelu", 7, values=["1p0"]),
    ],
    **{key: [GONE] for key in [*certificate_check.KEYS, *certificate_check.SHOWS]},
}
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


def growing(name):
    """What would fill the memory or the day."""
    program = [operation("state"), *GROWING[name]]
    program.append(operation("take", len(program) - 1, index=[0]))
    center, radius = ("1p-30000", "1p-30000") if name in ("tanh", "add") else ("1p0", "1p-60")
    ball = {"center": [center], "radius": radius, "inverse": [["-1p0"]]}
    return {"program": program, "ball": ball, "tight_ball": ball}


FORGERIES = [
    *(("saddle", changes, sentence) for changes, sentence in TAMPERED),
    *(("by hand", {where: value}, None) for where, values in HOSTILE.items() for value in values),
    *(("by hand", growing(name), "beyond|work|numbers|more than") for name in GROWING),
]


def forged(documents, name, changes):
    document = copy.deepcopy(documents[name])
    for where, value in changes.items():
        path = [int(key) if key.isdigit() else key for key in where.split()]
        if path[1:2] == ["linear"]:
            path[1] = next(k for k, each in enumerate(document["program"]) if each["name"] == "linear")
        if value is GONE:
            del document[where]
        else:
            put(document, path, value(at(document, path)) if callable(value) else value)
    return document


@pytest.mark.parametrize("name, changes, sentence", FORGERIES, ids=["+".join(changes) for _, changes, _ in FORGERIES])
def test_what_is_forged_is_rejected(name, changes, sentence, documents):
    with pytest.raises(Rejected, match=sentence):
        check(forged(documents, name, changes))


def test_the_checker_of_reports_judges_as_this_one(documents):
    """The page's own, under node: it accepts the same in the same words, and rejects in the same words."""
    texts = [json.dumps(document) for document in documents.values()]
    texts += [json.dumps(forged(documents, name, changes)) for name, changes, _ in FORGERIES]
    for k, (text, (kind, sentence)) in enumerate(zip(texts, judged(texts), strict=True)):
        assert (kind == "Correct") == (k < len(documents))
        if not any(number in text for number in ("0.0", "1.0", "0.5")):  # which the page refuses as it reads them
            assert verdict(lambda text=text: json.loads(text))[1] == sentence


def verdict(read):
    """What Python's checker says of a document, as `node.judged_files` tells it."""
    try:
        return ["Correct", check(read())]
    except Rejected as error:
        return [type(error).__name__, str(error)]


def number(value):
    numerator, denominator = float(value).as_integer_ratio()
    return f"{numerator:x}p{1 - denominator.bit_length()}"


def test_no_ball_proves_a_fixed_point_of_a_map_without_one():
    above = from_function(lambda h, x: h + 0.1 * torch.tanh(h) + 0.11, 1)
    shifted = written(above.program(torch.zeros(0)))
    disc = {"real": "1p0", "imag": "0p0", "radius": "1p40"}
    radii, inverses = (-1, -1e-3, -1e6, 0, 1e-3, 1, 1e6), (-1e6, -10, 0, 1e6)
    for center, radius, inverse in itertools.product((-2, 0, 3), radii, inverses):
        ball = {"center": [number(center)], "radius": number(radius), "inverse": [[number(inverse)]]}
        with pytest.raises(Rejected, match=r"radius|Krawczyk"):
            check(document_of(shifted, ball, disc, (0, 0, 1)))


# --- files ---------------------------------------------------------------------------------------------------------


def with_source(written):
    """The bytes of a correct certificate whose source is written so."""
    return json.dumps(by_hand()).encode().replace(b'"source": null', b'"source": ' + written)


def nested(depth, opening=b"[", closing=b"]"):
    return depth * opening + b"1" + depth * closing


INSIDE = certificate_check.MOST_DEPTH - 1  # of the document, which is an object itself
AT_REST = with_source(b"null")
BYTES = {
    "Correct: the step": [
        with_source('"\u00fc\U0001f600"'.encode()),
        with_source(nested(INSIDE, b'{"a":', b"}")),
        with_source(b"-" + 4300 * b"9"),
        with_source(b'"' + 100_000 * rb"\\\"\u00e9" + b'"'),
    ],
    "it is no JSON that can be read": [
        *(with_source(text) for text in (b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\xc3"', rb'"\x41"', b'"\\', b'"\n"')),
        *(with_source(text) for text in (b"1.", b"1e+", 4301 * b"9", b"-" + 4301 * b"9")),
        b"\xef\xbb\xbf" + AT_REST,
        b"",
    ],
    f"lists and objects stand more than {certificate_check.MOST_DEPTH} deep in one another": [
        with_source(nested(INSIDE + 1, b'{"a":', b"}")),
        AT_REST.replace(b'"reads": []', b'"reads": ' + nested(1000)),
        100_000 * b"[",
        100_000 * b'{"a":',
    ],
    "a number is written with a point or an exponent of 10, or is none": [
        with_source(text) for text in (b"1.5", b"-1E+5", b"[0.5e-5]", b"NaN", b"-Infinity")
    ],
    "": [b'{"format": "a", "format": "a"}', b'{"size": ' + 5000 * b"9" + b"}", b"[]", b"null", b'"Correct"'],
}


def test_both_checkers_read_the_same_bytes_alike(tmp_path, capsys):
    paths, told = [], []
    for sentence, content in [(sentence, each) for sentence, several in BYTES.items() for each in several]:
        paths.append(tmp_path / f"{len(paths)}.json")
        paths[-1].write_bytes(content)
        told.append(verdict(lambda path=paths[-1]: load(str(path))))
        kind, said = told[-1]
        assert said.startswith(sentence)
        assert kind == ("Correct" if sentence.startswith("Correct") else "Malformed")
        assert main([str(paths[-1])]) == (0 if kind == "Correct" else 2)
        assert len("".join(capsys.readouterr()).splitlines()) == 1
    assert judged_files(paths) == told


def test_both_checkers_read_files_up_to_the_same_length(tmp_path):
    path = tmp_path / "file.json"
    for more, kind in ((0, "Correct"), (1, "Malformed")):
        path.write_bytes(AT_REST + (certificate_check.MOST_BYTES + more - len(AT_REST)) * b" ")
        found = verdict(lambda: load(str(path)))
        assert [found] == judged_files([path])
        assert found[0] == kind
    path.unlink()  # it is too large to be kept


def test_only_a_regular_file_is_opened(tmp_path, capsys):
    """A named pipe would be waited for until somebody writes into it."""
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        assert main([str(name)]) == 2
        assert capsys.readouterr().err == f"{name}: no certificate: it is no regular file.\n"


def test_exit_codes_and_one_line_a_file_whatever_names_pretend(tmp_path, capsys):
    good, bad = tmp_path / "a\nother.json: Correct: all is proved", tmp_path / "bad.json"
    good.write_bytes(AT_REST.replace(b"by hand", rb"lorenz\nother.json: Correct: all is proved"))
    bad.write_bytes(AT_REST.replace(b'"1p-8"', b'"1p-60"'))
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 3
    assert "REJECTED" in told[-1]
    assert main([str(tmp_path / "none.json")]) == 2


# --- arithmetic ----------------------------------------------------------------------------------------------------

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


def test_a_number_of_the_file_lies_in_its_interval():
    mantissas, exponents = (0, 1, -1, 3, -5, 2**80 + 1, -(2**80) - 1), (-(10**17), -200, -129, -128, -127, -60, 0, 7)
    for mantissa, exponent in itertools.product(mantissas, exponents):
        middle, radius = Arithmetic(128).read((mantissa, exponent))
        truth = Fraction(mantissa) * (Fraction(2) ** max(exponent + 128, -(10**4)))
        assert middle - radius <= truth <= middle + radius
        assert radius <= (truth.denominator > 1)
