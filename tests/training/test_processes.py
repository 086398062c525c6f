"""A run shared by two processes is the run of one, up to rounding, and resumes bit for bit."""

import shutil

import pytest
import torch
from runs import differing, stored

from dynlab import checkpoints
from dynlab.errors import UserError
from dynlab.training import Run, Settings, resume, train

# 1,150 images in batches of 383: the last batch has one row, which is the first process's alone
# and constrained parameters have an optimizer of their own
SETTINGS = Settings(
    epochs=2,
    batch_size=383,
    lr=0.1,
    optimizer="sgd",
    constrained_lr=0.01,
    constrained_optimizer="gd",
    noise=0.1,
    clip=1.0,
    penalty=0.1,
)
RUN = Run("nnrnn", "digits", SETTINGS, {"state_size": 4})
ROUNDING = 1e-5  # sums in float32 in another order, over eight steps


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return train(RUN, tmp_path_factory.mktemp("shared") / "run", devices=2, keep_every=3)


def test_two_processes_do_what_one_does(shared, tmp_path):
    alone = train(RUN, tmp_path / "run")
    one, other = (checkpoints.read(run.checkpoint).system.state_dict() for run in (alone, shared))
    assert all((one[name] - other[name]).abs().max() < ROUNDING for name in one)
    for name in ("metrics.csv", "steps.csv"):
        rows = [(run.checkpoint.parent / name).read_text().splitlines()[1:] for run in (alone, shared)]
        values = [[[float(value) for value in row.split(",")] for row in part] for part in rows]
        assert torch.allclose(torch.tensor(values[0]), torch.tensor(values[1]), atol=1e-4)


def test_a_shared_run_resumes_bit_for_bit(shared, tmp_path):
    """From a checkpoint within an epoch, as a killed run leaves it."""
    folder = tmp_path / "run"
    shutil.copytree(shared.checkpoint.parent, folder)
    shutil.copy(folder / "step-000003.ckpt", folder / "last.ckpt")
    resume(folder)
    for name in ("last.ckpt", "best.ckpt", "network.pt"):
        assert differing(stored(shared.checkpoint.parent, name), stored(folder, name)) == []


def test_what_is_wrong_in_a_process_is_said_as_in_any_run(tmp_path):
    settings = Settings(epochs=1, optimizer="sgd", lr=1e30)
    run = Run("vanilla", "adding", settings, {"state_size": 3, "activation": "identity"}, {"train_size": 400})
    with pytest.raises(UserError, match="diverged in epoch 1"):
        train(run, tmp_path / "run", devices=2)


@pytest.mark.parametrize(
    "settings, device, devices, sentence",
    [
        (SETTINGS, "cpu", 0, "--devices must be at least 1, got 0"),
        (Settings(batch_size=1), "cpu", 2, "A batch of 1 has no rows for --devices 2"),
    ],
)
def test_a_number_of_devices_that_cannot_be_is_named(settings, device, devices, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence):
        train(Run("vanilla", "digits", settings, {"state_size": 3}), tmp_path / "run", device=device, devices=devices)
