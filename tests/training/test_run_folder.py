"""A run's folder: who may train into it, and what becomes of the run that another one replaces."""

import fcntl
import os
import signal
import subprocess
import sys

import pytest
from processes import COPIES, end
from runs import Stopped, differing, stored

from dynlab import checkpoints, files
from dynlab.errors import UserError
from dynlab.training import Run, Settings, resume, run_folder, train

OLD = Run("vanilla", "digits", Settings(epochs=1, batch_size=600), {"state_size": 2})
NEW = Run("vanilla", "digits", Settings(epochs=3, batch_size=600, seed=1), {"state_size": 2})
BATCHES = 2


@pytest.fixture
def folder(tmp_path):
    train(OLD, tmp_path / "run", keep_every=2)
    (tmp_path / "run" / "mine.txt").write_text("mine")
    return tmp_path / "run"


def contents(folder):
    kept = [path for path in folder.rglob("*") if path.is_file() and run_folder.REPLACED not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def is_whole(folder, seed):
    return checkpoints.read(folder / "network.pt").facts["seed"] == seed and (folder / "last.ckpt").is_file()


def full(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("error", [full, KeyboardInterrupt, Stopped], ids=["full disk", "interrupt", "bug"])
def test_a_run_that_ends_before_its_first_checkpoint_puts_the_old_one_back(error, folder, stop_at, monkeypatch):
    before = contents(folder)

    def failing(*_, **__):
        raise full() if error is full else error

    monkeypatch.setattr("dynlab.training.saving.as_torch", failing)
    with pytest.raises(OSError if error is full else error):
        train(NEW, folder, overwrite=True)
    assert contents(folder) == before
    assert not (folder / run_folder.REPLACED).exists()


def test_a_disk_that_is_full_at_once_leaves_the_old_run_as_it_was(folder, monkeypatch):
    before = contents(folder)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"could not be written \(No space left on device\); what was there before"):
        train(NEW, folder, overwrite=True)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: path.write_bytes(b"")], ids=["pipe", "folder", "empty"]
)
def test_the_best_checkpoint_is_looked_at_before_a_run_goes_on(make, folder):
    (folder / "best.ckpt").unlink()
    make(folder / "best.ckpt")
    with pytest.raises(UserError, match=r"best\.ckpt"):
        resume(folder)


def test_a_run_that_ends_later_leaves_both_and_is_resumed(folder, stop_at):
    old = {name: stored(folder, name) for name in ("network.pt", "last.ckpt", "best.ckpt")}
    stop_at(BATCHES + 1)
    with pytest.raises(Stopped):
        train(NEW, folder, overwrite=True)
    kept = folder / run_folder.REPLACED
    assert all(differing(stored(kept, name), old[name]) == [] for name in old)
    assert (kept / "step-000000.ckpt").is_file()
    assert not (folder / "network.pt").exists()
    assert not list(folder.glob("step-*.ckpt"))
    stop_at(None)
    assert resume(kept).facts["seed"] == 0
    assert resume(folder).facts["seed"] == 1
    assert not kept.exists()
    assert (folder / "mine.txt").read_text() == "mine"


def test_the_sentence_of_an_error_says_where_the_old_run_is(folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "write", lambda *_: files.write_bytes(folder, b""))
    with pytest.raises(UserError, match=r"The run that was to be replaced is kept in .*run.replaced\.$"):
        train(NEW, folder, overwrite=True)
    assert is_whole(folder / run_folder.REPLACED, 0)


def test_a_run_that_diverges_is_what_came_of_it_and_leaves_both(folder):
    settings = Settings(epochs=3, optimizer="sgd", lr=1e30)
    diverging = Run("vanilla", "adding", settings, {"state_size": 3, "activation": "identity"}, {"train_size": 400})
    with pytest.raises(UserError, match=r"diverged in epoch 1: .* is kept in .*replaced\.$"):
        train(diverging, folder, overwrite=True)
    assert is_whole(folder / run_folder.REPLACED, 0)
    assert not (folder / "metrics.csv").exists()


def test_the_first_of_several_runs_that_came_to_nothing_is_kept(folder, stop_at):
    for _ in range(2):
        stop_at(BATCHES + 1)
        with pytest.raises(Stopped):
            train(NEW, folder, overwrite=True)
    assert is_whole(folder / run_folder.REPLACED, 0)
    stop_at(None)
    train(NEW, folder, overwrite=True)
    assert is_whole(folder, 1)
    assert not (folder / run_folder.REPLACED).exists()


def killed(folder, left):
    """In a process: the new run, killed before it makes one more change to names of files than `left`."""

    def counted(call):
        def counting(*given, **named):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return counting

    for name in ("link", "unlink", "rename", "replace", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
    train(NEW, folder, overwrite=True)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [0, 1, 5, 12, 16, 18, 20, 22, 26, 30, 34, 38, 42])
def test_a_run_that_is_killed_at_any_moment_leaves_one_of_the_two_whole(calls, folder):
    training = COPIES.Process(target=killed, args=(folder, calls))
    training.start()
    assert end(training) == -signal.SIGKILL
    at_hand = [(folder, 0), (folder, 1), (folder / run_folder.REPLACED, 0)]
    assert any(is_whole(place, seed) for place, seed in at_hand if (place / "network.pt").is_file())
    assert (folder / "mine.txt").read_text() == "mine"
    train(NEW, folder, overwrite=True)
    assert is_whole(folder, 1)
    assert not (folder / run_folder.REPLACED).exists()


def test_where_files_have_no_second_names_the_old_run_is_copied(folder, stop_at, monkeypatch):
    monkeypatch.setattr(os, "link", full)
    stop_at(BATCHES + 1)
    with pytest.raises(Stopped):
        train(NEW, folder, overwrite=True)
    assert is_whole(folder / run_folder.REPLACED, 0)


@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_what_is_no_run_under_the_name_of_the_old_one_stays(what, folder, tmp_path):
    kept = folder / run_folder.REPLACED
    (tmp_path / "elsewhere").mkdir()
    if what == "link":
        kept.symlink_to(tmp_path / "elsewhere")
    elif what == "folder":
        kept.mkdir()
        (kept / "notes").write_text("mine")
    else:
        kept.write_text("mine")
    before = contents(folder)
    with pytest.raises(UserError, match=r"replaced is .*: move it away"):
        train(NEW, folder, overwrite=True)
    assert contents(folder) == before
    assert kept.exists()


@pytest.mark.parametrize("below", ["", "tensorboard"])
def test_an_empty_folder_that_a_killed_process_left_is_in_nobodys_way(below, folder):
    """It was killed after it had removed the last file of the run that it replaced, and before the folder."""
    (folder / run_folder.REPLACED / below).mkdir(parents=True)
    train(NEW, folder, overwrite=True)
    assert is_whole(folder, 1)
    assert not (folder / run_folder.REPLACED).exists()


@pytest.mark.parametrize("goes_on", [False, True], ids=["overwrite", "resume"])
@pytest.mark.parametrize("what", ["link", "file"])
def test_no_link_is_followed_to_write_for_tensorboard(what, goes_on, folder, tmp_path):
    board, outside = folder / "tensorboard", tmp_path / "outside"
    board.rename(outside)
    if what == "link":
        board.symlink_to(outside)
    else:
        board.write_text("mine")
    before = contents(outside)
    with pytest.raises(UserError, match=r"tensorboard is a .*: move it away"):
        resume(folder) if goes_on else train(NEW, folder, overwrite=True)
    assert contents(outside) == before
    assert is_whole(folder, 0)


@pytest.mark.parametrize("goes_on", [False, True], ids=["overwrite", "resume"])
def test_one_process_at_a_time_trains_into_a_folder(goes_on, folder):
    before = contents(folder)
    held = pytest.raises(UserError, match=r"Another process trains into .*run: wait until it has ended")
    with run_folder.claimed(folder), held:
        resume(folder) if goes_on else train(NEW, folder, overwrite=True)
    assert contents(folder) == before
    resume(folder)


def test_of_two_that_make_the_same_folder_at_once_one_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "exists", lambda path: False)
    (tmp_path / "run").mkdir()  # by the other, since it was looked
    with pytest.raises(UserError, match=r"run exists: resume the run in it with --resume"):
        train(NEW, tmp_path / "run")
    assert not list((tmp_path / "run").iterdir())


CLAIMING = "import sys, time; from pathlib import Path; from dynlab.training.run_folder import claimed\n" + (
    "with claimed(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
)


def test_a_process_that_is_killed_lets_go_of_its_folder(tmp_path):
    held = subprocess.Popen([sys.executable, "-c", CLAIMING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert held.stdout.readline() == "held\n"
    with pytest.raises(UserError, match="Another process"), run_folder.claimed(tmp_path):
        pytest.fail("it was held")
    held.kill()
    held.communicate()
    with run_folder.claimed(tmp_path):
        pass


def test_a_file_system_without_locks_is_trained_into(folder, monkeypatch):
    def refused(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refused)
    assert train(NEW, folder, overwrite=True).facts["seed"] == 1
