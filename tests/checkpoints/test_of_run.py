"""The checkpoints of one run: their order, their steps, and what is no run."""

import pytest
import torch
from torch import nn

from dynlab.checkpoints.of_run import read_run
from dynlab.errors import UserError


@pytest.fixture
def write(tmp_path):
    """Write a network whose weights are all `value`; with `step` as Lightning says it."""

    def to(name, value, step=None, size=4):
        weights = {key: torch.full_like(one, value) for key, one in nn.GRU(3, size).state_dict().items()}
        said = {} if step is None else {"global_step": step}
        torch.save({"state_dict": weights, "pytorch-lightning_version": "2.5.0"} | said, tmp_path / name)
        return tmp_path / name

    return to


def test_the_order_is_that_of_the_steps_in_the_files_and_not_of_the_names(write, tmp_path):
    write("epoch=2.ckpt", 0.3, step=200)
    write("epoch=10.ckpt", 0.4, step=1000)
    write("a.ckpt", 0.1, step=0)
    write("last.ckpt", 0.4, step=1000)  # one of the others
    assert [each.step for each in read_run(tmp_path)] == [0, 200, 1000]
    assert [each.path.name for each in read_run(f"{tmp_path}/*.ckpt")][:2] == ["a.ckpt", "epoch=2.ckpt"]


def test_names_are_asked_where_files_do_not_say(write):
    files = [write("model-20.ckpt", 0.2), write("model-3.ckpt", 0.1), write("model-100.ckpt", 0.3, step=7)]
    assert [each.step for each in read_run(files)] == [3, 20, 100]  # not 7: the two need not count the same


NO_RUN = {
    "no step": ([("a.ckpt", 0.1), ("b-1.ckpt", 0.1)], "does not say at which step"),
    "two of one step": ([("a.ckpt", 0.1, 5), ("b.ckpt", 0.2, 5)], "are different networks of the same step 5"),
    "one": ([("a.ckpt", 0.1, 5), ("b.ckpt", 0.1, 5)], "at least two steps, got 1 in 2 files"),
    "two sizes": ([("a.ckpt", 0.1, 5, 4), ("b.ckpt", 0.1, 6, 5)], "gru of 4 units and 3 inputs"),
    "none": ([], "got 0 in 0 files"),
}


@pytest.mark.parametrize("files, sentence", NO_RUN.values(), ids=NO_RUN)
def test_what_is_no_run_is_said_in_one_sentence(files, sentence, write, tmp_path):
    for each in files:
        write(*each)
    with pytest.raises(UserError, match=sentence):
        read_run(tmp_path)
    with pytest.raises(UserError, match="There is no file"):
        read_run(str(tmp_path / "*.none"))
