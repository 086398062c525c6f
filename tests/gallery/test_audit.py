"""Every claim has a verdict with a measurement, the page is what the table says, and the numbers can be had again."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from dynlab import zoo
from dynlab.diagnostics.ernn.spectrum import EPS
from dynlab.errors import lookup
from dynlab.gallery import TABLES, accuracies, audit
from dynlab.gallery.audit.antisymmetric import of_table
from dynlab.gallery.audit.claim import CONDITION, FAILS, HOLDS, NOT_RUN, UNDECIDED, VERDICTS, nothing
from dynlab.gallery.audit.ernn_tables import published_speed_ups
from dynlab.gallery.ernn_5 import NETWORKS, PAIRS, pattern_eigenvalues, stratified
from dynlab.gallery.kept import kept, same
from dynlab.gallery.made import audit_page, tables_page
from dynlab.systems import frozen

DOCS = Path(__file__).parents[2] / "docs"
README = Path(__file__).parents[2] / "figures" / "gallery" / "README.md"
AGAIN = tuple({claim.measure: claim.name for claim in audit.CLAIMS if claim.measure is not nothing}.values())
# What a row of the audit says beyond the figure that repeats it.
ADDED = {
    "theorem-1": {-17.8},  # the middle singular value, of the figure's Dataset
    "theorem-2": {0.81},  # the dense network's ‖PU‖ = 0.9²
}
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
    "frozen-saturation": "holds under a condition that is stated",
    "theorem-1": "holds under a condition that is stated",
    "theorem-2": "holds under a condition that is stated",
    "speed-ups": "does not hold",
    "ernn-4": "cannot be decided",
    "ernn-5": "cannot be decided",
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


def test_nothing_is_kept_that_no_claim_measures():
    names = {str(name).partition(".")[0] for name in kept("audit", dict)["numbers"]["number"].values}
    assert names == {claim.name for claim in audit.CLAIMS if claim.measure is not nothing}


def sections():
    """Numbers with decimals of each section of the gallery's page, by the figure's name."""
    parts = README.read_text(encoding="utf-8").split("\n## ")[1:]
    return {part.split("`dynlab figure ")[1].split("`")[0]: numbers(part.replace("<sup>", "")) for part in parts}


def numbers(text):
    return [float(one.replace("−", "-")) for one in re.findall(r"[−-]?\d+\.\d+", text)]


@pytest.mark.parametrize("claim", [one for one in audit.CLAIMS if one.command.startswith("dynlab figure ")])
def test_the_numbers_of_a_claim_are_those_of_the_figure_that_repeats_it(claim, made):
    """Up to rounding to fewer digits; minus signs are those of exponents."""
    found = next(row[2] for one, row in zip(audit.CLAIMS, made.rows, strict=True) if one is claim)
    there = sections()[claim.command.rpartition(" ")[2]]
    texts = re.findall(r"[−-]?\d+\.\d+", found)
    for text, value in zip(texts, numbers(found), strict=True):
        digits = len(text.partition(".")[2])
        assert value in ADDED.get(claim.name, ()) or any(abs(one - value) < 0.51 * 10**-digits for one in there), text


def test_theorem_1_is_judged_from_the_products_that_the_zoo_keeps(made):
    found = {claim.name: row[2] for claim, row in zip(audit.CLAIMS, made.rows, strict=True)}["theorem-1"]
    last = kept("zoo", dict)["ernn-har2-k5.end_to_end"]["log_singular_value"].values[:, -1]
    largest, middle = np.median(last[:, 0]), np.median(last[:, last.shape[1] // 2])
    surviving = int(np.median((last >= np.log(0.1)).sum(axis=1)))
    assert f"e^{largest:.2f}, middle one e^−{-middle:.1f}; {surviving} of 80 directions" in found


def test_theorem_2_is_judged_from_the_iterates_that_figure_6_keeps(made):
    found = {claim.name: row[2] for claim, row in zip(audit.CLAIMS, made.rows, strict=True)}["theorem-2"]
    trained = kept("ernn-6", dict)["trained"]
    values = trained["theorem2"].values[np.isfinite(trained["theorem2"].values)]
    assert f"{100 * (values < 1).mean():.1f} % of the iterates of ernn-har2-k5" in found
    assert f"at {(trained['equilibria'].values == 1).sum()} of 16 steps" in found


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
        (["not complete", "not reached either way"], UNDECIDED),
        (["not reached either way, one seed", "not reached either way"], UNDECIDED),
        (["diverged", "not reached either way"], UNDECIDED),
        (["reached at the last epoch, without choosing, one seed"], UNDECIDED),
        (["not reached either way", "explained by choosing on test"], FAILS),
        (["reached without choosing on test", "not reached either way"], CONDITION),
        (["reached without choosing on test", "reached at the last epoch, without choosing"], HOLDS),
    ],
)
def test_a_table_is_judged_by_what_was_repeated(meanings, verdict, monkeypatch):
    ds = xr.Dataset({"meaning": ("network", meanings)}, attrs={"verdict": "said"})
    monkeypatch.setattr("dynlab.gallery.audit.antisymmetric.accuracies.measured", lambda *_: ds)
    assert of_table(accuracies.ernn_4) == (verdict, "said")


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
