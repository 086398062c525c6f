"""`dynlab train` as it is typed: what they print, their exit codes, and what survives Ctrl-C."""

import functools
import json
import re
import signal
import subprocess
import sys

import pytest
import torch

from dynlab import checkpoints
from dynlab.cli.main import run
from dynlab.cli.train import SETTINGS
from dynlab.training import PRESETS, Preset, Run, Settings, train

SMALL = ["--task", "digits", "--batch-size", "600", "--epochs", "1"]
STATE = [*SMALL, "--set", "state_size=3"]
VANILLA = ["train", "--system", "vanilla", "--set", "state_size=3", *SMALL]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_training_leaves_a_checkpoint_at_the_default_place_and_prints_its_scores(own_folder, capsys):
    assert run(VANILLA) == 0
    printed = capsys.readouterr()
    path = own_folder / "runs" / "vanilla-digits-seed0" / "network.pt"
    found = checkpoints.read(path)
    accuracy = found.facts["test_accuracy"]
    assert f"test accuracy {accuracy:.4f}, 15 cell parameters" in printed.out
    assert printed.out.startswith("runs/vanilla-digits-seed0/network.pt: epoch 1")
    assert "\nepoch 1 of 1: loss " in printed.err


def test_json_is_one_document_and_quiet_is_quiet(own_folder, capsys):
    assert run([*VANILLA, "--json", "--quiet", "-o", "here"]) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert facts["checkpoint"] == "here/network.pt"
    assert 0 <= facts["test_accuracy"] <= 1
    assert printed.err == ""


def test_the_command_in_the_checkpoint_makes_the_same_network(own_folder, capsys):
    assert run([*VANILLA, "--task-set", "seed=3", "--label-smoothing", "0.1", "-o", "one", "--json"]) == 0
    words = json.loads(capsys.readouterr().out)["command"].split()
    assert run([*words[1:], "-o", "two"]) == 0
    one, two = (checkpoints.read(own_folder / name / "network.pt").system for name in ("one", "two"))
    assert torch.equal(one.W, two.W)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ([], "Name what is trained and what on: --system ernn --task har2, or a --preset."),
        (["--preset", "har2-ern-k1"], "Unknown preset 'har2-ern-k1': did you mean 'har2-ernn-k1'.*list presets"),
        (["--system", "lsmt", *SMALL], "Unknown system 'lsmt'.*did you mean 'lstm'"),
        (["--system", "lstm", *SMALL, "--lr", "0"], "--lr must be a positive number, got 0.0"),
        (["--system", "lstm", *SMALL, "--set", "hidden_size"], "'hidden_size' is not KEY=VALUE"),
        (["--system", "lstm", *SMALL, "--set", "size=3"], "System 'lstm' takes no setting 'size'; it takes"),
        (["--system", "lstm", *SMALL, "--set", "hidden_size=2", "--penalty", "1"], "as it is set has no penalty"),
        (["--system", "lstm", "--task", "har2", "--data-dir", "nowhere"], "There is no data folder nowhere"),
        (
            ["--system", "lstm", *SMALL, "--set", "hidden_size=2", "--device", "abacus"],
            "There is no device 'abacus'",
        ),
        (["--system", "dtriv", *STATE, "--constrained-lr", "0"], "--constrained-lr must be a positive number, got 0.0"),
        (["--system", "dtriv", *STATE, "--ema", "0.9"], "'dtriv' moves the base .* no average, got --ema 0.9: leave"),
        (["--system", "kru", *SMALL, "--set", "hidden_size=6"], "is a power of 2; got 6: take 8"),
        (["--system", "asrnn", *STATE, "--set", "a=none"], "System 'asrnn': a must be a number, got None"),
        (["--system", "lstm", *SMALL, "--alpha", "0.9"], "--alpha is rmsprop's and the optimizer is adam"),
        (["--system", "lorenz", *SMALL], "has nothing to train"),
        (["--resume", "-o", "x", "--lr", "0.1"], "--resume takes only --output, the run's folder"),
        (["--resume", "-o", "x"], "x holds no training run"),
    ],
)
def test_bad_usage_is_one_sentence_and_writes_nothing(options, sentence, own_folder, capsys):
    assert run(["train", *options]) == 2
    printed = capsys.readouterr()
    assert re.search(sentence, printed.err)
    assert printed.out == ""
    assert list(own_folder.iterdir()) == []


def test_the_defaults_in_the_help_are_those_of_the_settings():
    fields = {name: getattr(Settings(), name) for name in SETTINGS}
    flags = {name for name, (kind, _) in SETTINGS.items() if kind is bool}
    assert {name for name, value in fields.items() if value is False} == flags
    said = {
        name: re.search(r"\[default: (.*)\]", text).group(1)
        for name, (_, text) in SETTINGS.items()
        if name not in flags
    }
    assert (said.pop("augment"), fields.pop("augment")) == ("none", ())
    assert (said.pop("constrained_lr"), fields.pop("constrained_lr")) == ("lr/10", None)
    assert (said.pop("constrained_optimizer"), fields.pop("constrained_optimizer")) == ("the same", None)
    assert (said.pop("loss"), fields.pop("loss")) == ("mse", None)
    assert Settings(lr=0.3).constrained_rate == 0.3 / 10
    assert {name: type(fields[name])(text) for name, text in said.items()} | dict.fromkeys(flags, False) == fields
    assert set(SETTINGS) == set(Settings.__dataclass_fields__)


def test_options_change_a_preset(own_folder, printed_json):
    options = ["--task", "digits", "--epochs", "1", "--batch-size", "600", "--set", "state_size=6", "--set", "rank=2"]
    facts = printed_json(["train", "--preset", "har2-ernn-k3", *options, "--json"])
    assert facts["settings"]["epochs"] == 1
    assert facts["settings"]["schedule"] == PRESETS["har2-ernn-k3"].settings.schedule
    assert facts["cell_parameters"] == 6 * 1 + 6 + 2 * 6 * 2 + 3 * 64  # W, b, V and H, K = 3 steps for 64 pixels


def test_what_is_of_a_presets_system_or_optimizer_goes_with_it(own_folder, monkeypatch, capsys):
    settings = Settings(epochs=1, batch_size=600, optimizer="rmsprop", alpha=0.9, constrained_lr=1e-3, penalty=0.5)
    monkeypatch.setitem(PRESETS, "some", Preset("nnrnn", "digits", settings, {"state_size": 4}))
    assert run(["train", "--preset", "some", "-o", "one", "--json", "--set", "state_size=2"]) == 0
    found = json.loads(capsys.readouterr().out)["settings"]
    assert (found["alpha"], found["constrained_lr"], found["penalty"]) == (0.9, 1e-3, 0.5)
    other = ["--system", "vanilla", "--set", "state_size=2", "--optimizer", "adam"]
    assert run(["train", "--preset", "some", "-o", "two", "--json", *other]) == 0
    found = json.loads(capsys.readouterr().out)["settings"]
    assert (found["alpha"], found["constrained_lr"], found["penalty"]) == (0.99, None, 0.0)


STOPPING = """
import os
from dynlab.cli.main import main
from dynlab.training.history import History
ended = History.on_train_epoch_end
def on_train_epoch_end(self, *of):
    ended(self, *of)
    if self.rows[-1]["epoch"] == 2:
        os.kill(os.getpid(), {signal})
History.on_train_epoch_end = on_train_epoch_end
main()
"""


@pytest.mark.slow
def test_a_run_that_is_stopped_leaves_its_last_epoch_and_goes_on(own_folder):
    # it stops itself in its second epoch: a signal from here would come when it comes
    stopping = STOPPING.format(signal=int(signal.SIGINT))
    command = [sys.executable, "-c", stopping, *VANILLA, "-o", "run"]
    command[command.index("--epochs") + 1] = "8"
    # a shell starts its background jobs with SIGINT ignored, which a child would inherit
    interruptible = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120, preexec_fn=interruptible)
    assert process.returncode == 130
    assert "Traceback" not in process.stderr
    last = checkpoints.read(own_folder / "run" / "last.ckpt")
    assert 1 <= last.facts["epoch"] < 8
    assert not (own_folder / "run" / "network.pt").exists()
    assert run(["train", "--resume", "-o", "run", "--quiet"]) == 0
    whole = train(Run("vanilla", "digits", Settings(epochs=8, batch_size=600), {"state_size": 3}), own_folder / "whole")
    resumed = checkpoints.read(own_folder / "run" / "network.pt")
    assert resumed.facts["test_loss"] == whole.facts["test_loss"]
    assert torch.equal(resumed.system.W, checkpoints.read(whole.checkpoint).system.W)
