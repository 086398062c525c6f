"""A run: what it leaves, that it resumes bit for bit, and what it refuses before it writes anything."""

import itertools

import pytest
import torch
from runs import Stopped, differing, stored

from dynlab import checkpoints, tasks
from dynlab.errors import UserError
from dynlab.training import Run, Settings, resume, train
from dynlab.training import prepare as prepare_module
from dynlab.training.module import Training
from dynlab.training.network import Network, evaluate

# Everything that has a state: dropout's generator, the average, Adam's moments, the schedule, noise and order of data.
SETTINGS = Settings(
    epochs=3, batch_size=300, clip=1.0, schedule="cosine", dropout=0.2, noise=0.1, ema=0.9, weight_decay=1e-3
)
BATCHES = 4  # 1,150 training images
RUN = Run("lstm", "digits", SETTINGS, {"hidden_size": 4})
FILES = ("last.ckpt", "best.ckpt", "network.pt")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    return train(RUN, folder, checkpoint_every=3)


@pytest.mark.parametrize("stop", [BATCHES + 3], ids=lambda stop: f"before step {stop} of {3 * BATCHES}")
def test_a_resumed_run_ends_bit_for_bit_as_it_would_have(stop, whole, stop_at, tmp_path):
    folder = tmp_path / "run"
    stop_at(stop)
    with pytest.raises(Stopped):
        train(RUN, folder, checkpoint_every=3)
    assert not (folder / "network.pt").exists()
    stop_at(None)
    torch.manual_seed(stop)  # what else the process has drawn does not matter
    resumed = resume(folder)
    assert resumed.facts == whole.facts
    assert (folder / "metrics.csv").read_text() == (whole.checkpoint.parent / "metrics.csv").read_text()
    for name in FILES:
        assert differing(stored(whole.checkpoint.parent, name), stored(folder, name)) == []


def test_a_run_stopped_between_the_last_batch_and_the_end_of_its_epoch_has_that_end_when_resumed(
    whole, monkeypatch, tmp_path
):
    """An end has the row of metrics, the validation, and what a schedule and the best checkpoint make of it."""
    folder = tmp_path / "run"
    original, count = Training.validation_step, itertools.count(1)

    def stopping(self, batch, index):
        if next(count) == 2:
            raise Stopped
        original(self, batch, index)

    monkeypatch.setattr(Training, "validation_step", stopping)
    with pytest.raises(Stopped):
        train(RUN, folder, checkpoint_every=BATCHES // 2)  # so that one falls on the last batch
    monkeypatch.setattr(Training, "validation_step", original)
    resume(folder)
    assert (folder / "metrics.csv").read_text() == (whole.checkpoint.parent / "metrics.csv").read_text()
    for name in ("best.ckpt", "network.pt"):
        assert differing(stored(whole.checkpoint.parent, name), stored(folder, name)) == []


@pytest.mark.parametrize("stop", [7])
def test_a_run_on_new_sequences_in_every_epoch_resumes_bit_for_bit(stop, stop_at, tmp_path):
    task = {"symbols": 2, "delay": 3, "train_size": 20, "test_size": 4, "fresh": True}
    run = Run("gru", "copying", Settings(epochs=3, batch_size=8), {"hidden_size": 3}, task)  # three batches an epoch
    train(run, tmp_path / "whole", checkpoint_every=2)
    stop_at(stop)
    with pytest.raises(Stopped):
        train(run, tmp_path / "stopped", checkpoint_every=2)
    stop_at(None)
    resume(tmp_path / "stopped")
    for name in FILES:
        assert differing(stored(tmp_path / "whole", name), stored(tmp_path / "stopped", name)) == []


def test_the_checkpoint_holds_what_was_measured(whole):
    found = checkpoints.read(whole.checkpoint)
    task = tasks.create("digits")
    network = Network(found.system, task)
    network.readout.load_state_dict(found.readout.state_dict())
    for name in ("validation", "test"):
        scores = evaluate(network, task, getattr(task, name))
        assert scores["accuracy"] == whole.facts[f"{name}_accuracy"]
        assert scores["loss"] == whole.facts[f"{name}_loss"]
    assert found.task == found.system.task == "digits"
    assert found.system.task_settings == {"seed": 0, "retrain": False}
    assert whole.facts["cell_parameters"] == 4 * (4 * 4 + 4 * 1 + 2 * 4)
    assert whole.facts["data"]["sha256"] == task.source["sha256"]


def test_the_command_among_the_facts_does_the_same(whole):
    assert whole.facts["command"] == (
        "dynlab train --system lstm --task digits --set hidden_size=4 --epochs 3 --batch-size 300 --schedule cosine "
        "--weight-decay 0.001 --clip 1.0 --dropout 0.2 --noise 0.1 --ema 0.9"
    )


@pytest.mark.parametrize(
    "run, message",
    [
        (Run("lsmt", "digits"), "Unknown system 'lsmt': .*did you mean 'lstm'"),
        (Run("lstm", "digit"), "Unknown task 'digit'"),
        (Run("lstm", "digits"), "needs the setting 'hidden_size'; it takes input_size, hidden_size, num_layers"),
        (Run("lstm", "digits", config={"hidden_size": 3, "input_size": 2}), "width 2, task 'digits' gives 1"),
        (Run("henon", "digits"), "nothing to train"),
        (Run("lstm", "digits", Settings(augment=("scale",)), {"hidden_size": 3}), "has no augmentation"),
        (Run("lstm", "digits", config={"hidden_size": 3}, task_settings={"size": 1}), "takes no setting 'size'"),
    ],
)
def test_what_cannot_be_trained_is_said_and_nothing_is_written(run, message, tmp_path):
    with pytest.raises(UserError, match=message):
        train(run, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_is_replaced_only_when_asked_and_only_a_run(tmp_path):
    small = Run("vanilla", "digits", Settings(epochs=1, batch_size=600), {"state_size": 2})
    train(small, tmp_path / "run")
    with pytest.raises(UserError, match=r"exists: resume the run in it with --resume, or replace it with --overwrite"):
        train(small, tmp_path / "run")
    stale, mine = tmp_path / "run" / "step-000100.ckpt", tmp_path / "run" / "notes.txt"
    stale.write_bytes(b"")
    mine.write_text("mine")
    train(small, tmp_path / "run", overwrite=True)
    assert mine.exists()
    assert not stale.exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="holds no training run, so it is not overwritten"):
        train(small, tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_the_checkpoint_of_another_run_is_refused(stop_at, tmp_path):
    stop_at(BATCHES + 1)
    with pytest.raises(Stopped):
        train(RUN, tmp_path / "run")
    stop_at(None)
    file = tmp_path / "run" / "run.json"
    file.write_text(file.read_text().replace('"lr": 0.01', '"lr": 0.02'))
    with pytest.raises(UserError, match=r"The checkpoint is of another run, `dynlab train"):
        resume(tmp_path / "run")


def test_kept_checkpoints_are_of_the_untrained_network_and_of_every_so_many_batches(whole, tmp_path):
    kept = train(RUN, tmp_path / "run", checkpoint_every=3, keep_every=5)
    folder = kept.checkpoint.parent
    names = [path.name for path in sorted(folder.glob("step-*.ckpt"))]
    assert names == ["step-000000.ckpt", "step-000005.ckpt", "step-000010.ckpt"]  # of 12 batches
    assert [stored(folder, name)["/global_step"] for name in names] == [0, 5, 10]
    untrained = prepare_module.prepare(RUN)[1].system.state_dict()
    found = checkpoints.read(folder / names[0]).system.state_dict()
    assert all(torch.equal(found[name], untrained[name]) for name in untrained)
    assert kept.facts == whole.facts  # to keep them changes nothing
    for name in FILES:
        assert differing(stored(whole.checkpoint.parent, name), stored(folder, name)) == []
