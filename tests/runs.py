"""Training runs, compared file by file and stopped where a test wants it."""

import torch


class Stopped(Exception):
    """Stands for whatever kills a process."""


def stored(folder, name):
    """Every value in a checkpoint by its path in it."""
    return _leaves(torch.load(folder / name, weights_only=True))


def differing(one, other):
    """The paths at which two checkpoints, read by `stored`, differ in a bit or a dtype."""
    assert one.keys() == other.keys()
    return [key for key in one if not _same(one[key], other[key])]


def _leaves(tree, path=""):
    # the names of files differ between folders
    if isinstance(tree, dict):
        pairs = [(str(key), value) for key, value in tree.items() if "ModelCheckpoint" not in str(key)]
    elif isinstance(tree, list | tuple):
        pairs = [(str(index), value) for index, value in enumerate(tree)]
    else:
        return {path: tree}
    return {name: leaf for key, value in pairs for name, leaf in _leaves(value, f"{path}/{key}").items()}


def _same(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return one == other
