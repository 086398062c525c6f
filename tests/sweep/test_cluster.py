"""A sweep on a scheduler and workers that are processes of their own, as on a cluster. `make faults` has four."""

import gc
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import xarray as xr
from sweep_cells import line, slow

from dynlab import sweep
from dynlab.errors import UserError

GRID = [sweep.Axis("x", (0.5, 1, 2)), sweep.Axis("n", (1, 2, 3, 4))]
TESTS = Path(__file__).parents[1]
WORKERS = int(os.environ.get("DYNLAB_CLUSTER_WORKERS", "2"))


@pytest.fixture
def running():
    """Hold the processes of a scheduler and its workers."""
    processes = []
    yield processes
    kill(processes)


def start(processes, port):
    worker = ["worker", f"tcp://127.0.0.1:{port}", "--nworkers", str(WORKERS), "--nthreads", "1"]
    for words in (["scheduler", "--host", "127.0.0.1", "--port", str(port)], worker):
        command = [sys.executable, "-m", f"distributed.cli.dask_{words[0]}", "--no-dashboard", *words[1:]]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        processes.append(subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(TESTS)}, **quiet))


def kill(processes):
    while processes:
        process = processes.pop()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def follow(outcomes, found, processes):
    """Kill a worker after two cells, and all after four."""
    for _, problem in outcomes:
        found.append(problem)
        if len(found) == 2:
            workers = psutil.Process(processes[-1].pid).children(recursive=True)
            next(each for each in workers if "spawn_main" in " ".join(each.cmdline())).kill()
        if len(found) == 4:
            kill(processes)


def test_a_worker_and_a_scheduler_that_are_killed_cost_nothing_but_their_time(running, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path, found, address = tmp_path / "one.zarr", [], f"tcp://127.0.0.1:{port}"
    start(running, port)
    store = sweep.opened(slow, GRID, path, {})
    with pytest.raises(UserError, match="cannot be reached"):
        follow(sweep.run(slow, store, scheduler=address), found, running)
    del store
    gc.collect()  # the error had kept it
    start(running, port)
    store = sweep.opened(slow, GRID, path, {})
    assert len(store.pending()) <= 11 - len(found)
    found += [problem for _, problem in sweep.run(slow, store, scheduler=address)]
    assert set(found) == {""}
    assert not len(store.pending())
    list(sweep.run(line, sweep.opened(line, GRID, tmp_path / "two.zarr", {}), workers=0))
    one, two = (xr.open_zarr(tmp_path / name, consolidated=False).load() for name in ("one.zarr", "two.zarr"))
    xr.testing.assert_identical(one.drop_attrs(deep=False), two.drop_attrs(deep=False))
