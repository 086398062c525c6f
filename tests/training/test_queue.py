"""The queue: takes the next unfinished training, loses nothing when it is killed, and says how far it is."""

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
import xarray as xr
from runs import Stopped, differing, stored

from dynlab import io, schema
from dynlab.errors import UserError
from dynlab.training import Run, Settings, train
from dynlab.training.queue import folder as kept
from dynlab.training.queue.folder import alone, home, pause, record, resolved, running
from dynlab.training.queue.kept import RECORDED, take_over
from dynlab.training.queue.queued import GPU_TIER, Queued, described, kind
from dynlab.training.queue.results import results
from dynlab.training.queue.status import overview, total
from dynlab.training.queue.table import FIVE_SEEDS, NETWORKS, QUEUE
from dynlab.training.queue.work import work

SETTINGS = Settings(epochs=3, batch_size=400)
BATCHES = {True: 4, False: 3}  # of 1,437 training images, and of the 1,150 of them that learn where some are held out


def digits(name, *, seed=0, lr=1e-2, retrain=False, tier=1, group="digits", **more):
    settings = Settings(epochs=3, batch_size=400, seed=seed, lr=lr)
    run = Run("vanilla", "digits", settings, {"state_size": 3}, {"retrain": retrain})
    return Queued(name, tier, group, run, {"test_every_epoch": True}, **more)


TWO = (digits("first"), digits("second", seed=1, retrain=True, tier=2, group="all digits"))


def finished(queue, folder):
    return [one.name for one in queue if record(one, folder)]


def test_trainings_are_done_in_order_and_each_once(tmp_path):
    said = []
    work(TWO, tmp_path, say=said.append)
    assert finished(TWO, tmp_path) == ["first", "second"]
    starts = [line.split(":")[0] for line in said if line.endswith("iterations are done.") and "trainings" not in line]
    assert starts == ["first", "second"]
    said.clear()
    work(TWO, tmp_path, say=said.append)
    assert said == ["All 2 trainings are finished."]


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU trains all tiers")
def test_what_needs_a_gpu_waits_for_one(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "queue")
    queue = (*TWO, digits("large", seed=2, tier=GPU_TIER, group="large ones"))
    said = []
    work(queue, tmp_path / "queue", say=said.append)
    assert finished(queue, tmp_path / "queue") == ["first", "second"]
    assert said == ["All 2 trainings that this machine can do are finished; the rest, 1, needs a GPU."]
    assert overview(queue, tmp_path / "queue")[4].startswith("tier 3, on a GPU: 0 of 1 trainings")


def test_a_record_is_what_the_trainer_gives(whole, tmp_path):
    found = record(TWO[0], whole)
    alone_trained = train(TWO[0].run, tmp_path / "alone", test_every_epoch=True)
    assert found["facts"] == json.loads(json.dumps(alone_trained.facts))
    lines = (tmp_path / "alone" / "metrics.csv").read_text().splitlines()
    rows = [dict(zip(lines[0].split(","), map(float, line.split(",")), strict=True)) for line in lines[1:]]
    assert found["epochs"] == {name: [row[name] for row in rows] for name in rows[0] if name != "epoch"}
    assert found["iterations"] == SETTINGS.epochs * BATCHES[False]
    chosen = found["facts"]["epoch"] - 1
    assert found["epochs"]["test_accuracy"][chosen] == pytest.approx(found["facts"]["test_accuracy"], abs=1e-12)
    assert found["epochs"]["validation_accuracy"][chosen] == max(found["epochs"]["validation_accuracy"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a queue that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    work(TWO, folder, say=list)
    return folder


@pytest.mark.parametrize("stop", [1, 4, 11])
def test_a_stopped_training_goes_on_to_the_same_network(stop, stop_at, whole, monkeypatch, tmp_path):
    monkeypatch.setattr("dynlab.training.queue.work.SAVED_EVERY", 0.0)  # a checkpoint after every batch
    stop_at(stop)
    with pytest.raises(Stopped):
        work(TWO, tmp_path / "stopped", say=list)
    before = finished(TWO, tmp_path / "stopped")
    stop_at(None)
    said = []
    work(TWO, tmp_path / "stopped", say=said.append)
    at = stop - (SETTINGS.epochs * BATCHES[False] if before else 0)
    assert f"{'second' if before else 'first'}: {at} of {3 * BATCHES[bool(before)]} iterations are done." in said
    for one in TWO:
        folders = [queue / "runs" / one.name for queue in (whole, tmp_path / "stopped")]
        assert differing(*(stored(folder, "network.pt") for folder in folders)) == []
        assert (folders[0] / "metrics.csv").read_text() == (folders[1] / "metrics.csv").read_text()


def test_a_training_that_is_another_now_is_done_again(tmp_path):
    work(TWO[:1], tmp_path, say=list)
    other = digits("first", lr=0.03)
    assert record(other, tmp_path) is None
    work((other,), tmp_path, say=list)
    assert record(other, tmp_path)["run"] == described(other.run)
    assert record(TWO[0], tmp_path) is None


def test_settings_left_to_candidates_are_those_of_the_best_on_held_out_data(tmp_path):
    candidates = tuple(digits(f"rate-{lr}", lr=lr) for lr in (1e-4, 3e-2))
    main = digits("main", retrain=True, candidates=tuple(one.name for one in candidates))
    assert resolved(main, tmp_path) is None
    queue = (main, *candidates)
    work(queue, tmp_path, say=list)
    scores = {one.run.settings.lr: record(one, tmp_path)["facts"]["validation_accuracy"] for one in candidates}
    best = max(scores, key=scores.get)
    assert record(main, tmp_path)["run"]["settings"]["lr"] == best == 3e-2
    assert len(set(scores.values())) == 2


def test_a_training_that_diverges_is_recorded_and_the_next_one_begins(tmp_path):
    settings = Settings(epochs=3, batch_size=400, optimizer="gd", lr=1e30)
    wild = Queued("wild", 1, "digits", Run("vanilla", "digits", settings, {"state_size": 3, "activation": "identity"}))
    queue = (wild, TWO[0])
    work(queue, tmp_path, say=list)
    assert "diverged in epoch" in record(wild, tmp_path)["facts"]["diverged"]
    assert finished(queue, tmp_path) == ["wild", "first"]


def test_the_overview_counts_what_is_done_and_left(whole, tmp_path):
    kept.note(tmp_path, kept.TIMES, **{kind(TWO[0].run): {"seconds": 3600.0, "batches": BATCHES[False]}})
    tier, group, _, untimed = overview(TWO, tmp_path)
    counts = "0 of 1 trainings are finished, 0 of 9 iterations are done, 9.0 core-hours are left."
    assert [tier, group] == [f"tier 1: {counts}", f"  digits: {counts}"]
    assert untimed.endswith("0.0 core-hours are left, without 1 trainings that are not timed yet.")
    assert overview(TWO, whole)[0] == (
        "tier 1: 1 of 1 trainings are finished, 9 of 9 iterations are done, 0.0 core-hours are left."
    )
    assert total(TWO[1], whole) == SETTINGS.epochs * BATCHES[True]


def test_results_are_the_records_in_a_small_file(whole, tmp_path):
    with pytest.raises(UserError, match="No training"):
        results(TWO, tmp_path)
    found = io.open(io.save(results(TWO, whole), tmp_path / "results.nc"))
    records = [record(one, whole) for one in TWO]
    assert list(found.training.values) == ["first", "second"]
    for number, one in enumerate(records):
        np.testing.assert_allclose(found.test_accuracy[number], one["epochs"]["test_accuracy"], rtol=1e-6)
        np.testing.assert_allclose(found.loss[number], one["epochs"]["loss"], rtol=1e-3)
        assert found.command[number] == one["facts"]["command"]
        assert found.duration[number] == 3600 * one["core_hours"]
    assert np.isnan(found.validation_accuracy[1]).all()  # nothing was held out
    assert found.chosen_epoch[0] == 1 + int(np.argmax(found.validation_accuracy[0].values))


def test_results_of_as_many_epochs_as_har2_has_stay_small(tmp_path):
    """Ninety trainings of 300 epochs: accuracies are counts of some 3,000 windows."""
    generator = np.random.default_rng(0)
    run = digits("any").run
    queue = [Queued(f"training-{number}", 1, "many", run) for number in range(92)]
    for one in queue:
        accuracy = generator.integers(2700, 2800, (2, 300)) / 2947
        epochs = {"loss": generator.random(300), "test_accuracy": accuracy[0], "validation_accuracy": accuracy[1]}
        facts = {"command": run.command, "epoch": 3}
        kept.write_record(
            tmp_path,
            {"name": one.name, "tier": 1, "group": "many", "run": described(run), "iterations": 1, "core_hours": 0.5}
            | {"facts": facts, "epochs": {name: list(values) for name, values in epochs.items()}},
        )
    assert io.save(results(queue, tmp_path), tmp_path / "results.nc").stat().st_size < 300 * 1024


def test_results_say_how_far_an_unfinished_training_is(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "queue")
    first, second = TWO
    (tmp_path / "queue" / "results" / f"{second.name}.json").unlink()
    found = results(TWO, tmp_path / "queue")
    assert list(found.training.values) == [first.name]
    (so_far,) = schema.settings(found)["unfinished"].items()
    numbers = record(second, whole)["epochs"]
    assert so_far == (
        second.name,
        {"epochs": SETTINGS.epochs, "of": SETTINGS.epochs, "batches": BATCHES[True]}
        | {name: numbers[name][-1] for name in ("loss", "test_accuracy")},
    )


def test_results_say_that_a_training_has_not_begun(whole, tmp_path):
    """How many batches an epoch has is known of what was timed, and of what another training that ended was fed."""
    shutil.copytree(whole, tmp_path / "queue")
    waiting = digits("third", seed=2, tier=GPU_TIER)
    (tmp_path / "queue" / "timed.json").unlink()
    found = schema.settings(results((*TWO, waiting), tmp_path / "queue"))["unfinished"]
    assert found == {"third": {"epochs": 0, "of": SETTINGS.epochs, "batches": BATCHES[False]}}
    other = digits("fourth", seed=2, retrain=True)
    shutil.copytree(whole, tmp_path / "timed")
    (tmp_path / "timed" / "results" / "second.json").unlink()
    found = schema.settings(results((TWO[0], other), tmp_path / "timed"))["unfinished"]
    assert found == {"fourth": {"epochs": 0, "of": SETTINGS.epochs, "batches": BATCHES[True]}}


def test_only_one_process_works_on_a_folder(tmp_path):
    with alone(tmp_path):
        assert running(tmp_path) == os.getpid()
        with pytest.raises(UserError, match=f"in process {os.getpid()}"):
            work(TWO, tmp_path, say=list)
    assert running(tmp_path) is None


ENDLESS = """
import pathlib, sys
from dynlab.training import Run, Settings
from dynlab.training.queue import work as module
from dynlab.training.queue.queued import Queued
module.SAVED_EVERY = 0.0
run = Run("vanilla", "digits", Settings(epochs=100_000, batch_size=400), {"state_size": 3}, {"retrain": True})
try:
    module.work((Queued("endless", 1, "digits", run),), pathlib.Path(sys.argv[1]))
except KeyboardInterrupt:
    sys.exit(0)
"""


PATIENCE = 300.0  # seconds: to start takes some five, and many times that on a busy machine


@pytest.fixture
def start(tmp_path):
    """Starts a queue in another process, as a shell leaves it in the background: deaf to interrupts."""
    with contextlib.ExitStack() as started:

        def one():
            command = [sys.executable, "-c", ENDLESS, str(tmp_path)]
            deaf = functools.partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
            process = started.enter_context(subprocess.Popen(command, preexec_fn=deaf, stdout=subprocess.DEVNULL))
            started.callback(process.kill)
            return process

        yield one


def wait_for(path, process, changed_after=0.0):
    end = time.monotonic() + PATIENCE
    while not path.is_file() or path.stat().st_mtime <= changed_after:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_queue_in_the_background_is_paused_and_a_killed_one_goes_on(start, tmp_path):
    last = tmp_path / "runs" / "endless" / "last.ckpt"
    killed = start()
    wait_for(last, killed)
    assert running(tmp_path) == killed.pid
    killed.kill()
    killed.wait()
    assert running(tmp_path) is None
    before = stored(last.parent, last.name)["/global_step"]
    assert before > 0
    paused = start()
    wait_for(last, paused, last.stat().st_mtime)
    assert pause(tmp_path) == paused.pid
    assert paused.wait() == 0
    assert stored(last.parent, last.name)["/global_step"] > before
    assert pause(tmp_path) is None


def test_the_folder_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("DYNLAB_QUEUE", raising=False)
    assert home() == tmp_path / "dynlab" / "queue"
    monkeypatch.setenv("DYNLAB_QUEUE", str(tmp_path / "mine"))
    assert home() == tmp_path / "mine"


def test_names_are_unique_and_candidates_come_first():
    names = [one.name for one in QUEUE]
    assert len(set(names)) == len(names)
    assert all(names.index(other) < names.index(one.name) for one in QUEUE for other in one.candidates)
    assert sorted(one.tier for one in QUEUE) == [one.tier for one in QUEUE]


@pytest.mark.parametrize("network", NETWORKS)
def test_har2_has_every_network_under_both_recipes_with_and_without_held_out_subjects(network):
    seeds = range(5 if network in FIVE_SEEDS else 3)
    expected = {
        (recipe, seed, retrain) for recipe in ("published", "own") for seed in seeds for retrain in (False, True)
    }
    mine = [one for one in QUEUE if one.name.split("-seed")[0] in (f"har2-published-{network}", f"har2-own-{network}")]
    found = {
        (one.name.split("-")[1], one.run.settings.seed, one.run.task_settings.get("retrain", False)) for one in mine
    }
    assert found == expected
    assert len(mine) == len(expected)


def test_the_predictions_are_tested_first():
    assert [one.name for one in QUEUE[:4]] == [
        f"har2-published-{network}-seed0-{split}"
        for network in ("fastrnn", "ernn-k1")
        for split in ("held-out", "whole")
    ]


def test_a_queue_goes_on_from_what_another_machine_kept(whole, tmp_path):
    path = io.save(results(TWO, whole), tmp_path / "trainings.nc")
    queue = (*TWO, digits("third", seed=2, retrain=True))
    take_over(queue, tmp_path / "here", path)
    assert finished(queue, tmp_path / "here") == ["first", "second"]
    said = []
    work(queue, tmp_path / "here", say=said.append)
    assert {line.split(":")[0] for line in said if "epoch" in line} == {"third"}
    assert [line.split(":")[0] for line in said if "an iteration" in line] == ["third"]  # the finished are not timed
    both = results(queue, tmp_path / "here")
    assert both.sel(training=["first", "second"]).equals(io.open(path))
    assert json.loads(both.attrs["settings"])["data"] == json.loads(io.open(path).attrs["settings"])["data"]


def test_what_another_machine_trained_otherwise_is_trained_anew(whole, tmp_path):
    path = io.save(results(TWO, whole), tmp_path / "trainings.nc")
    queue = (digits("first", lr=0.03), TWO[1])
    take_over(queue, tmp_path / "here", path)
    assert finished(queue, tmp_path / "here") == ["second"]


def test_the_kept_trainings_come_back_number_for_number(tmp_path):
    take_over(QUEUE, tmp_path)
    again, shipped = results(QUEUE, tmp_path), io.open(RECORDED)
    xr.testing.assert_equal(again, shipped)
    assert json.loads(again.attrs["settings"]) == json.loads(shipped.attrs["settings"])
