"""Every claim has a verdict with a measurement, the page is what the table says, and the numbers can be had again."""

from pathlib import Path

import numpy as np
import pytest

from dynlab import zoo
from dynlab.diagnostics.ernn.spectrum import EPS
from dynlab.errors import lookup
from dynlab.gallery import TABLES, audit
from dynlab.gallery.audit.claim import NOT_RUN, VERDICTS
from dynlab.gallery.ernn_5 import NETWORKS, PAIRS, pattern_eigenvalues, stratified
from dynlab.gallery.kept import kept, same
from dynlab.gallery.made import audit_page, tables_page
from dynlab.systems import frozen

DOCS = Path(__file__).parents[2] / "docs"
AGAIN = ("proposition-1", "critical-step", "imply", "fastrnn", "frozen-saturation", "expressivity", "ernn-figure-2")
# What the sources' claims come to whatever trainings are finished.
KNOWN = {
    "imaginary": "holds",
    "gated": "does not hold",
    "proposition-1": "does not hold",
    "proposition-2": "does not hold",
    "critical-step": "does not hold",
    "imply": "does not hold",
    "scalar-gamma": "does not hold",
    "manifold": "holds under a condition that is stated",
    "near-identity": "does not hold",
    "fastrnn": "holds under a condition that is stated",
    "lemma-1": "holds under a condition that is stated",
    "lemma-2": "does not hold",
    "noise": "does not hold",
    "surpassed-fastrnn": "does not hold",
    "surpasses-fastgrnn": "holds",
    "always-smaller": "does not hold",
    "table-1": "does not hold",
    "table-6": "does not hold",
    "frozen-saturation": "does not hold",
    "full-derivative": "does not hold",
}


@pytest.fixture(scope="module")
def made():
    return audit.table()


def test_every_claim_has_a_verdict_a_measurement_and_a_command(made):
    assert len({claim.name for claim in audit.CLAIMS}) == len(audit.CLAIMS) == len(made.rows)
    for _, words, found, verdict, command in made.rows:
        assert verdict in VERDICTS
        assert words.endswith((".", "”"))
        assert verdict == NOT_RUN or any(letter.isdigit() for letter in found)
        assert command.startswith(("`dynlab ", "`python ", "`make "))


def test_the_verdicts_that_no_training_changes(made):
    verdicts = {claim.name: row[3] for claim, row in zip(audit.CLAIMS, made.rows, strict=True)}
    assert {name: verdicts[name] for name in KNOWN} == KNOWN


@pytest.mark.parametrize("page", ["audit", "tables"])
def test_the_pages_are_what_the_tables_say(page, made):
    """After trainings were added: `make pages`."""
    text = audit_page(made) if page == "audit" else tables_page({n: lookup(TABLES, n, "table")() for n in TABLES})
    assert (DOCS / f"{page}.md").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", AGAIN)
def test_the_kept_numbers_are_computed_again(name):
    claims = [claim for claim in audit.CLAIMS if claim.name == name]
    found = audit.measure(claims)["numbers"]
    numbers = kept("audit", dict)["numbers"]
    chosen = numbers["value"].values[np.isin(numbers["number"].values, found["number"].values)]
    np.testing.assert_allclose(chosen, found["value"].values, rtol=1e-6, atol=1e-9)


def test_eigenvalues_of_a_pattern_are_those_of_the_whole_matrix():
    system = zoo.load(NETWORKS["k3"])
    generator = np.random.default_rng(1)
    active = generator.random((6, system.state_size)) < np.array([0.9, 0.6, 0.4, 0.2, 0.1, 0.02])[:, None]
    real, zeros, minus = pattern_eigenvalues(system, active)
    matrix = frozen(system).recurrent_matrix().detach().numpy()
    for index, pattern in enumerate(active):
        whole = np.linalg.eigvals(pattern[:, None] * matrix - np.eye(len(matrix))).real
        small = real[index][np.isfinite(real[index])]
        rebuilt = np.concatenate([small, np.zeros(zeros[index]), -np.ones(minus[index])])
        assert len(rebuilt) == len(whole)
        np.testing.assert_allclose(np.sort(rebuilt), np.sort(whole), atol=1e6 * EPS * np.linalg.norm(matrix))


def test_pairs_are_spread_evenly_over_the_steps():
    chosen = stratified(10_299, 128, PAIRS)
    assert chosen.shape == (156, 128)
    assert all(len(set(column)) == len(column) for column in chosen.T)


def test_datasets_that_differ_by_rounding_are_the_same():
    ds = audit.measure([claim for claim in audit.CLAIMS if claim.name == "imply"])["numbers"]
    assert same(ds, ds.assign(value=ds["value"] * (1 + 1e-12)).assign_attrs(created="later"))
    assert not same(ds, ds.assign(value=ds["value"] * (1 + 1e-3)))
    assert not same(ds, ds.rename(value="other"))
