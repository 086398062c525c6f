"""The verdicts of standard cases, word by word: tests/verdicts/<diagnostic>.txt keeps them, one sentence a line.

DYNLAB_VERDICTS=write python -m pytest tests/test_verdicts.py writes the files anew. Read what changed.
"""

import os
import re
from pathlib import Path

import pytest
from public_names import DIAGNOSTICS
from small_results import call, planar

import dynlab as dl

FOLDER = Path(__file__).with_name("verdicts")
WRITE = os.environ.get("DYNLAB_VERDICTS") == "write"
NUMBER = re.compile(r"(?<![\w.])[−-]?\d[\d,]*(?:\.\d+)?(?:e[−+-]?\d+)?")  # but those of names such as h_0
ROUNDING = 1e-9  # numbers up to this are errors, of which no two machines have the same
SENTENCE = re.compile(r"(?<=[.!?]) (?=[^a-z\d(])")


def van_der_pol():
    return dl.EquationFlow("y, -x + mu*y*(1 - x^2)", mu=1)


# Beside the small network of each diagnostic: a name, the system and other arguments.
CASES = {
    "phase_plane": [
        ("the flow of W_0", lambda: planar("zero", "flow"), {"steps": 50}),
        ("van der Pol", van_der_pol, {}),
    ],
    "fixed_points": [
        ("the flow of W_diff", lambda: planar("diff", "flow"), {"starts": 16}),
        ("Euler's map of W_diff", lambda: planar("diff"), {"starts": 16}),
        ("Hénon", lambda: dl.create("henon"), {"starts": 32}),
    ],
    "lyapunov": [
        ("Hénon", lambda: dl.create("henon"), {"steps": 2000}),
        ("logistic at r = 3.2", lambda: dl.create("logistic", r=3.2), {"steps": 1000}),
    ],
    "basins": [
        ("W_plus", lambda: planar("plus"), {"grid": 5, "steps": 100}),
    ],
    "bifurcation": [
        (
            "logistic",
            lambda: dl.create("logistic"),
            {"parameter": "r", "lowest": 2.5, "highest": 3.2, "values": 0, "starts": 16},
        )
    ],
    "pseudospectrum": [("h' = tanh(W h), not normal", lambda: dl.EquationFlow("-x + 10*y, -2*y"), {"grid": 15})],
    "energy": [("W_diff", lambda: planar("diff"), {"steps": 50, "integrators": ("euler",)})],
    "stability": [("W_diff", lambda: planar("diff"), {"times": 1})],
    "modes": [("Euler's map of W_diff", lambda: planar("diff"), {"starts": 8})],
    "lyapunov_function": [("Euler's map of W_diff", lambda: planar("diff"), {"starts": 8})],
}


def verdicts(name):
    """Return the text of a diagnostic's file."""
    compute = getattr(dl, name)
    positional, keywords = call(name)
    found = {"a small network": compute(*positional, **keywords)}
    for case, system, options in CASES.get(name, []):
        found[case] = compute(system(), **options)
    return "\n".join(f"== {case}\n" + SENTENCE.sub("\n", ds.attrs["verdict"]) + "\n" for case, ds in found.items())


def numbers_in(text):
    """Return every number in its order; a power of e is its exponent."""
    return [float(found.replace("−", "-").replace(",", "")) for found in NUMBER.findall(text.replace("e^", " "))]


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_verdicts_are_those_that_are_kept(name):
    if name in ("lyapunov_function", "box_bounds"):
        pytest.importorskip("flint")
    path, found = FOLDER / f"{name}.txt", verdicts(name)
    if WRITE:
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    assert NUMBER.sub("#", found) == NUMBER.sub("#", kept)
    for new, old in zip(numbers_in(found), numbers_in(kept), strict=True):
        assert new == pytest.approx(old, rel=0.02, abs=ROUNDING)


def test_every_file_is_of_a_diagnostic():
    assert {path.stem for path in FOLDER.iterdir()} == set(DIAGNOSTICS)
