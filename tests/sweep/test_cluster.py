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


class Cluster:
    """A scheduler at an address, and its workers."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"

    def start(self):
        self._run("dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        self._run("dask_worker", self.address, "--nworkers", str(WORKERS), "--nthreads", "1", "--no-dashboard")

    def kill_a_worker(self):
        workers = psutil.Process(self.processes[-1].pid).children(recursive=True)
        working = [each for each in workers if "spawn_main" in " ".join(each.cmdline())]
        assert len(working) == WORKERS
        working[0].kill()

    def kill(self):
        while self.processes:
            process = self.processes.pop()
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _run(self, module, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        environment = os.environ | {"PYTHONPATH": str(TESTS)}
        self.processes.append(subprocess.Popen(command, cwd=self.folder, env=environment, **quiet))


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    yield cluster
    cluster.kill()


def follow(cluster, outcomes, found):
    """Kill a worker after two cells, and all after four."""
    for outcome in outcomes:
        found.append(outcome.problem)
        if len(found) == 2:
            cluster.kill_a_worker()
        if len(found) == 4:
            cluster.kill()


def test_a_worker_and_a_scheduler_that_are_killed_cost_nothing_but_their_time(cluster, tmp_path):
    cluster.start()
    path = tmp_path / "one.zarr"
    store, tried = sweep.opened(slow, GRID, path, {})
    found = []
    with pytest.raises(UserError, match="cannot be reached"):
        follow(cluster, sweep.run(slow, store, tried, scheduler=cluster.address), found)
    del store
    gc.collect()  # the error had kept it
    cluster.start()
    store, tried = sweep.opened(slow, GRID, path, {})
    left = len(store.pending())
    assert left < 12 - len(found)
    found += [outcome.problem for outcome in sweep.run(slow, store, tried, scheduler=cluster.address)]
    assert set(found) == {""}
    assert not len(store.pending())
    store, tried = sweep.opened(line, GRID, tmp_path / "two.zarr", {})
    list(sweep.run(line, store, tried, workers=0))
    one, two = (xr.open_zarr(tmp_path / name, consolidated=False).load() for name in ("one.zarr", "two.zarr"))
    xr.testing.assert_identical(one.drop_attrs(deep=False), two.drop_attrs(deep=False))
