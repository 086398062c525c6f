"""Every claim has a verdict computed from what is kept, and the pages are what the tables say."""

import re
from pathlib import Path

import numpy as np
import pytest

from dynlab import zoo
from dynlab.diagnostics.ernn.spectrum import EPS
from dynlab.errors import lookup
from dynlab.figures import FIGURES, TABLES, claims
from dynlab.figures.accuracies import outcomes
from dynlab.figures.ernn_5 import NETWORKS, PAIRS, pattern_eigenvalues, stratified
from dynlab.figures.kept import kept, same
from dynlab.figures.measures_of_tables import published_speed_ups
from dynlab.figures.pages import audit_page, tables_page
from dynlab.systems import frozen

DOCS = Path(__file__).parents[2] / "docs"
README = Path(__file__).parents[2] / "figures" / "gallery" / "README.md"
HOLDS, CONDITION, FAILS, UNDECIDED, NOT_RUN = claims.VERDICTS
CLAIMS = {claim["name"]: claim for claim in claims.claims()}
AGAIN = {claim["measure"]: name for name, claim in CLAIMS.items() if "measure" in claim}
# What a row of the audit says beyond the figure that repeats it.
ADDED = {
    "theorem-1": {-17.8},  # the middle singular value, of the figure's Dataset
    "theorem-2": {0.81},  # the dense network's ‖PU‖ = 0.9²
}
# What the sources' claims come to whatever trainings are finished.
KNOWN = {
    HOLDS: "imaginary surpasses-fastgrnn",
    CONDITION: "manifold fastrnn lemma-1 frozen-saturation theorem-1 theorem-2 corollary-1 ernn-figure-2",
    FAILS: "gated proposition-1 proposition-2 critical-step imply scalar-gamma near-identity lemma-2 noise "
    "surpassed-fastrnn always-smaller table-1 table-6 speed-ups full-derivative",
    UNDECIDED: "ernn-4 ernn-5",
}


@pytest.fixture(scope="module")
def made():
    return claims.table()


@pytest.fixture(scope="module")
def rows(made):
    return dict(zip(CLAIMS, made.rows, strict=True))


def test_every_claim_has_a_verdict_a_measurement_and_a_command(rows):
    for _, words, found, verdict, command in rows.values():
        assert verdict in claims.VERDICTS
        assert words.endswith((".", "”"))
        assert verdict == NOT_RUN or any(letter.isdigit() for letter in found)
        assert command.startswith(("`dynlab ", "`python "))


@pytest.mark.parametrize("verdict", KNOWN)
def test_the_verdicts_that_no_training_changes(verdict, rows):
    assert {name for name in KNOWN[verdict].split() if rows[name][3] != verdict} == set()


@pytest.mark.parametrize("page", ["audit", "tables"])
def test_the_pages_are_what_the_tables_say(page, made):
    """After trainings were added: `make pages`."""
    text = audit_page(made) if page == "audit" else tables_page({n: lookup(TABLES, n, "table")() for n in TABLES})
    assert (DOCS / f"{page}.md").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", AGAIN.values())
def test_the_kept_numbers_are_computed_again(name):
    found = claims.measure([CLAIMS[name]])["numbers"]
    numbers = kept("audit")["numbers"]
    chosen = numbers["value"].values[np.isin(numbers["number"].values, found["number"].values)]
    np.testing.assert_allclose(chosen, found["value"].values, rtol=1e-6, atol=1e-9)


def test_nothing_is_kept_that_no_claim_measures_and_no_figure_draws():
    names = {str(name).partition(".")[0] for name in kept("audit")["numbers"]["number"].values}
    assert names == {name for name, claim in CLAIMS.items() if "measure" in claim}
    files = {path.name.partition(".")[0] for path in (README.parents[1] / "kept").iterdir()}
    assert files - set(FIGURES) == {"audit", "ernn-table-1", "speed", "trainings"}


@pytest.mark.parametrize("claim", [one for one in CLAIMS if CLAIMS[one]["command"].startswith("dynlab figure ")])
def test_the_numbers_of_a_claim_are_those_of_the_figure_that_repeats_it(claim, rows):
    """Up to rounding to fewer digits; minus signs are those of exponents."""
    section = README.read_text(encoding="utf-8").partition(f"`{CLAIMS[claim]['command']}`")[2].partition("\n## ")[0]
    there = numbers(section.replace("<sup>", ""))
    for text, value in zip(re.findall(r"[−-]?\d+\.\d+", rows[claim][2]), numbers(rows[claim][2]), strict=True):
        digits = len(text.partition(".")[2])
        assert value in ADDED.get(claim, ()) or any(abs(one - value) < 0.51 * 10**-digits for one in there), text


def numbers(text):
    return [float(one.replace("−", "-")) for one in re.findall(r"[−-]?\d+\.\d+", text)]


def test_theorem_1_is_judged_from_the_products_that_the_zoo_keeps(rows):
    last = kept("zoo")["ernn-har2-k5.end_to_end"]["log_singular_value"].values[:, -1]
    largest, middle = np.median(last[:, 0]), np.median(last[:, last.shape[1] // 2])
    surviving = int(np.median((last >= np.log(0.1)).sum(axis=1)))
    assert f"e^{largest:.2f}, middle one e^−{-middle:.1f}; {surviving} of 80 directions" in rows["theorem-1"][2]


def test_speed_ups_are_quotients_of_the_papers_own_hours():
    """FastRNN's hours over those of the most accurate ERNN: of Pixel-MNIST the faster of two that are equal."""
    assert published_speed_ups() == pytest.approx(
        {
            "HAR-2": 0.063 / 0.018,
            "DSA-19": 0.032 / 0.015,
            "Google-12": 0.61 / 0.17,
            "Google-30": 1.30 / 0.44,
            "Pixel-MNIST": 15.10 / 2.93,
            "Yelp-5": 3.61 / 1.16,
        }
    )


@pytest.mark.parametrize(
    "meanings, verdict",
    [
        (["not run", "not run"], NOT_RUN),
        (["not run", "not reached either way"], UNDECIDED),
        (["not complete", "not run"], NOT_RUN),
        (["not reached either way, one seed", "not reached either way"], UNDECIDED),
        (["diverged", "not reached either way"], UNDECIDED),
        (["not reached either way", "explained by choosing on test"], FAILS),
        (["reached without choosing on test", "not reached either way"], CONDITION),
        (["reached without choosing on test", "reached at the last epoch, without choosing"], HOLDS),
    ],
)
def test_a_table_is_judged_by_what_was_repeated(meanings, verdict):
    assert claims.verdict(CLAIMS["ernn-4"]["verdict"], outcomes(meanings)) == verdict


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
    ds = claims.measure([CLAIMS["imply"]])["numbers"]
    assert same(ds, ds.assign(value=ds["value"] * (1 + 1e-12)).assign_attrs(created="later"))
    assert not same(ds, ds.assign(value=ds["value"] * (1 + 1e-3)))
    assert not same(ds, ds.rename(value="other"))
