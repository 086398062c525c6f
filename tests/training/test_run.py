"""A run: what it leaves, that it resumes bit for bit, and what it refuses before it writes anything."""

import pytest
import torch
from archives import put

from dynlab import checkpoints, tasks
from dynlab.errors import UserError
from dynlab.training import Run, Settings, resume, train
from dynlab.training.network import Network, evaluate
from dynlab.training.prepare import prepare

# Everything that has a state: dropout's generator, the average, Adam's moments, the schedule, noise and order of data.
SETTINGS = Settings(
    epochs=3, batch_size=300, clip=1.0, schedule="cosine", dropout=0.2, noise=0.1, ema=0.9, weight_decay=1e-3
)
BATCHES = 4  # 1,150 training images
RUN = Run("lstm", "digits", SETTINGS, {"hidden_size": 4})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    return train(RUN, folder, checkpoint_every=3)


def test_a_resumed_run_ends_bit_for_bit_as_it_would_have(whole, assert_resumes):
    found = assert_resumes(RUN, whole.checkpoint.parent, BATCHES + 3, checkpoint_every=3)
    assert found.facts == whole.facts


def test_a_run_stopped_between_the_last_batch_and_the_end_of_its_epoch_has_that_end_when_resumed(whole, assert_resumes):
    """An end has the row of metrics, the validation, and what a schedule and the best checkpoint make of it."""
    names, every = ("best.ckpt", "network.pt"), BATCHES // 2  # so that a checkpoint falls on the last batch
    assert_resumes(RUN, whole.checkpoint.parent, 1, "validation_step", names=names, checkpoint_every=every)


def test_a_run_on_new_sequences_in_every_epoch_resumes_bit_for_bit(assert_resumes, tmp_path):
    task = {"symbols": 2, "delay": 3, "train_size": 20, "test_size": 4, "fresh": True}
    run = Run("gru", "copying", Settings(epochs=3, batch_size=8), {"hidden_size": 3}, task)  # three batches an epoch
    train(run, tmp_path / "whole", checkpoint_every=2)
    assert_resumes(run, tmp_path / "whole", 7, checkpoint_every=2)


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
    assert whole.facts["command"] == (
        "dynlab train --system lstm --task digits --set hidden_size=4 --epochs 3 --batch-size 300 --schedule cosine "
        "--weight-decay 0.001 --clip 1.0 --dropout 0.2 --noise 0.1 --ema 0.9"
    )


@pytest.mark.parametrize(
    "run, message",
    [
        (Run("lstm", "digit"), "Unknown task 'digit'"),
        (Run("lstm", "digits", config={"hidden_size": 3, "input_size": 2}), "width 2, task 'digits' gives 1"),
        (Run("henon", "digits"), "nothing to train"),
        (Run("lstm", "digits", Settings(augment=("scale",)), {"hidden_size": 3}), "Unknown augmentation of digits"),
    ],
)
def test_what_cannot_be_trained_is_said_and_nothing_is_written(run, message, tmp_path):
    with pytest.raises(UserError, match=message):
        train(run, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_is_replaced_only_when_asked_and_only_a_run(tmp_path):
    small = Run("vanilla", "digits", Settings(epochs=1, batch_size=600), {"state_size": 2})
    train(small, tmp_path / "run")
    with pytest.raises(UserError, match=r"--resume, or replace it with --overwrite"):
        train(small, tmp_path / "run")
    put(tmp_path, {"run/step-000100.ckpt": b"", "run/notes.txt": "mine", "mine/thesis.tex": "x"})
    train(small, tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / "notes.txt").exists()
    assert not (tmp_path / "run" / "step-000100.ckpt").exists()
    with pytest.raises(UserError, match="holds no training run"):
        train(small, tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_the_checkpoint_of_another_run_is_refused(stopped, tmp_path):
    stopped(RUN, tmp_path / "run", BATCHES + 1)
    file = tmp_path / "run" / "run.json"
    file.write_text(file.read_text().replace('"lr": 0.01', '"lr": 0.02'))
    with pytest.raises(UserError, match=r"The checkpoint is of another run, `dynlab train"):
        resume(tmp_path / "run")


def test_kept_checkpoints_are_of_the_untrained_network_and_of_every_so_many_batches(whole, tmp_path):
    kept = train(RUN, tmp_path / "run", checkpoint_every=3, keep_every=5)
    folder = kept.checkpoint.parent
    steps = {path.name: checkpoints.read(path).facts["global_step"] for path in folder.glob("step-*.ckpt")}
    assert steps == {"step-000000.ckpt": 0, "step-000005.ckpt": 5, "step-000010.ckpt": 10}  # of 12 batches
    untrained = prepare(RUN)[1].system.state_dict()
    found = checkpoints.read(folder / "step-000000.ckpt").system.state_dict()
    assert all(torch.equal(found[name], untrained[name]) for name in untrained)
    assert kept.facts == whole.facts  # to keep them changes nothing
