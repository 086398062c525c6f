"""Trainings that stop where a test wants it, and are compared with whole ones file by file."""

import pytest
import torch

from dynlab.training import resume, train
from dynlab.training.module import Training


class Stopped(Exception):
    """Stands for whatever kills a process."""


@pytest.fixture
def stopped(monkeypatch):
    """Train until a step of the training, or another method of its module, is called for that number's time."""

    def run(training, folder, number, method="training_step", **options):
        original, calls = getattr(Training, method), iter(range(10**6))

        def step(self, batch, index):
            if next(calls) == number:
                raise Stopped
            return original(self, batch, index)

        monkeypatch.setattr(Training, method, step)
        with pytest.raises(Stopped):
            train(training, folder, **options)
        monkeypatch.setattr(Training, method, original)

    return run


@pytest.fixture
def assert_resumes(stopped, tmp_path):
    """Hold a training that was stopped and resumed to the files of a whole one, bit for bit."""

    def compare(run, whole, *where, names=("last.ckpt", "best.ckpt", "network.pt"), data_dir=None, **options):
        folder = tmp_path / "stopped"
        stopped(run, folder, *where, data_dir=data_dir, **options)
        assert not (folder / "network.pt").exists()
        torch.manual_seed(5)  # what else the process has drawn does not matter
        result = resume(folder, data_dir=data_dir)
        assert_same_files(whole, folder, names)
        return result

    return compare


def assert_same_files(one, other, names):
    for name in names:
        found, expected = (_leaves(torch.load(folder / name, weights_only=True)) for folder in (one, other))
        assert found.keys() == expected.keys()
        assert [key for key in found if not _same(found[key], expected[key])] == []
    assert (one / "metrics.csv").read_text() == (other / "metrics.csv").read_text()


def _leaves(tree, path=""):
    """Every value in a checkpoint by its path in it, without names of files, which differ between folders."""
    if isinstance(tree, dict):
        pairs = [(str(key), value) for key, value in tree.items() if "ModelCheckpoint" not in str(key)]
    elif isinstance(tree, list | tuple):
        pairs = list(enumerate(tree))
    else:
        return {path: tree}
    return {name: leaf for key, value in pairs for name, leaf in _leaves(value, f"{path}/{key}").items()}


def _same(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return one == other
