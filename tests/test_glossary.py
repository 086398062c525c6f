"""The glossary explains every kind of point and of bifurcation that a verdict can name, and each word once."""

import re
from pathlib import Path

from dynlab.diagnostics.bifurcation.variables import LONG as KINDS
from dynlab.numerics import kinds

PAGE = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_no_word_has_two_entries():
    entries = re.findall(r"^- \*\*([^*]+)\*\*: .+$", PAGE, re.MULTILINE)
    assert len(set(entries)) == len(re.findall(r"^- ", PAGE, re.MULTILINE))


def test_kinds_of_points_and_bifurcations_are_explained():
    named = {value for name, value in vars(kinds).items() if name.isupper() and isinstance(value, str)}
    said = {*named, *KINDS} - {kinds.UNDECIDED, kinds.NEAR}
    assert {name for name in said if name.lower() not in PAGE.lower()} == set()
