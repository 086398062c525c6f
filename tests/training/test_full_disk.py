"""A disk that fills while a run writes: the last good checkpoint survives, and one sentence says what happened."""

import resource
import shutil
import subprocess
import sys

import pytest

from dynlab import checkpoints, files
from dynlab.errors import UserError
from dynlab.training import Run, Settings, resume, train

RUN = Run("vanilla", "digits", Settings(epochs=4, batch_size=600), {"state_size": 24})

# No file can grow beyond the limit any more once the second epoch is over: what a full disk does, by the kernel.
FILLING = """
import resource, signal, sys
from dynlab.cli.main import main
from dynlab.training.history import History
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
said = History.last_line
def last_line(self):
    if self.rows[-1]["epoch"] == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    return said(self)
History.last_line = last_line
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit on the size of files")
def test_the_last_good_checkpoint_survives_and_the_run_goes_on_from_it(tmp_path):
    options = ["--system", "vanilla", "--set", "state_size=24", "--task", "digits", "--epochs", "4"]
    command = [sys.executable, "-c", FILLING, "train", *options, "--batch-size", "600", "-o", "run"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    last_line = ended.stderr.strip().splitlines()[-1]
    assert "could not be written (File too large)" in last_line
    assert "Traceback" not in ended.stderr
    folder = tmp_path / "run"
    assert not list(folder.glob("*.partial"))
    assert checkpoints.read(folder / "last.ckpt").facts["epoch"] in (1, 2)
    resumed = resume(folder)
    whole = train(RUN, tmp_path / "whole")
    assert resumed.facts["test_loss"] == whole.facts["test_loss"]


def test_half_a_checkpoint_of_a_killed_run_is_never_taken(tmp_path):
    first = train(RUN, tmp_path / "run")
    folder = tmp_path / "run"
    good = (folder / "last.ckpt").read_bytes()
    (folder / "last.ckpt.partial").write_bytes(good[: len(good) // 2])
    assert resume(folder).facts == first.facts
    assert (folder / "last.ckpt").read_bytes() == good


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_dynlabs_own_checkpoint_stays_where_a_new_one_cannot_be_written(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"network{suffix}"
    found = train(RUN, tmp_path / "run").checkpoint
    shutil.copy(found, tmp_path / "network.pt")
    path.write_bytes(b"precious")
    monkeypatch.setattr("os.replace", refuse)
    read = checkpoints.read(found)
    document = checkpoints.document(read.system, None, {"name": "digits"}, {})
    with pytest.raises(UserError, match="could not be written"):
        checkpoints.write(path, document)
    assert path.read_bytes() == b"precious"
    assert not list(tmp_path.glob(".*.partial"))


def refuse(*_):
    raise OSError(28, "No space left on device")


def test_a_text_file_is_replaced_only_by_a_whole_one(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    files.write_text(path, "before")
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(UserError, match=r"No space left on device.*make room"):
        files.write_text(path, "after")
    assert path.read_text() == "before"
    assert not list(tmp_path.glob("*.partial"))
