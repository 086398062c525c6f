"""Every table is made from what is kept, and calls a published number what the trainings make of it."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from dynlab import io, schema
from dynlab.cli.main import run
from dynlab.errors import lookup
from dynlab.figures import TABLES, claims
from dynlab.figures.accuracies import facts, number
from dynlab.figures.har2 import compared, near_another
from dynlab.figures.scores import (
    AT_THE_END,
    BEST,
    CHOSEN,
    DIVERGED,
    EXPLAINED,
    LAST,
    MORE,
    NEITHER,
    NOT_RUN,
    OTHER_SIZE,
    REACHED,
    outcomes,
)
from dynlab.figures.scripts import trainings
from dynlab.training import PRESETS

ROOT = Path(__file__).parents[2]
EPOCHS = 20


def a_training(name, curve, diverged=""):
    of_each = {"chosen_epoch": 1, "iterations": 500, "diverged": diverged, "cell_parameters": 7000}
    of_each |= {"duration": 1800.0, "device": "cpu"}
    scores = {"test_accuracy": np.array(curve), "test_perplexity": np.full(len(curve), np.nan)}
    return xr.Dataset(
        {key: ((schema.TRAINING, schema.EPOCH), [one]) for key, one in scores.items()}
        | {key: (schema.TRAINING, [value]) for key, value in of_each.items()},
        {schema.TRAINING: [name], schema.EPOCH: np.arange(1, len(curve) + 1)},
    )


def both(network, seeds):
    """Two trainings a seed: constant accuracies `chosen` and `last`, with one epoch of `best` in the second."""
    found = []
    for seed, (chosen, last, best, diverged) in enumerate(seeds):
        name, whole = f"har2-published-{network}-seed{seed}", np.full(EPOCHS, last / 100)
        whole[3] = best / 100
        found.append(a_training(f"{name}-held-out", [chosen / 100] * EPOCHS))
        found.append(a_training(f"{name}-whole", whole, diverged))
    return xr.concat(found, schema.TRAINING)


@pytest.mark.parametrize(
    "seeds, meaning",
    [
        ([(95, 94, 96, ""), (95, 94, 96.2, "")], REACHED),  # published: 94.50
        ([(92, 94.6, 96, ""), (92, 94.8, 96.2, "")], AT_THE_END),
        ([(92, 92, 94.4, ""), (92, 93, 94.8, "")], EXPLAINED),
        ([(92, 92, 96.0, ""), (92, 93, 96.1, "")], MORE),
        ([(92, 92, 93.0, ""), (92, 93, 93.2, "")], NEITHER),
        ([(92, 92, 93.0, "in epoch 4")], DIVERGED),
    ],
)
def test_a_published_accuracy_is_called_what_it_is(seeds, meaning):
    ds = compared(both("fastrnn", seeds)).sel(recipe="published")
    assert str(ds["meaning"].sel(network="fastrnn").values) == meaning
    assert str(ds["meaning"].sel(network="gru").values) == NOT_RUN


def test_the_four_numbers_are_those_of_the_curves():
    ds = compared(both("fastrnn", [(91, 92, 97, ""), (93, 94, 98, ""), (50, 50, 50, "in epoch 4")]))
    one = ds.sel(recipe="published", network="fastrnn")
    np.testing.assert_allclose(one["score"], [92, 93, 93, 97.5])
    np.testing.assert_allclose(one["score_std"], np.array([2, 2, 2, 1]) / 2**0.5)
    assert (int(one["seeds"]), int(one["diverged"]), str(one["hours"].values)) == (2, 1, "0.5 h, cpu")


@pytest.mark.parametrize(
    "meanings, verdict",
    [
        (["not run", NEITHER], "cannot be decided"),
        ([OTHER_SIZE, REACHED], "cannot be decided"),
        ([DIVERGED, NEITHER], "cannot be decided"),
        ([NEITHER, EXPLAINED], "does not hold"),
        ([REACHED, NEITHER], "holds under a condition that is stated"),
        ([REACHED, AT_THE_END], "holds"),
    ],
)
def test_a_table_is_judged_by_what_was_repeated(meanings, verdict):
    rules = next(one["verdict"] for one in claims.claims() if "table" in one)
    assert claims.verdict(rules, outcomes(xr.Dataset({"meaning": ("network", meanings)}))) == verdict


def test_every_row_of_a_source_has_its_published_facts():
    sources = {name for name, one in PRESETS.items() if one.source and not np.isnan(number(one.reported))}
    assert set(facts()) == {name for name in sources if PRESETS[name].source not in ("FastGRNN, HAR-2", "coRNN, HAR-2")}


def test_all_tables_are_printed_and_written_as_a_page(tmp_path, capsys):
    assert run(["table", "all", "-o", str(tmp_path / "tables.md")]) == 0
    said, page = capsys.readouterr().out, (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert page == (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")  # else `make pages`
    assert all(f"{lookup(TABLES, name, 'table')().claim}" in said for name in ("audit", "har2"))
    assert run(["table", "all", "--json"]) == run(["table", "har2", "--recompute"]) == run(["table", "nonsense"]) == 2
    assert run(["table", "ernn-1", "--save", str(tmp_path / "one.nc")]) == 0
    assert "counted" in io.open(tmp_path / "one.nc")


def test_the_page_on_har_2_has_the_numbers_of_the_record():
    """docs/har2.md is written by hand: its accuracies and outcomes are those of the kept trainings."""
    page = " ".join((ROOT / "docs" / "har2.md").read_text(encoding="utf-8").split())
    ds = compared(trainings())
    published, own = ds.sel(recipe="published"), ds.sel(recipe="own")
    for name, selections in {"fastrnn": (CHOSEN, LAST, BEST), "lstm": (LAST, BEST), "gru": (LAST, BEST)}.items():
        one = published.sel(network=name, selection=list(selections))
        for mean, std in zip(one["score"].values, one["score_std"].values, strict=True):
            assert f"{mean:.2f} ± {std:.2f}" in page
    near = published["network"].values[near_another(published).values].tolist()
    assert near == ["rnn", "fastrnn", "fastgrnn"]
    reached = own["network"].values[np.isin(own["meaning"].values, (REACHED, AT_THE_END))].tolist()
    assert reached == ["rnn", "ugrnn"]
