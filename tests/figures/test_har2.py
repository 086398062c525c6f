"""What a published accuracy is called, on made-up trainings of which the answer is known."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from dynlab import schema
from dynlab.cli.main import run
from dynlab.figures.har2 import (
    DIVERGED,
    EXPLAINED,
    LAST,
    MORE,
    NEITHER,
    ONE_SEED,
    REACHED,
    UNKNOWN,
    compared,
    near_another,
)
from dynlab.figures.kept import trainings

EPOCHS = 20
PAGE = Path(__file__).parents[2] / "docs" / "har2.md"


def made_up(network, seeds):
    """Two trainings a seed: constant accuracies `chosen` and `last`, with one epoch of `best` in the second."""
    names, test, diverged = [], [], []
    for seed, (chosen, last, best, broken) in enumerate(seeds):
        for split, value in (("held-out", chosen), ("whole", last)):
            names.append(f"har2-published-{network}-seed{seed}-{split}")
            curve = np.full(EPOCHS, value / 100)
            curve[3] = best / 100 if split == "whole" else 0.5
            test.append(curve)
            diverged.append("in epoch 4" if broken and split == "whole" else "")
    given = {
        "test_accuracy": schema.variable((schema.TRAINING, schema.EPOCH), test, "test accuracy"),
        "chosen_epoch": schema.variable((schema.TRAINING,), [7] * len(names), "epoch"),
        "diverged": schema.variable((schema.TRAINING,), diverged, "where it diverged"),
    }
    coords = {schema.TRAINING: names, schema.EPOCH: np.arange(1, EPOCHS + 1)}
    return schema.dataset(given, system="several", settings={}, coords=coords)


@pytest.mark.parametrize(
    "seeds, meaning",
    [
        ([(95, 94, 96, False), (95, 94, 96.2, False)], REACHED),  # published: 94.50
        ([(92, 94.6, 96, False), (92, 94.8, 96.2, False)], LAST),
        ([(92, 92, 94.4, False), (92, 93, 94.8, False)], EXPLAINED),
        ([(92, 92, 96.0, False), (92, 93, 96.1, False)], MORE),
        ([(92, 92, 93.0, False), (92, 93, 93.2, False)], NEITHER),
        ([(92, 92, 93.0, False)], ONE_SEED),
        ([(92, 92, 93.0, True)], DIVERGED),
    ],
)
def test_a_published_accuracy_is_called_what_it_is(seeds, meaning):
    ds = compared(made_up("fastrnn", seeds)).sel({schema.RECIPE: "published"})
    assert str(ds["meaning"].sel({schema.NETWORK: "fastrnn"}).values) == meaning
    assert str(ds["meaning"].sel({schema.NETWORK: "gru"}).values) == UNKNOWN
    assert meaning in ds.attrs["verdict"]


def test_the_four_numbers_are_those_of_the_curves():
    ds = compared(made_up("fastrnn", [(91, 92, 97, False), (93, 94, 98, False), (50, 50, 50, True)]))
    one = ds.sel({schema.RECIPE: "published", schema.NETWORK: "fastrnn"})
    np.testing.assert_allclose(one["accuracy"], [92, 93, 93, 97.5])
    np.testing.assert_allclose(one["accuracy_std"], np.array([2, 2, 2, 1]) / 2**0.5)
    assert (int(one["seeds"]), int(one["diverged"])) == (2, 1)


def test_a_number_that_is_near_another_mean_too_is_named():
    near, far = ((94.4, 92, 94.4, False), (94, 93, 94.8, False)), ((92, 92, 93.5, False), (92, 93, 93.9, False))
    both = {"fastrnn": near, "gru": far}
    ds = compared(xr.concat([made_up(name, seeds) for name, seeds in both.items()], schema.TRAINING))
    meanings = ds["meaning"].sel({schema.RECIPE: "published", schema.NETWORK: list(both)})
    assert meanings.values.tolist() == [EXPLAINED] * 2
    assert "1 lies within 2 standard errors of one of the two other means as well (fastrnn)" in ds.attrs["verdict"]


def test_the_page_on_har_2_has_the_numbers_of_the_record():
    """docs/har2.md is written by hand: its accuracies, counts and outcomes are those of the kept trainings."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    ds = compared(trainings())
    published, own = (ds.sel({schema.RECIPE: recipe}) for recipe in ("published", "own"))
    said = {"fastrnn": ("chosen", "last", "best"), "lstm": ("last", "best"), "gru": ("last", "best")}
    for name, selections in said.items():
        for selection in selections:
            one = published.sel({schema.NETWORK: name, schema.SELECTION: selection})
            assert f"{float(one['accuracy']):.2f} ± {float(one['accuracy_std']):.2f}" in page
    one, two, three = (int((published["meaning"] == each).sum()) for each in (EXPLAINED, NEITHER, DIVERGED))
    assert f"explains {one} of 12 numbers, {two} are not reached either way, and of {three} (ERNN, K = 3 and 5)" in page
    near = published[schema.NETWORK].values[near_another(published).values].tolist()
    assert near == ["rnn", "fastrnn", "fastgrnn"]
    assert "Three of the 6 (RNN, FastRNN, FastGRNN)" in page
    reached = own[schema.NETWORK].values[np.isin(own["meaning"].values, (REACHED, LAST))].tolist()
    assert (reached, int((own["meaning"] == NEITHER).sum())) == (["rnn", "ugrnn"], 10)
    gap = own["accuracy"].sel({schema.SELECTION: "best"}) - own["accuracy"].sel({schema.SELECTION: "last"})
    assert 0.4 < float(gap.max()) < 0.5
    best = published["accuracy"].sel({schema.SELECTION: "best"})
    fastrnn, ernn = (float(best.sel({schema.NETWORK: name})) for name in ("fastrnn", "ernn-k1"))
    assert f"{fastrnn:.2f}, and ERNN's below, {ernn:.2f}." in page
    assert fastrnn > 94.5 + 0.5
    assert ernn < 95.3 - 0.7


def test_the_command_prints_every_network_and_saves_the_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "10000")  # no cell is broken
    assert run(["table", "har2", "--save", str(tmp_path / "har2.nc")]) == 0
    said = capsys.readouterr().out
    assert said.count("ernn-k5") == 2
    assert "Of 12 published accuracies" in said
    assert (tmp_path / "har2.nc").exists()
    assert run(["table", "nonsense"]) == 2
