"""Kills at random moments, full disks and folders that cannot be written to, for every kind of writing.

One of each here; ``make faults`` has a hundred kills of each. What has its final name is whole, and the exit codes
are those that `dynlab.cli.main` states.
"""

import os
import random
import signal
import time

import matplotlib.image
import pytest
import torch
import xarray as xr
from processes import NOT_ALLOWED, begun, end, start

import dynlab as dl
from dynlab import io
from dynlab.checkpoints import describe
from dynlab.cli.main import run

KILLS = int(os.environ.get("DYNLAB_FAULTS", "1"))  # of each command by each signal
LONGEST = 1.0  # seconds until a kill: a picture is written once in that time
CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}
ANEW = ["--quiet", "--overwrite"]
PHASE = ["phase", "--matrix", "diff", *ANEW, "--steps", "5"]
TRAIN = ["train", "--system", "vanilla", "--set", "state_size=3", "--task", "adding", "--task-set", "length=5"]
TRAIN += ["--task-set", "train_size=200", "--epochs", "2", "--batch-size", "20", "--checkpoint-every", "2", "-o", "run"]
COMMANDS = {
    "d.nc": [*PHASE, "-o", "f.png", "--save", "d.nc"],
    "d.zarr": [*PHASE, "-o", "f.png", "--save", "d.zarr"],
    "r.html": ["report", "tiny.pt", "--inputs", "noise:1", "--budget", "0.07", *ANEW, "-o", "r.html"],
    "run": [*TRAIN, *ANEW],
}
KILLED = [(name, signal.SIGKILL) for name in COMMANDS]
KILLED += [(name, number) for name in ("d.zarr", "run") for number in (signal.SIGTERM, signal.SIGINT)]
# which goes on with what is there, where others begin anew
SWEEP = ["sweep", "spectrum", "--matrix", "diff", "--steps", "5", "--grid", "seed=0,1,2,3", "--workers", "0", "--quiet"]
SWEEP += ["--save", "s.zarr"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    torch.manual_seed(0)
    dl.save_checkpoint(dl.create("vanilla", input_size=1, state_size=2), "tiny.pt")
    return tmp_path / "work"


def check_whole(path):
    """What has its final name can be read."""
    if path.suffix in (".nc", ".zarr"):
        assert set(io.open(path).data_vars) >= {"trajectory", "velocity"}
        assert matplotlib.image.imread("f.png").ndim == 3
    elif path.is_dir():
        for checkpoint in [*path.glob("*.pt"), *path.glob("*.ckpt")]:
            assert describe(checkpoint)["parameters"] > 0
    else:
        assert path.read_text().rstrip().endswith(("</svg>", "</html>"))


# an alarm of the report's budget may come while Python puts an object away: it says so, and the alarm comes again
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name, number", KILLED)
def test_what_has_its_final_name_is_whole_whenever_its_writer_is_killed(name, number, folder):
    assert run(COMMANDS[name]) == 0
    draw = random.Random(f"{name} {number}")
    for _ in range(KILLS):
        process = start(COMMANDS[name], folder, times=1000)
        begun(folder)
        time.sleep(draw.random() * LONGEST)
        codes = {CODES[number]} | ({130} if name == "run" else set())  # Lightning makes an interruption of SIGTERM
        assert end(process, number) in codes, folder.with_name("told").read_text()
        if (folder / name).exists() or name != "run":  # a training that begins anew has removed the one before
            check_whole(folder / name)
        if number != signal.SIGKILL:
            assert [found.name for found in folder.rglob("*") if found.name.endswith((".partial", ".old"))] == []


def begun_and_killed(line, folder, seed):
    """Run a command once, and kill it."""
    process = start(line, folder)
    begun(folder)
    time.sleep(random.Random(seed).random() * LONGEST)
    end(process, signal.SIGKILL)


def test_a_training_that_was_killed_anywhere_ends_as_it_would_have(folder):
    assert run([*TRAIN, "--quiet"]) == 0
    whole = torch.load(folder / "run" / "network.pt")["state_dict"]
    for kill in range(KILLS):
        again = [*TRAIN[:-1], f"again{kill}", "--quiet"]
        begun_and_killed(again, folder, kill)
        resumable = (folder / f"again{kill}" / "last.ckpt").exists()
        anew = [*again, "--overwrite"]
        assert run(["train", "--resume", "-o", f"again{kill}", "--quiet"] if resumable else anew) == 0
        found = torch.load(folder / f"again{kill}" / "network.pt")["state_dict"]
        assert all(torch.equal(value, found[name]) for name, value in whole.items())


def test_a_sweep_that_was_killed_anywhere_ends_as_it_would_have(folder):
    assert run(SWEEP) == 0
    for kill in range(KILLS):
        again = [*SWEEP[:-1], f"again{kill}.zarr"]
        begun_and_killed(again, folder, kill)
        assert run(again) == 0
        one, two = (io.open(f"{name}.zarr").drop_attrs(deep=False) for name in ("s", f"again{kill}"))
        xr.testing.assert_identical(one, two)


@pytest.mark.parametrize("name, kibibytes", [*((name, 8) for name in (*COMMANDS, "s.zarr")), ("run", 0)])
def test_a_full_or_read_only_disk_is_a_sentence_and_leaves_nothing_half_written(name, kibibytes, folder):
    code = end(start(COMMANDS.get(name, SWEEP), folder, mounted=kibibytes))
    if code == NOT_ALLOWED:
        pytest.skip("file systems cannot be mounted here")
    told = folder.with_name("told").read_text()
    assert code == 2, told
    assert "Traceback" not in told
    left = [line for line in folder.with_name("said").read_text().splitlines() if line.startswith("left")]
    assert [line for line in left if line.endswith((".partial", ".old", "network.pt", name))] == []
