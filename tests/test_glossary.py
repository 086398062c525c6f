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

# What help texts, verdicts, pages and notebooks say, and the entry that explains it.
TERMS = {
    "attractor": "Attractor",
    "ball arithmetic": "Ball arithmetic",
    "basin": "Basin",
    "basin entropy": "Basin entropy",
    "bifurcation": "Bifurcation",
    "box": "Box",
    "branch": "Branch",
    "certificate": "Certificate",
    "change of basis": "Change of basis",
    "chaos": "Chaos",
    "logarithmic norm": "Logarithmic norm",
    "to exchange runs": "Run",
    "conditional": "Conditional exponent",
    "condition": "Condition number",
    "covariant": "Covariant vector",
    "critical step": "Critical step",
    "departure from normality": "Departure from normality",
    "diffusion": "Diffusion",
    "divergence": "Divergence",
    "drift": "Drift",
    "effective rank": "Effective rank",
    "eigenvalue": "Eigenvalue",
    "eigenvector": "Eigenvalue",
    "end-to-end": "End-to-end Jacobian",
    "energy": "Energy",
    "entropy rate": "Entropy rate",
    "equilibria": "Equilibrium",
    "Euler's disc": "Euler's disc",
    "Euler's map": "Euler's map",
    "explicit midpoint": "Explicit midpoint",
    "exponential Euler": "Exponential Euler",
    "finite-time exponent": "Finite-time exponent",
    "fixed point": "Fixed point",
    "flow": "Flow",
    "gradient": "Gradient norm",
    "growing direction": "Growing direction",
    "implicit midpoint": "Implicit midpoint",
    "indices": "Index sum",
    "inner flow": "Inner iteration",
    "inner iteration": "Inner iteration",
    "iterate": "Inner iteration",
    "invariant curve": "Invariant curve",
    "Jacobian": "Jacobian",
    "Kaplan–Yorke dimension": "Kaplan–Yorke dimension",
    "Krawczyk": "Krawczyk",
    "Kreiss constant": "Kreiss constant",
    "Lyapunov exponent": "Lyapunov exponent",
    "Lyapunov function": "Lyapunov function",
    "manifold": "Stable manifold",
    "map": "Map",
    "mode": "Mode",
    "multiplier": "Multiplier",
    "nat/step": "Nat",
    "nullcline": "Nullcline",
    "numerical range": "Numerical range",
    "orbit": "Orbit",
    "participation ratio": "Participation ratio",
    "periodic orbit": "Periodic orbit",
    "principal component": "Principal component",
    "proved": "Proved",
    "pseudospectr": "Pseudospectrum",
    "read-out": "Read-out",
    "residual": "Residual",
    "resolvent": "Resolvent",
    "samples": "Sample",
    "singular value": "Singular value",
    "slopes": "Slope",
    "slow point": "Slow point",
    "spectral abscissa": "Spectral abscissa",
    "spectral radius": "Spectral radius",
    "stable": "Stable",
    "supercritical": "Supercritical",
    "tangent vector": "Tangent vector",
    "time constant": "Mode",
    "trajector": "Orbit",
    "transient growth": "Transient growth",
    "transient": "Transient",
    "undecided": "Undecided",
    "at the bound": "At the bound",
    "verified": "Verified",
    "white noise": "White noise",
}
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
}
PHRASES = {"degenerate"}  # a sentence says what it is


@pytest.fixture(scope="module")
def said():
    """What dynlab says: docstrings and sentences of its sources, and the text of pages and notebooks."""
    sources = [*(ROOT / "dynlab").rglob("*.py"), *(ROOT / "cli").glob("*.py"), *(ROOT / "figures").glob("*.*")]
    sources = [path for path in sources if path.suffix in (".py", ".toml")]
    pages = [page for page in PAGES if page.name != "glossary.md"]
    return "\n".join(path.read_text(encoding="utf-8") for path in [*sources, *pages])


@pytest.mark.parametrize("term, entry", [*TERMS.items(), *NOUNS.items(), *CHANGES.items()])
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


def test_every_entry_explains_something_that_is_said():
    used = {*TERMS.values(), *NOUNS.values(), *CHANGES.values()}
    assert set(ENTRIES) - used == {"Error", "Lipschitz constant"}  # the sign ±, and what the literature calls a norm


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_into_the_glossary_lead_to_entries(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    anchors = {"#" + re.sub(r"[^\w\- ]", "", term).lower().replace(" ", "-") for term in ENTRIES}
    found = LINK.findall(text)
    assert found or page.name in ("glossary.md", "licences.md", "release.md")  # which say nothing of networks
    assert {anchor for anchor in found if anchor} <= anchors
