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
        model = nn.GRU(3, size)
        nn.init.constant_(model.weight_hh_l0, value)
        for other in ("weight_ih_l0", "bias_ih_l0", "bias_hh_l0"):
            nn.init.constant_(getattr(model, other), 0.0)
        said = {} if step is None else {"global_step": step}
        torch.save({"state_dict": model.state_dict(), "pytorch-lightning_version": "2.5.0"} | said, tmp_path / name)
        return tmp_path / name

    return to


def test_the_order_is_that_of_the_steps_in_the_files_and_not_of_the_names(write, tmp_path):
    write("epoch=2.ckpt", 0.3, step=200)
    write("epoch=10.ckpt", 0.4, step=1000)
    write("a.ckpt", 0.1, step=0)
    assert [each.step for each in read_run(tmp_path)] == [0, 200, 1000]
    assert [each.path.name for each in read_run(f"{tmp_path}/*.ckpt")] == ["a.ckpt", "epoch=2.ckpt", "epoch=10.ckpt"]


def test_names_are_asked_where_files_do_not_say(write):
    files = [write("model-20.ckpt", 0.2), write("model-3.ckpt", 0.1), write("model-100.ckpt", 0.3, step=7)]
    assert [each.step for each in read_run(files)] == [3, 20, 100]  # not 7: the two need not count the same


def test_a_last_and_a_best_checkpoint_are_one_of_the_others(write, tmp_path):
    for name, value, step in (("step-0.ckpt", 0.1, 0), ("step-9.ckpt", 0.2, 9), ("last.ckpt", 0.2, 9)):
        write(name, value, step)
    write("best.ckpt", 0.1, 0)
    assert [each.step for each in read_run(tmp_path)] == [0, 9]


@pytest.mark.parametrize(
    "files, sentence",
    [
        ([("a.ckpt", 0.1, None, 4), ("b-1.ckpt", 0.1, None, 4)], "does not say at which step"),
        ([("a.ckpt", 0.1, 5, 4), ("b.ckpt", 0.2, 5, 4)], "are different networks of the same step 5"),
        ([("a.ckpt", 0.1, 5, 4), ("b.ckpt", 0.1, 5, 4)], "at least two steps, got 1 in 2 files"),
        ([("a.ckpt", 0.1, 5, 4), ("b.ckpt", 0.1, 6, 5)], "gru of 4 units and 3 inputs"),
    ],
)
def test_what_is_no_run_is_said_in_one_sentence(files, sentence, write, tmp_path):
    for each in files:
        write(*each)
    with pytest.raises(UserError, match=sentence):
        read_run(tmp_path)


def test_no_files(tmp_path):
    with pytest.raises(UserError, match="got 0 in 0 files: check the path"):
        read_run(tmp_path)
    with pytest.raises(UserError, match="There is no file"):
        read_run(str(tmp_path / "*.ckpt"))
