"""Whose checkpoint a run goes on from, and that nothing is missing in it."""

import dataclasses
import json
import os
import shutil
import warnings

import pytest
import torch
from runs import Stopped, differing, stored

from dynlab.errors import UserError
from dynlab.training import Run, Settings, resume, train
from dynlab.training.module import Training

SETTINGS = Settings(epochs=3, batch_size=300)
TASK = {"train_size": 40, "test_size": 8, "length": 10}
RUN = Run("rnn", "flipflop", dataclasses.replace(SETTINGS, batch_size=8), {"hidden_size": 3}, TASK)
EPOCH = 4  # batches of it


def interrupted(run, folder, **options):
    """A run that was stopped in its second epoch."""
    original, count = Training.training_step, iter(range(10**6))

    def step(self, batch, index):
        if next(count) == EPOCH + 2:
            raise Stopped
        return original(self, batch, index)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "training_step", step)
        with pytest.raises(Stopped):
            train(run, folder, **options)
    return folder


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    return interrupted(RUN, tmp_path_factory.mktemp("once") / "run")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(RUN, tmp_path_factory.mktemp("whole") / "run").checkpoint.parent


@pytest.fixture
def folder(once, tmp_path):
    return shutil.copytree(once, tmp_path / "run")


OTHERS = {
    "seed": (dataclasses.replace(RUN, settings=dataclasses.replace(RUN.settings, seed=4)), "`--seed 4`"),
    "rate": (dataclasses.replace(RUN, settings=dataclasses.replace(RUN.settings, lr=0.5)), "`--lr 0.5`"),
    "task": (dataclasses.replace(RUN, task_settings=TASK | {"length": 12}), "`--task-set length=12`"),
}


@pytest.mark.parametrize("other, named", OTHERS.values(), ids=OTHERS)
def test_the_checkpoint_of_another_run_is_refused_and_what_differs_is_named(other, named, folder, tmp_path):
    interrupted(other, tmp_path / "other")
    shutil.copy(tmp_path / "other" / "last.ckpt", folder / "last.ckpt")
    with pytest.raises(UserError, match=rf"last.ckpt does not fit its run \(it is of a run with {named}, where this"):
        resume(folder)


CHANGED = {
    "lr": (lambda run: run["settings"].update(lr=0.02), "no such option, where this one has `--lr 0.02`"),
    "seed": (lambda run: run["settings"].update(seed=9), "no such option, where this one has `--seed 9`"),
    "length": (lambda run: run["task_settings"].update(length=12), "`--task-set length=10`, where this one has"),
    "epochs": (lambda run: run["settings"].update(epochs=5), "`--epochs 3`, where this one has `--epochs 5`"),
}


@pytest.mark.parametrize("change, message", CHANGED.values(), ids=CHANGED)
def test_a_run_whose_settings_were_changed_is_not_resumed(change, message, folder):
    run = json.loads((folder / "run.json").read_text())
    change(run)
    (folder / "run.json").write_text(json.dumps(run))
    with pytest.raises(UserError, match=f"last.ckpt does not fit its run .*{message}"):
        resume(folder)
    assert not (folder / "network.pt").exists()


def test_only_the_first_of_many_differences_are_named(folder, tmp_path):
    run = json.loads((folder / "run.json").read_text())
    run["settings"].update(lr=0.02, seed=9, clip=1.0, ema=0.5, dropout=0.1)
    (folder / "run.json").write_text(json.dumps(run))
    with pytest.raises(UserError, match=r"where this one has `--clip 1.0`, `--dropout 0.1`, …\); start"):
        resume(folder)


def test_the_best_checkpoint_of_another_run_is_not_taken_for_this_ones(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    interrupted(OTHERS["seed"][0], tmp_path / "other")
    shutil.copy(tmp_path / "other" / "best.ckpt", folder / "best.ckpt")
    with pytest.raises(UserError, match=r"best.ckpt does not fit its run \(it is of a run with `--seed 4`"):
        resume(folder)


GUTTED = {
    "no optimizer": (lambda found: found.update(optimizer_states=[]), "no state of the optimizer"),
    "an empty optimizer": (lambda found: found["optimizer_states"][0]["state"].clear(), "no state of the optimizer"),
    "loops that are nothing": (lambda found: found.update(loops=None), "where in the data it was"),
    "no loops": (lambda found: found.pop("loops"), "where in the data it was"),
    "a hollow loop": (lambda found: found["loops"].update(fit_loop={"state_dict": {}}), "where in the data it was"),
    "empty callbacks": (lambda found: found.update(callbacks={}), "rows of metrics or the best score"),
    "foreign callbacks": (lambda found: found.update(callbacks={"x": 1}), "rows of metrics or the best score"),
    "no callbacks": (lambda found: found.pop("callbacks"), "rows of metrics or the best score"),
    "other rows": (
        lambda found: found["callbacks"]["History"].update(rows=[{"epoch": 1, "x": 2.0}]),
        "rows of metrics",
    ),
    "rows of text": (lambda found: found["callbacks"]["History"].update(rows=["epoch"]), "rows of metrics"),
    "more processes": (lambda found: found["processes"].append(found["processes"][0]), "it is of 2 processes"),
    "no command": (lambda found: found["dynlab"]["training"].pop("command"), "'command'"),
}


@pytest.mark.parametrize("change, message", GUTTED.values(), ids=GUTTED)
def test_a_checkpoint_that_lacks_what_the_result_depends_on_is_refused(change, message, folder):
    found = torch.load(folder / "last.ckpt", weights_only=True)
    change(found)
    torch.save(found, folder / "last.ckpt")
    with pytest.raises(UserError, match=rf"last.ckpt does not fit its run \(.*{message}.*\); start the run anew"):
        resume(folder)
    assert not (folder / "network.pt").exists()


def test_plain_gradient_descent_has_no_state_to_lack(tmp_path):
    run = dataclasses.replace(RUN, settings=dataclasses.replace(RUN.settings, optimizer="gd"))
    assert resume(interrupted(run, tmp_path / "run")).facts["settings"]["optimizer"] == "gd"


def test_rows_with_other_columns_are_refused(folder):
    run = json.loads((folder / "run.json").read_text())
    run["writes"]["test_every_epoch"] = True
    (folder / "run.json").write_text(json.dumps(run))
    with pytest.raises(UserError, match="its rows of metrics are not those of this run"):
        resume(folder)


def test_the_rows_of_the_test_split_are_this_runs(tmp_path):
    resume(interrupted(RUN, tmp_path / "run", test_every_epoch=True))
    assert (tmp_path / "run" / "metrics.csv").read_text().startswith("epoch,loss,validation_loss,validation_mse,test_")


def test_what_is_written_may_change_between(folder, whole):
    run = json.loads((folder / "run.json").read_text())
    run["writes"]["checkpoint_every"] = 3
    (folder / "run.json").write_text(json.dumps(run))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resume(folder)
    assert differing(stored(whole, "network.pt"), stored(folder, "network.pt")) == []


def test_a_moved_run_remembers_its_best_epoch_and_nothing_is_warned_of(monkeypatch, tmp_path):
    """Validation scores that only get worse: the best epoch is the first, in whatever folder the others are."""
    original = Training.log_dict
    scores = iter(range(1, 100))

    def worse(self, values, **named):
        original(self, dict.fromkeys(values, float(next(scores))), **named)

    monkeypatch.setattr(Training, "log_dict", worse)
    moved = interrupted(RUN, tmp_path / "run").rename(tmp_path / "moved")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resume(moved).facts["epoch"] == 1
    found = torch.load(moved / "last.ckpt", weights_only=True)["callbacks"]
    folders = {state["dirpath"] for name, state in found.items() if "ModelCheckpoint" in name}
    assert folders == {str(moved)}
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_by_another_lightning_is_not_warned_of(folder):
    found = torch.load(folder / "last.ckpt", weights_only=True)
    torch.save(found | {"pytorch-lightning_version": "99.0"}, folder / "last.ckpt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resume(folder)


@pytest.mark.parametrize("what", ["folder", "pipe", "link", "device"])
def test_what_is_no_checkpoint_under_its_name_is_said(what, folder):
    last = folder / "last.ckpt"
    last.unlink()
    make = {"folder": last.mkdir, "pipe": lambda: os.mkfifo(last)}
    make |= {"link": lambda: last.symlink_to("nowhere"), "device": lambda: last.symlink_to("/dev/zero")}
    make[what]()
    with pytest.raises(UserError, match=r"last.ckpt is a folder, a pipe, a device or a link .*: move it away, and put"):
        resume(folder)


def test_the_folder_of_the_data_is_no_setting_of_a_run(tmp_path):
    with pytest.raises(UserError, match="data_dir is no setting of a run: name the folder of the data with --data-dir"):
        train(dataclasses.replace(RUN, task_settings={"data_dir": "/etc"}), tmp_path / "run")


@pytest.mark.parametrize("augment", [[1], [["scale"]], [None]])
def test_augmentations_that_are_no_text_are_named(augment, folder):
    run = json.loads((folder / "run.json").read_text())
    run["settings"]["augment"] = augment
    (folder / "run.json").write_text(json.dumps(run))
    with pytest.raises(UserError, match=r"run.json is damaged \(augment is .*, which is no list of texts\)"):
        resume(folder)
