"""Every table is made from what is kept, and calls a published number what the trainings make of it."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from dynlab import io, schema
from dynlab.cli.main import run
from dynlab.errors import lookup
from dynlab.figures import TABLES, speed
from dynlab.figures.accuracies import BEST, CHOSEN, NOT_COMPLETE, NOT_RUN, facts, measured, number, trainings_of
from dynlab.figures.choices import tried
from dynlab.figures.copying import COPIES, HIGHER, STAYED, LossCurve, baseline
from dynlab.figures.data_sets import COLUMNS
from dynlab.figures.equilibria import HOLDS, ONLY_FLOW, table
from dynlab.figures.har2 import EXPLAINED, LAST, NEITHER, REACHED
from dynlab.figures.kept import kept, trainings
from dynlab.training import PRESETS

# What each says whatever trainings are finished: errors of the sources, and facts that are kept.
KNOWN = {
    "antisymmetric-1": "strictly triangular W (9,674; with gate 9,930)",
    "antisymmetric-2": "60,042, 84,874",
    "asrnn-mnist": "reads out the LSTM's cell state",
    "asrnn-ptb": "No training measures them",
    "audit": "holds (",
    "choices": "Of 9 networks 30 short trainings",
    "copying": "asRNN is a linear orthogonal network",
    "equilibria": "6 of 6 kinds",
    "ernn-1": "Noisy-CIFAR has 50,000 training sequences, the table 60,000",
    "ernn-2": "4 of 4 ratios are those of the times",
    "ernn-3": "the outcomes of 71 published numbers",
    "ernn-4": "The validation text chooses the epoch",
    "ernn-5": "the outcomes of 6 published numbers",
    "ernn-6": "288 KB are 73.7k numbers",
    "har2": "Of 12 published accuracies",
    "speed": "TensorFlow was not run",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_made_and_says_what_is_known(name):
    made = lookup(TABLES, name, "table")()
    assert KNOWN[name] in made.measured
    assert made.claim
    assert {len(row) for row in made.rows} == {len(made.headings)}
    assert set(made.numeric) <= set(made.headings)


def a_training(name, curve, diverged="", score="test_accuracy", **unfinished):
    none = np.full(len(curve), np.nan)
    scores = {"test_accuracy": none, "test_perplexity": none} | {score: np.array(curve)}
    given = {
        **{key: schema.variable((schema.TRAINING, schema.EPOCH), [one], key) for key, one in scores.items()},
        "chosen_epoch": schema.variable((schema.TRAINING,), [1], "epoch"),
        "iterations": schema.variable((schema.TRAINING,), [500], "iterations"),
        "diverged": schema.variable((schema.TRAINING,), [diverged], "where it diverged"),
    }
    coords = {schema.TRAINING: [name], schema.EPOCH: np.arange(1, len(curve) + 1)}
    flags = dict.fromkeys(scores, "another score")
    return schema.dataset(given, system="several", settings={"unfinished": unfinished}, coords=coords, flags=flags)


@pytest.mark.parametrize(
    "curve, meaning",
    [
        ([0.9, 0.99], f"{LAST}, one seed"),  # published: 98.0 %
        ([0.98, 0.97], f"{EXPLAINED}, one seed"),
        ([0.9, 0.97], f"{NEITHER}, one seed"),
    ],
)
def test_a_training_measures_its_presets_row(curve, meaning):
    names = ["antisymmetricrnn-smnist-antisymmetric", "antisymmetricrnn-smnist-kru"]
    ds = measured(a_training("smnist-antisymmetric", curve), names)
    assert ds["meaning"].values.tolist() == [meaning, NOT_RUN]
    np.testing.assert_allclose(ds["score"][0], [np.nan, 100 * curve[-1], 100 * max(curve)])
    assert "1 of 1 training " in ds.attrs["verdict"]


def test_a_training_that_is_not_complete_is_shown_with_its_iterations():
    begun = {
        "noisy-cifar-antisymmetric-gated": {"epochs": 23, "of": 26, "batches": 391},
        "noisy-cifar-antisymmetric-gated-seed1": {"epochs": 0, "of": 26, "batches": 391},
        "noisy-cifar-lstm-seed1": {"epochs": 5, "of": 26},
    }
    names = [f"antisymmetricrnn-noisy-cifar-{one}" for one in ("antisymmetric-gated", "lstm", "antisymmetric")]
    ds = measured(a_training("noisy-cifar-lstm", [0.1, 0.1], **begun), names)
    assert ds["meaning"].values.tolist() == [NOT_COMPLETE, f"{NEITHER}, one seed", NOT_RUN]
    assert ds["incomplete"].values.tolist() == ["8,993 of 10,166; 0 of 10,166", "5 of 26 epochs", ""]


def test_every_unfinished_training_of_the_record_stands_in_its_row():
    unfinished = schema.settings(trainings())["unfinished"]
    rows = [
        row for name in ("antisymmetric-2", "asrnn-mnist", "ernn-3") for row in lookup(TABLES, name, "table")().rows
    ]
    shown = {row[0]: [cell for cell in row if " of " in cell and "," in cell] for row in rows}
    for preset in shown:
        mine = [unfinished[name] for name in trainings_of(preset) if name in unfinished]
        said = "; ".join(f"{one['epochs'] * one['batches']:,} of {one['of'] * one['batches']:,}" for one in mine)
        assert not mine or any(cell.endswith(said) for cell in shown[preset]), preset
    assert {name for preset in shown for name in trainings_of(preset)} >= set(unfinished)


@pytest.mark.parametrize(
    "curve, meaning",
    [  # published: 117.41; the first epoch is the chosen one
        ([117.0, 300.0, 116.0], f"{REACHED}, one seed"),
        ([118.0, 117.41, 300.0], f"{EXPLAINED}, one seed"),
        ([120.0, 117.0, 116.0], f"{LAST}, one seed"),
        ([118.0, 119.0, 120.0], f"{NEITHER}, one seed"),
    ],
)
def test_less_is_better_of_perplexities_and_held_out_text_chooses_the_epoch(curve, meaning):
    training = a_training("ernn-ptb-word-lstm", curve, score="test_perplexity")
    ds = measured(training, ["ernn-ptb-word-lstm"])
    assert ds["meaning"].values.tolist() == [meaning]
    np.testing.assert_allclose(ds["score"][0], [curve[0], curve[-1], min(curve)])


def test_the_epoch_that_the_validation_text_chose_is_the_best_on_test_too():
    ds = lookup(TABLES, "ernn-4", "table")().dataset
    scores = ds["score"].sel(selection=[CHOSEN, BEST]).values
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], rtol=1e-4)
    best = ds["network"].values[scores[:, 0].argsort()]
    assert (best[0], best[-1]) == ("ernn-ptb-word-lstm", "ernn-ptb-word-ernn-k1")


@pytest.mark.parametrize(
    "preset, trainings",
    [
        ("ernn-har2-ernn-k1", 5),
        ("edgeml-har2-gru", 3),
        ("ernn-har2-ernn-sigmoid-k1", 3),
        ("antisymmetricrnn-noisy-cifar-lstm", 3),
        ("antisymmetricrnn-noisy-cifar-antisymmetric", 3),
        ("ernn-ptb-word-lstm", 1),
        ("ernn-pmnist-ernn-k1", 1),
        ("ernn-smnist-lstm", 0),
        ("asrnn-smnist-asrnn-122", 1),
    ],
)
def test_the_queue_knows_how_many_trainings_measure_a_row(preset, trainings):
    assert len(trainings_of(preset)) == trainings


def test_every_row_of_a_source_has_its_published_facts():
    sources = {name for name, one in PRESETS.items() if one.source and not np.isnan(number(one.reported))}
    assert set(facts()) == {name for name in sources if PRESETS[name].source not in ("FastGRNN, HAR-2", "coRNN, HAR-2")}


@pytest.mark.parametrize(
    "losses, outcome, halved",
    [
        ([0.1, 0.009, 1e-6], COPIES, "200"),
        ([0.1, 0.0204, 0.0203], STAYED, "never"),
        ([0.1, 0.0204, 1.7], HIGHER, "never"),
    ],
)
def test_a_curve_is_called_what_it_is(losses, outcome, halved):
    curve = LossCurve(1000, "asRNN, 138 units", np.array([100.0, 200.0, 300.0]), np.array(losses))
    assert curve.guess == baseline(10, 1000)
    assert (curve.outcome, curve.halved) == (outcome, halved)


def test_the_kept_counts_are_those_of_the_official_splits():
    counted = kept("ernn-table-1")["sizes"]["counted"].sel(data_set="Noisy-CIFAR")
    assert dict(zip(COLUMNS, counted.values.tolist(), strict=True)) == {
        "training sequences": 50_000,
        "features": 3072,
        "steps": 1000,
        "test sequences": 10_000,
    }


def test_eulers_map_differs_from_the_flow_at_the_center_alone():
    verdicts = {row[0]: row[-1] for row in table().rows}
    assert verdicts.pop("Conservative") == ONLY_FLOW
    assert set(verdicts.values()) == {HOLDS}


def test_printed_times_are_read(tmp_path):
    (tmp_path / "times.txt").write_text(
        "torch 2, 1 thread(s); T = 784, batch 128, 128 units\ncell   least ms    median  of RNN    error\n"
        "torch's LSTM     10.00     11.00    1.98 \nlstm, stepped    100.00   120.00   20.00 \n"
        "antisymmetric     5.00      6.00    1.00    2e-06\nantisymmetric, stepped   50.00   60.00   10.00 \n"
        "antisymmetric, TorchScript   20.00   30.00   10.00 \n"
    )
    record = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "training_step_kept.py"))["record"]
    ds = record([tmp_path / "times.txt"])
    assert speed.ratios(ds) == {"one core of a CPU": (pytest.approx(120 / 11), pytest.approx(2))}


def test_all_tables_are_printed_and_written_as_a_page(tmp_path, capsys):
    assert run(["table", "all", "-o", str(tmp_path / "tables.md")]) == 0
    said, page = capsys.readouterr().out, (tmp_path / "tables.md").read_text(encoding="utf-8")
    for name in TABLES:
        assert f"`dynlab table {name}`" in page or name == "audit"
        assert KNOWN[name] in said
    assert run(["table", "all", "--json"]) == 2
    assert run(["table", "ernn-1", "--save", str(tmp_path / "one.nc")]) == 0
    assert "counted" in io.open(tmp_path / "one.nc")


def test_har_2_has_the_same_numbers_in_both_of_its_tables():
    """Table 3 has the last and the best epoch of the trainings under the published recipe."""
    har2 = {row[1]: row[3:6:2] for row in lookup(TABLES, "har2", "table")().rows if row[0] == "published"}
    table = {row[0].removeprefix("ernn-har2-"): row[2:4] for row in lookup(TABLES, "ernn-3", "table")().rows}
    both = sorted(set(har2) & set(table))
    assert len(both) == 10
    assert [table[name] for name in both] == [har2[name] for name in both]


def test_the_page_of_perplexities_names_the_least_one():
    scores = {row[0]: float(row[2]) for row in lookup(TABLES, "ernn-4", "table")().rows}
    least = min(scores, key=scores.__getitem__)
    place = sorted(scores.values()).index(scores["ernn-ptb-word-ernn-k1"]) + 1
    said = lookup(TABLES, "ernn-4", "table")().measured
    assert f"that of {least.rpartition('-')[2]}, {scores[least]:.2f}; ernn-k1 has" in said
    assert f"number {place} of 7" in said


def test_the_settings_that_were_taken_are_those_of_the_long_training():
    """The command of the long training is another record of them: the queue wrote it when it chose."""
    made = lookup(TABLES, "choices", "table")()
    taken = {row[0].rpartition("-")[0]: row for row in made.rows if row[-1] == "taken"}
    record = trainings()
    ended = [name for name in taken if name in record["training"].values]
    assert len(taken) == 9
    assert len(ended) == 8  # one is not complete
    for name in ended:
        command = str(record["command"].sel(training=name).values)
        lr, *flow = taken[name][1:5]
        assert f"--lr {lr}" in command
        for setting, value in zip(("step_size", "gamma", "sigma_w"), flow, strict=True):
            assert (f"--set {setting}={float(value)}" in command) if value else (f"--set {setting}=" not in command)


def test_what_is_best_on_held_out_images_is_taken_and_nothing_while_one_is_not_run():
    record = trainings().load()
    first, *others = [f"smnist-antisymmetric-choice{number}" for number in (1, 2, 3, 4)]
    better = record.copy(deep=True)
    better["validation_accuracy"].loc[{"training": first, "epoch": 3}] = 0.99
    outcome = tried(better)["outcome"].sel(training=[first, *others])
    assert outcome.values.tolist() == ["taken", "", "", ""]
    fewer = record.sel(training=record["training"] != first)
    assert tried(fewer)["outcome"].sel(training=[first, *others]).values.tolist() == [NOT_RUN, "", "", ""]
