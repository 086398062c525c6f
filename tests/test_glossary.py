"""The glossary: each term that dynlab says has its entry, and each entry its formula, symbol, unit and command."""

import json
import re
from pathlib import Path

import click
import pytest

from dynlab.cli.main import COMMANDS, group
from dynlab.diagnostics.bifurcation.verdict import KINDS
from dynlab.numerics import kinds

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### ([^\n]+)\n(.+?)(?=\n##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
FACTS = re.compile(r"\*Formula\* .+ · \*symbol\* .+ · \*unit\* .+ · \*command\* `dynlab (.+)`$")
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", *sorted((ROOT / "notebooks").glob("*.ipynb"))]
LINK = re.compile(r"\((?:\.\./)?(?:docs/)?glossary\.md(#[^)]*)?\)")

NOUNS = {  # of a fixed point's kind
    "center": "Center",
    "focus": "Focus",
    "improper node": "Improper node",
    "star": "Improper node",
    "node": "Node",
    kinds.SADDLE: "Saddle",
    kinds.SADDLE_FOCUS: "Saddle",
    kinds.LINE: "Continuum",
    kinds.PLANE: "Continuum",
    kinds.PERIOD_TWO_LINE: "Periodic orbit",
    kinds.PERIOD_TWO_PLANE: "Periodic orbit",
}
CHANGES = {
    "fold": "Fold",
    "flip": "Flip",
    "pitchfork": "Branch point",
    "transcritical": "Branch point",
    "Hopf": "Neimark–Sacker",
    "Neimark–Sacker": "Neimark–Sacker",
    "border collision": "Border collision",
    "continuum": "Continuum",
    "continuum of orbits": "Continuum",
}
PHRASES = {"degenerate"}  # a sentence says what it is


@pytest.fixture(scope="module")
def said():
    """Return all that dynlab says: docstrings and sentences of its sources, and the text of pages and notebooks."""
    sources = [*(ROOT / "dynlab").rglob("*.py"), *(ROOT / "cli").glob("*.py"), *(ROOT / "figures").glob("*.*")]
    sources = [path for path in sources if path.suffix in (".py", ".toml")]
    pages = [page for page in PAGES if page.name != "glossary.md"]
    return "\n".join(path.read_text(encoding="utf-8") for path in [*sources, *pages])


@pytest.mark.parametrize("term, entry", [*NOUNS.items(), *CHANGES.items()])
def test_what_dynlab_says_is_explained(term, entry, said):
    assert entry in ENTRIES
    assert term in said or term.capitalize() in said


def test_the_names_of_bifurcations_and_kinds_are_those_explained():
    assert set(KINDS) - set(PHRASES) == set(CHANGES)
    named = {value for name, value in vars(kinds).items() if name.isupper() and isinstance(value, str)}
    assert named - {kinds.UNDECIDED, kinds.NEAR} <= set(NOUNS)


@pytest.mark.parametrize("term", ENTRIES)
def test_an_entry_is_sentences_and_its_facts(term):
    text, blank, facts = ENTRIES[term].strip().partition("\n\n")
    assert blank
    assert 1 <= len(re.findall(r"[.:;](?: |$)", text)) <= 6
    found = FACTS.fullmatch(facts)
    assert found
    name, *rest = found[1].split()
    assert name in COMMANDS
    command = group.get_command(click.Context(group), name)
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= options


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_into_the_glossary_lead_to_entries(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    anchors = {"#" + re.sub(r"[^\w\- ]", "", term).lower().replace(" ", "-") for term in ENTRIES}
    found = LINK.findall(text)
    assert found or page.name in ("glossary.md", "licences.md", "release.md")  # which say nothing of networks
    assert {anchor for anchor in found if anchor} <= anchors
