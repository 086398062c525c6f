"""`dynlab train` as it is typed: what it prints and writes."""

import torch

from dynlab import checkpoints
from dynlab.cli.main import run
from dynlab.cli.train import SETTINGS
from dynlab.training import PRESETS, Preset, Settings

SMALL = ["--task", "digits", "--batch-size", "600", "--epochs", "1"]
VANILLA = ["train", "--system", "vanilla", "--set", "state_size=3", *SMALL]


def test_a_training_leaves_a_checkpoint_at_the_default_place_whose_command_makes_the_same_network(folder, capsys):
    assert run([*VANILLA, "--task-set", "seed=3", "--label-smoothing", "0.1"]) == 0
    printed = capsys.readouterr()
    one = checkpoints.read(folder / "runs" / "vanilla-digits-seed0" / "network.pt")
    assert printed.out.startswith("runs/vanilla-digits-seed0/network.pt: epoch 1")
    assert f"test accuracy {one.facts['test_accuracy']:.4f}, 15 cell parameters" in printed.out
    assert "\nepoch 1 of 1: loss " in printed.err
    assert run([*one.facts["command"].split()[1:], "-o", "two"]) == 0
    assert torch.equal(one.system.W, checkpoints.read(folder / "two" / "network.pt").system.W)


def test_every_setting_is_an_option():
    assert set(SETTINGS) == set(Settings.__dataclass_fields__)


def test_what_is_of_a_presets_system_or_optimizer_goes_with_it(printed_json, monkeypatch):
    settings = Settings(epochs=1, batch_size=600, optimizer="rmsprop", alpha=0.9, constrained_lr=1e-3, penalty=0.5)
    monkeypatch.setitem(PRESETS, "some", Preset("nnrnn", "digits", settings, {"state_size": 4}))
    other = ["--system", "vanilla", "--optimizer", "adam"]
    for name, more, expected in (("one", [], (0.9, 1e-3, 0.5)), ("two", other, (0.99, None, 0.0))):
        line = ["train", "--preset", "some", "-o", name, "--json", "--quiet", "--set", "state_size=2", *more]
        found = printed_json(line)["settings"]
        assert (found["alpha"], found["constrained_lr"], found["penalty"]) == expected
        assert found["epochs"] == 1
