"""What a sweep costs beside its cells: efficiency of workers, time of each cell, memory of the scheduler.

    OMP_NUM_THREADS=1 python benchmarks/sweeps.py --efficiency 20      cells of 1 s, by 1 and by 2 workers
    OMP_NUM_THREADS=1 python benchmarks/sweeps.py --overhead 100000    cells that take no time

Each is a ratio or a time of one run on this machine, which must be idle. The scheduler, the store and the command are
one process here; its memory is that of the whole. Asked are an efficiency of 0.9, 10 ms a cell, and memory that does
not grow with the number of cells.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
import xarray as xr

from dynlab import schema, sweep

LENGTH = 1.0  # seconds of a long cell
CURVE = np.linspace(0, 1, 10)


def _dataset(x: float) -> xr.Dataset:
    return schema.dataset(
        {
            "square": schema.variable((), x**2, "the square of x"),
            "curve": schema.variable((schema.TIME,), x * CURVE, "a curve"),
            "kind": schema.variable((), "none", "a word"),
        },
        system="none",
        settings={"x": x},
        verdict=f"The square is {x**2:g}.",
        coords={schema.TIME: schema.time_coordinate(range(10))},
    )


def busy(values):
    """A cell that keeps a processor for a second of its own time."""
    started = time.process_time()
    while time.process_time() - started < LENGTH:
        pass
    return _dataset(values["x"])


def tiny(values):
    """A cell that takes no time."""
    return _dataset(values["x"])


class Took(NamedTuple):
    """What cells took."""

    seconds: float
    processor: float  # seconds of this process, without its workers
    memory: list[float]  # MB at each tenth of the way
    size: int  # bytes on the disk


def timed(compute, cells: int, workers: int) -> Took:
    """What so many cells take once the workers have started."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sweep.zarr"
        first = 1 + workers  # the trial, and a cell of each worker, which has started then
        grid = [sweep.Axis("x", tuple(range(cells + first)))]
        store = sweep.opened(compute, grid, path, {"benchmark": compute.__name__})
        run = sweep.run(compute, store, workers=workers)
        for _ in range(workers):
            next(run)
        started, of_processor, memory = time.perf_counter(), time.process_time(), []
        for number, (_, problem) in enumerate(run):
            if problem:
                raise SystemExit(problem)
            if number % max(1, cells // 10) == 0:
                memory.append(psutil.Process().memory_info().rss / 1e6)
        seconds, processor = time.perf_counter() - started, time.process_time() - of_processor
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return Took(seconds, processor, memory, size)


def efficiency(cells: int) -> None:
    """How much faster two workers are than one, divided by two."""
    seconds = {workers: timed(busy, cells * workers, workers).seconds for workers in (1, 2)}
    print(f"{cells} cells of {LENGTH:g} s for each worker: {seconds[1]:.2f} s with 1, {seconds[2]:.2f} s with 2.")
    print(f"Efficiency from 1 to 2 workers: {seconds[1] / seconds[2]:.3f} (asked 0.9).")
    print(f"Overhead of a cell with 1 worker: {1000 * (seconds[1] / cells - LENGTH):.1f} ms (asked 10 ms).")


def overhead(cells: int) -> None:
    """What a cell costs that takes no time, and the memory that many of them take."""
    took = timed(tiny, cells, 2)
    each = f"{1000 * took.seconds / cells:.3f} ms a cell (asked 10 ms)"
    print(f"{cells:,} cells in {took.seconds:.1f} s with 2 workers: {each}.")
    print(f"Of the processor, without the workers: {1000 * took.processor / cells:.3f} ms a cell.")
    print(f"Memory at each tenth of the way, MB: {' '.join(f'{each:.0f}' for each in took.memory)}.")
    print(f"On the disk: {took.size / 1e6:.1f} MB, {took.size / cells:.0f} bytes a cell.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--efficiency", type=int, metavar="CELLS", help="for each worker")
    parser.add_argument("--overhead", type=int, metavar="CELLS")
    asked = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}.")
    if asked.efficiency:
        efficiency(asked.efficiency)
    if asked.overhead:
        overhead(asked.overhead)
