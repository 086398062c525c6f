"""Every claim has a verdict computed from what is kept, and the pages are what the tables say."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from dynlab.errors import lookup
from dynlab.figures import FIGURES, TABLES, claims
from dynlab.figures.measures_of_tables import published_speed_ups
from dynlab.figures.pages import audit_page
from dynlab.figures.scripts import kept

ROOT = Path(__file__).parents[2]
README = (ROOT / "figures" / "gallery" / "README.md").read_text(encoding="utf-8")
CLAIMS = {claim["name"]: claim for claim in claims.claims()}
AGAIN = {claim["measure"]: name for name, claim in CLAIMS.items() if "measure" in claim}
NEEDS_DATA = {"asrnn:norm", "ernn:noise"}
# What a row of the audit says beyond the figure that repeats it.
ADDED = {
    "theorem-1": {-17.8},  # the middle singular value, of the figure's Dataset
    "theorem-2": {0.81},  # the dense network's ‖PU‖ = 0.9²
    "huber": {0.025},  # the tutorial's β
    "implicit": {0.9666},  # 1/|1 − ελ| with λ = −0.15 ± 2i
}


@pytest.fixture(scope="module")
def made():
    return lookup(TABLES, "audit", "table")()


def test_every_claim_has_a_verdict_a_measurement_and_a_command(made):
    for _, words, found, verdict, command in made.rows:
        assert verdict in claims.VERDICTS
        assert words.endswith((".", "”"))
        assert "nan" not in found
        assert verdict == "not run" or any(letter.isdigit() for letter in found)
        assert command.startswith(("`dynlab ", "`python "))


def test_the_page_is_what_the_table_says(made):
    """After trainings were added: `make pages`."""
    assert (ROOT / "docs" / "audit.md").read_text(encoding="utf-8") == audit_page(made)


@pytest.mark.parametrize("measure", AGAIN)
def test_the_kept_numbers_are_computed_again(measure):
    if measure in NEEDS_DATA and "DYNLAB_DATA" not in os.environ:
        pytest.skip("needs MNIST")
    name = AGAIN[measure]
    found = claims.measure([CLAIMS[name]])["numbers"]
    numbers = kept("audit")["numbers"]
    chosen = numbers["value"].values[np.isin(numbers["number"].values, found["number"].values)]
    np.testing.assert_allclose(chosen, found["value"].values, rtol=1e-6, atol=1e-9)


def test_nothing_is_kept_that_no_claim_measures_and_no_figure_draws():
    names = {str(name).partition(".")[0] for name in kept("audit")["numbers"]["number"].values}
    assert names == {name for name, claim in CLAIMS.items() if "measure" in claim}
    files = {path.name.partition(".")[0] for path in (ROOT / "figures" / "kept").iterdir()}
    assert files - set(FIGURES) == {"audit", "ernn-table-1", "speed", "trainings"}


@pytest.mark.parametrize("claim", [one for one in CLAIMS if CLAIMS[one]["command"].startswith("dynlab figure ")])
def test_the_numbers_of_a_claim_are_those_of_the_figure_that_repeats_it(claim, made):
    """Up to rounding to fewer digits; minus signs are those of exponents."""
    command = CLAIMS[claim]["command"].removesuffix(" --recompute")
    there = numbers(README.partition(f"`{command}`")[2].partition("\n## ")[0].replace("<sup>", ""))
    told = made.rows[list(CLAIMS).index(claim)][2]
    for text, value in zip(re.findall(r"[−-]?\d+\.\d+", told), numbers(told), strict=True):
        digits = len(text.partition(".")[2])
        assert value in ADDED.get(claim, ()) or any(abs(one - value) < 0.51 * 10**-digits for one in there), text


def numbers(text):
    return [float(one.replace("−", "-")) for one in re.findall(r"[−-]?\d+\.\d+", text)]


def test_every_table_is_computed_again_or_refuses_to_be():
    tables = {name: lookup(TABLES, name, "table") for name in TABLES}
    refusing = {name for name, make in tables.items() if getattr(make, "compute", None) is None}
    assert set(TABLES) - refusing == {"audit", "equilibria", "ernn-1"}
    for name in refusing:
        with pytest.raises(ValueError, match="does not repeat"):
            tables[name](recompute=True)


def test_speed_ups_are_quotients_of_the_papers_own_hours():
    """FastRNN's hours over those of the most accurate ERNN: of Pixel-MNIST the faster of two that are equal."""
    hours = {"HAR-2": (0.063, 0.018), "DSA-19": (0.032, 0.015), "Google-12": (0.61, 0.17), "Google-30": (1.30, 0.44)}
    hours |= {"Pixel-MNIST": (15.10, 2.93), "Yelp-5": (3.61, 1.16)}
    assert published_speed_ups() == pytest.approx({name: slow / fast for name, (slow, fast) in hours.items()})
